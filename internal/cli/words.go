package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/agents"

	"github.com/spf13/cobra"
)

// groups are the parts of the list of commands, and what is in each.
var groups = []struct{ title, commands string }{
	{"Run", "run shell explain doctor projects purge version"},
	{"Undo", "history show diff undo redo discard du step review"},
	{"Policy", "config preset profile permissions import approvals approve allow deny denials audit"},
	{"Network", "net links connect"},
	{"Workspaces", `start list ps status exec launch terminal attach apps wait kill logs events
		control pause resume stop rm cleanup revoke manifest artifacts`},
	{"Several agents", "task"},
	{"Desktop", "desktop"},
	{"Containers and machines", "container install-dev lima vm"},
	{"For programs", "agent hooks mcp stdio sandbox"},
}

// grouped sorts commands into the groups.
func grouped(root *cobra.Command) {
	for _, g := range groups {
		root.AddGroup(&cobra.Group{ID: g.title, Title: g.title + ":"})
		words := strings.Fields(g.commands)
		for _, c := range root.Commands() {
			if slices.Contains(words, c.Name()) {
				c.GroupID = g.title
			}
		}
	}
}

// usualWords puts the command that is meant in place of a flag that others have for it.
func usualWords(args []string) []string {
	if len(args) == 1 && (args[0] == "--version" || args[0] == "-v") {
		return []string{"version"}
	}
	if words := taskWords(args); words != nil {
		return words
	}
	return args
}

// taskWords are `carrel claude --task NAME ...` and its like as words of carrel task new: flags of ours
// stand before a --, and the agent's own words behind it. nil is for all others.
func taskWords(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	agent, ok := agents.ByCommand(args[0])
	if !ok {
		return nil
	}
	name, rest := "", args[2:]
	switch value, joined := strings.CutPrefix(args[1], "--task="); {
	case joined:
		name = value
	case args[1] == "--task" && len(rest) > 0:
		name, rest = rest[0], rest[1:]
	default:
		return nil
	}
	words := []string{"task", "new", name, "--or-open", "--attach", "--agent=" + agent.Name}
	if len(rest) > 0 && rest[0] != "--" && !slices.Contains(rest, "--") { // all of them are ours
		return append(words, rest...)
	}
	at := slices.Index(rest, "--")
	if at < 0 || at == len(rest)-1 {
		return append(words, slices.DeleteFunc(slices.Clone(rest), func(w string) bool { return w == "--" })...)
	}
	return slices.Concat(words, rest[:at], []string{"--", agent.Program(args[0])}, rest[at+1:])
}

// Words of cobra's own, which has no command of that name until it runs.
var ownWords = []string{"help", "completion", cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}

// unknownCommand refuses a word that is no command, of the first arguments or after help,
// and says which is meant.
func unknownCommand(root *cobra.Command, args []string) error {
	if len(args) > 1 && args[0] == "help" {
		args = args[1:]
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") || slices.Contains(ownWords, args[0]) {
		return nil
	}
	word := args[0]
	if slices.ContainsFunc(root.Commands(), func(c *cobra.Command) bool { return c.Name() == word }) {
		return nil
	}
	root.SuggestionsMinimumDistance = 2
	names := root.SuggestionsFor(word)
	for _, agent := range agents.Known() {
		alone := &cobra.Command{SuggestionsMinimumDistance: 2}
		alone.AddCommand(&cobra.Command{Use: agent.Name, Run: func(*cobra.Command, []string) {}})
		names = append(names, alone.SuggestionsFor(word)...)
	}
	text := fmt.Sprintf("there is no command %q", word)
	if isProgram(word) {
		return fmt.Errorf("%s\nhint: carrel run -- %s", text, strings.Join(args, " "))
	}
	if len(names) == 0 {
		return fmt.Errorf("%s\nhint: carrel --help lists them", text)
	}
	return fmt.Errorf("%s\nhint: did you mean %s?", text, strings.Join(names, " or "))
}

// isProgram says whether PATH has a program of a name; nothing is started by it.
func isProgram(name string) bool {
	return slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		st, err := os.Stat(filepath.Join(dir, filepath.Base(name)))
		return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
	})
}
