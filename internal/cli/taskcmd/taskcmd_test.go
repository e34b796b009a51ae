package taskcmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/op/taskop"

	"github.com/spf13/cobra"
)

// TestAskParts: each piece is asked for, or what is left of its file at once; who stops changes
// nothing.
func TestAskParts(t *testing.T) {
	all := []taskop.Part{{File: "a", Text: "1"}, {File: "a", Text: "2"}, {File: "a", Text: "3"}, {File: "b", Text: "4"},
		{File: "b", Text: "5"}}
	for answers, want := range map[string]string{
		"y y y y y": "12345", "n n n n n": "", "y n y n y": "135", "a n y": "1235", "d a": "45",
		"n a d": "23", "x y y y y y": "12345", "y d a": "145",
	} {
		list := strings.Fields(answers)
		chosen, err := askParts(all, func(int, taskop.Part) (string, error) {
			if len(list) == 0 {
				return "", errors.New("asked too often")
			}
			one := list[0]
			list = list[1:]
			return one, nil
		})
		got := ""
		for _, p := range chosen {
			got += p.Text
		}
		if err != nil || got != want || len(list) > 0 {
			t.Errorf("%s: %q, %v, left %q, want %q", answers, got, err, list, want)
		}
	}
	for _, said := range []string{"q", ""} {
		if chosen, err := askParts(all, func(int, taskop.Part) (string, error) {
			if said == "" {
				return "", errors.New("end of input")
			}
			return said, nil
		}); err == nil || chosen != nil {
			t.Errorf("%q: %v, %v", said, chosen, err)
		}
	}
}

// run starts a command of the group, outside of every repository.
func run(t *testing.T, args ...string) (out, errOut string, err error) {
	t.Helper()
	home := t.TempDir()
	t.Chdir(home)
	var o, e bytes.Buffer
	env := &cmdenv.Env{In: strings.NewReader("from input\n"), Out: &o, Err: &e, Environ: []string{"HOME=" + home,
		"PATH=/usr/bin:/bin", "XDG_STATE_HOME=" + home + "/state", "XDG_RUNTIME_DIR=" + home}}
	cmd := taskCommand(env)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetOut(&o)
	cmd.SetErr(&e)
	cmd.SetArgs(args)
	err = cmd.Execute()
	return o.String(), e.String(), err
}

// TestRefusals: what is no task and no repository is refused with what would be right.
func TestRefusals(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		exit int
	}{
		{[]string{"list"}, "git init", 0},
		{[]string{"new", "x", "--agent", "claude"}, "git init", 0},
		{[]string{"new"}, "takes the name", 0},
		{[]string{"new", "x", "true"}, "takes the name", 0},
		{[]string{"new", "no/name"}, "cannot be the name", 0},
		{[]string{"new", "x", "--prompt", "a", "--prompt-file", "b"}, "prompt", 0},
		{[]string{"new", "x", "--prompt-file", "/nonexistent"}, "--prompt-file", 0},
		{[]string{"new", "x", "--prompt-file", "/"}, "want a file", 0},
		{[]string{"new", "x", "--memory", "lots"}, "--memory", 0},
		{[]string{"status", "x"}, `no task "x"`, 0},
		{[]string{"merge", "x", "--squash", "--rebase"}, "squash", 0},
		{[]string{"merge", "x", "--yes"}, `no task "x"`, 0},
		{[]string{"review", "x"}, "needs a person at a terminal", 0},
		{[]string{"drop", "x"}, `no task "x"`, 0},
		{[]string{"close", "x"}, `no task "x"`, 0},
		{[]string{"open", "x"}, `no task "x"`, 0},
		{[]string{"rename", "x", "y"}, `no task "x"`, 0},
		{[]string{"send", "x"}, "a text or --file", 0},
		{[]string{"send", "x", "text", "--file", "f"}, "a text or --file", 0},
		{[]string{"send", "x", "text"}, `no task "x"`, 0},
		{[]string{"run", "x"}, "no command given", 0},
		{[]string{"run", "x", "--", "true"}, `no task "x"`, 0},
		{[]string{"capture", "x", "-n", "0"}, "want 1 or more", 0},
		{[]string{"capture", "x"}, `no task "x"`, 0},
		{[]string{"wait"}, "takes the names", 0},
		{[]string{"wait", "x", "--status", "tired"}, "want one of", 0},
		{[]string{"wait", "x", "--timeout", "soon"}, "--timeout", 0},
		{[]string{"wait", "x"}, "no such task", exitNone},
	} {
		_, _, err := run(t, c.args...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: %v, want %q", c.args, err, c.want)
		}
		exit := new(cmdenv.ExitError)
		if c.exit != 0 && (!errors.As(err, &exit) || exit.Status != c.exit) {
			t.Errorf("%q: %#v, want status %d", c.args, err, c.exit)
		}
	}
	if out, _, err := run(t, "list", "--all"); err != nil || out != "there is no task\n" {
		t.Errorf("all: %q, %v", out, err)
	}
	if out, _, err := run(t, "list", "--all", "--json"); err != nil || strings.TrimSpace(out) != "[]" {
		t.Errorf("all as JSON: %q, %v", out, err)
	}
}

// TestOwnFlags: each flag of task new is one of carrel start, or is left out of its words.
func TestOwnFlags(t *testing.T) {
	env := &cmdenv.Env{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}
	cmd := newCommand(env)
	for _, name := range ownFlags {
		if name != "help" && cmd.Flags().Lookup(name) == nil {
			t.Errorf("there is no flag --%s", name)
		}
	}
}

// TestPrompt: a prompt comes from a file or from standard input, within bounds.
func TestPrompt(t *testing.T) {
	env := &cmdenv.Env{In: strings.NewReader("typed")}
	if got, err := readPrompt(env, "-"); err != nil || got != "typed" {
		t.Errorf("%q, %v", got, err)
	}
	file := filepath.Join(t.TempDir(), "p")
	if err := os.WriteFile(file, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := readPrompt(env, file); err != nil || got != "kept" {
		t.Errorf("%q, %v", got, err)
	}
	if err := os.Truncate(file, maxPromptFile+1); err != nil {
		t.Fatal(err)
	}
	if _, err := readPrompt(env, file); err == nil {
		t.Error("a file without an end is read")
	}
}

// TestPrinted: a task is shown with what there is of it, and nothing in it reaches a terminal raw.
func TestPrinted(t *testing.T) {
	var out bytes.Buffer
	env := &cmdenv.Env{Out: &out, Err: &out}
	exit := 3
	one := api.Task{Name: "fix", State: api.TaskFailed, Branch: "task/fix", Into: "main\x1b[2J", Commits: 2, Path: "/a\nb",
		Workspace: "fix", Agent: "claude", App: "id",
		Exit: &exit, Pending: 1, Diff: &api.TaskDiff{Files: 1, Added: 2, Removed: 3, Unsaved: true}, Parent: "lead"}
	printTask(env, &one)
	printTasks(env, []api.Task{one}, true, true)
	for _, want := range []string{"failed (exit 3), 1 approval waits", "1 file, +2 -3, some in no commit", `"/a\nb"`, "lead", "TASK  STATE"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "\x1b") {
		t.Errorf("raw: %q", out.String())
	}
	if got := paintDiff(env, "+a\x1b\n"); got != "+a\x1b\n" {
		t.Errorf("to a file: %q", got)
	}
}

// TestHelp: each command has an example, and says what its status means.
func TestHelp(t *testing.T) {
	all := taskCommand(&cmdenv.Env{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	var names []string
	for _, c := range append([]*cobra.Command{all}, all.Commands()...) {
		names = append(names, c.Name())
		if c.Example == "" || !strings.Contains(strings.ToLower(c.Long), "exit status") {
			t.Errorf("%s: no example, or no status", c.CommandPath())
		}
	}
	if len(names) != 15 {
		t.Errorf("%d commands: %q", len(names), names)
	}
}
