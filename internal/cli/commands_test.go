package cli

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"carrel/internal/agents"
	"carrel/internal/cli/cmdenv"

	"github.com/spf13/cobra"
)

// TestEveryCommandHelps: every command says how it ends, shows an example, and
// fits a terminal of 80 columns.
func TestEveryCommandHelps(t *testing.T) {
	env := &cmdenv.Env{}
	queue := []*cobra.Command{newRoot(env, nil)}
	for len(queue) > 0 {
		cmd := queue[0]
		queue = append(queue[1:], cmd.Commands()...)
		t.Run(cmd.CommandPath(), func(t *testing.T) {
			var text strings.Builder
			cmd.SetOut(&text)
			_ = cmd.Help()
			for line := range strings.Lines(text.String()) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > 80 {
					t.Errorf("%d columns: %s", n, line)
				}
			}
			if !cmd.HasParent() {
				return
			}
			if cmd.Short == "" || cmd.Example == "" {
				t.Error("no summary or no example")
			}
			if !strings.Contains(cmd.Long, "Exit status:") && cmd.Name() != "version" {
				t.Error("its help does not say how it ends")
			}
		})
	}
}

// TestOneCommand: a command that is made alone is the one of its name, says what it
// says among all, and knows no other name.
func TestOneCommand(t *testing.T) {
	env := &cmdenv.Env{}
	for _, want := range newRoot(env, nil).Commands() {
		if len(want.Aliases) > 0 {
			t.Errorf("%s has other names, by which it would not be found alone", want.Name())
		}
		got := newRoot(env, []string{want.Name(), "--help"}).Commands()
		if len(got) != 1 || got[0].Name() != want.Name() || got[0].UsageString() != want.UsageString() {
			t.Errorf("alone, %s is %v", want.Name(), got)
		}
	}
	all := len(newRoot(env, nil).Commands())
	for _, word := range []string{"help", "--help", "completion", cobra.ShellCompRequestCmd, "no-such", "", "-v"} {
		if n := len(newRoot(env, []string{word, "run"}).Commands()); n != all {
			t.Errorf("after %q there are %d commands, not %d", word, n, all)
		}
	}
}

// TestAgentsAreCommands: every known agent starts by its name, and no name is that of
// another command, which would come first.
func TestAgentsAreCommands(t *testing.T) {
	env := &cmdenv.Env{}
	count := map[string]int{}
	for _, c := range newRoot(env, nil).Commands() {
		count[c.Name()]++
	}
	for _, agent := range agents.Known() {
		for _, word := range agent.Commands() {
			if count[word] != 1 {
				t.Errorf("%d commands are called %q", count[word], word)
			}
		}
	}
}

// TestOrder: a suggestion has a place for each command, and for nothing else.
func TestOrder(t *testing.T) {
	var got []string
	for _, c := range commands(&cmdenv.Env{}, "") {
		if !c.Hidden { // the agents
			got = append(got, c.Name())
		}
	}
	if !slices.Equal(got, order) {
		t.Errorf("commands %q\norder    %q", got, order)
	}
}

// TestGroups: each command that help shows is in one group, and a group names no other.
func TestGroups(t *testing.T) {
	var shown, listed []string
	for _, c := range newRoot(&cmdenv.Env{}, nil).Commands() {
		if !c.Hidden {
			shown = append(shown, c.Name())
		}
		if !c.Hidden && c.GroupID == "" {
			t.Errorf("%s is in no group", c.Name())
		}
	}
	for _, g := range groups {
		listed = append(listed, strings.Fields(g.commands)...)
	}
	slices.Sort(shown)
	slices.Sort(listed)
	if !slices.Equal(shown, listed) {
		t.Errorf("shown  %q\nlisted %q", shown, listed)
	}
}

// TestDesktopVerbs: what can be done with a desktop is below one command, and each has its
// old name.
func TestDesktopVerbs(t *testing.T) {
	root := newRoot(&cmdenv.Env{}, nil)
	verbs := "screenshot windows window click drag scroll key type input computer clipboard a11y screen record watch"
	for _, verb := range strings.Fields(verbs) {
		for _, words := range [][]string{{"desktop", verb}, {verb}} {
			c, rest, err := root.Find(words)
			if err != nil || c.Name() != verb || len(rest) > 0 || c.Hidden != (len(words) == 1) {
				t.Errorf("%q is %v, hidden %v, %v", words, c.CommandPath(), c.Hidden, err)
			}
		}
	}
}

// namedCommand is a command as hints and comments write it.
var namedCommand = regexp.MustCompile("`carrel ([a-z][a-z-]*)[^`\n]*`")

// TestNamedCommands: what hints, questions and comments name as a command is one that help
// shows, or starts an agent.
func TestNamedCommands(t *testing.T) {
	known := make(map[string]bool)
	for _, c := range newRoot(&cmdenv.Env{}, nil).Commands() {
		known[c.Name()] = !c.Hidden
	}
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range namedCommand.FindAllSubmatch(text, -1) {
			if _, agent := agents.ByCommand(string(m[1])); !agent && !known[string(m[1])] {
				t.Errorf("%s names %s, which is no command that help shows", path, m[0])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestMistypedWords: the command, agent or program that is meant is named.
func TestMistypedWords(t *testing.T) {
	for line, want := range map[string]string{
		"cladue":      "did you mean claude?",
		"stauts dev":  "status?",
		"sh -c true":  "carrel run -- sh -c true",
		"help nosuch": `there is no command "nosuch"`,
		"qqqqqqq":     "carrel --help",
		"help status": "",
		"status dev":  "",
		"claude":      "",
		"help":        "",
		"--help":      "",
	} {
		args := strings.Fields(line)
		err := unknownCommand(newRoot(&cmdenv.Env{}, args), args)
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("carrel %s: %v, want %q", line, err, want)
		}
	}
}
