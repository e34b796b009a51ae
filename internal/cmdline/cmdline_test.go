package cmdline

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// try runs a command below carrel with arguments, and gives what is wrong with them.
func try(t *testing.T, cmd *cobra.Command, args ...string) error {
	t.Helper()
	cmd.RunE = func(*cobra.Command, []string) error { return nil }
	return under(cmd, args...)
}

func under(cmd *cobra.Command, args ...string) error {
	root := &cobra.Command{Use: "carrel", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(cmd)
	root.SetArgs(append([]string{cmd.Name()}, args...))
	return root.Execute()
}

// TestArguments: the number of arguments that each check takes, and that a mistake says what
// would be right.
func TestArguments(t *testing.T) {
	for name, c := range map[string]struct {
		check cobra.PositionalArgs
		good  []int
	}{
		"none":        {NoArgs, []int{0}},
		"one":         {OneArg("a name"), []int{1}},
		"two":         {TwoArgs("an app"), []int{2}},
		"at most one": {AtMostOne("a name"), []int{0, 1}},
		"at most two": {MaximumArgs(2), []int{0, 1, 2}},
	} {
		for n := range 4 {
			args := []string{"x", "y", "z"}[:n]
			err := try(t, &cobra.Command{Use: "do WHAT", Args: c.check}, args...)
			if (err == nil) != slices.Contains(c.good, n) {
				t.Errorf("%s with %d: %v", name, n, err)
			}
			if err != nil && (!strings.Contains(err.Error(), `"carrel do"`) || !strings.Contains(err.Error(), "\nhint: carrel do WHAT")) {
				t.Errorf("%s with %d does not help: %v", name, n, err)
			}
		}
	}
}

// TestGroup: a word that is none of a group's commands names those that there are.
func TestGroup(t *testing.T) {
	group := func() *cobra.Command {
		leaf := func(name string) *cobra.Command {
			return &cobra.Command{Use: name, RunE: func(*cobra.Command, []string) error { return nil }}
		}
		return Group(&cobra.Command{Use: "step"}, leaf("begin"), leaf("end"))
	}
	if err := under(group(), "end"); err != nil {
		t.Error(err)
	}
	err := under(group(), "edn")
	if err == nil || !strings.Contains(err.Error(), `"carrel step" has no command "edn"`) || !strings.Contains(err.Error(), "there are begin, end") {
		t.Error(err)
	}
}

// TestNameAndCommand: the flags before the command are ours, those behind it its own.
func TestNameAndCommand(t *testing.T) {
	for _, c := range []struct {
		line, name string
		command    []string
		bad        bool
	}{
		{"box -- ls -l", "box", []string{"ls", "-l"}, false},
		{"box ls", "box", []string{"ls"}, false},
		{"box", "box", []string{}, false},
		{"box -- -- x", "box", []string{"--", "x"}, false},
		{"-- ls", "", nil, true},
		{"", "", nil, true},
		{"box git log -- file", "box", []string{"git", "log", "--", "file"}, false},
		{"box ls -l --all", "box", []string{"ls", "-l", "--all"}, false},
		{"box --yes ls -l", "box", []string{"ls", "-l"}, false},
		{"--yes box ls", "box", []string{"ls"}, false},
		{"box --no ls", "", nil, true},
	} {
		cmd := &cobra.Command{Use: "exec NAME -- COMMAND"}
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			name, command := NameAndCommand(cmd, args)
			if name != c.name || !slices.Equal(command, c.command) {
				t.Errorf("%q: %q, %q", c.line, name, command)
			}
			return nil
		}
		cmd.Flags().Bool("yes", false, "")
		CommandAfterName(cmd)
		if err := under(cmd, strings.Fields(c.line)...); (err != nil) != c.bad {
			t.Errorf("%q: %v", c.line, err)
		}
	}
}

// TestFlags: each mistake in a flag, in our words.
func TestFlags(t *testing.T) {
	for line, want := range map[string]string{
		"--number=x":               `--number "x": want a whole number`,
		"--yes=maybe":              `--yes "maybe": want true or false`,
		"--time=soon":              `--time "soon": want a time like 30s`,
		"--number":                 "--number needs a value",
		"--none":                   "unknown flag: --none",
		"-x":                       "unknown flag: -x",
		"-5":                       `"-5": want a number of 1 or more`,
		"--permissions=f":          "--permissions does not stand here",
		"--a=1 --b=2":              "--a and --b: want one of them only",
		"--a=":                     `--a "": it is empty`,
		"--list=":                  `--list "": it is empty`,
		"--list=x,":                `--list "": it is empty`,
		"--a=1 --list=x --time=2s": "",
	} {
		cmd := ExplainFlagErrors(&cobra.Command{Use: "do", Args: NoArgs})
		f := cmd.Flags()
		f.Int("number", 0, "")
		f.Bool("yes", false, "")
		f.Duration("time", 0, "")
		f.String("a", "", "")
		f.String("b", "", "")
		f.StringSlice("list", nil, "")
		NotEmpty(cmd, "a", "list")
		OneOf(cmd, "a", "b")
		err := try(t, cmd, strings.Fields(line)...)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", line, err)
		}
	}
}

// TestCause: the path is left to whom it was given.
func TestCause(t *testing.T) {
	inner := errors.New("inner")
	if got := Cause(&fs.PathError{Op: "open", Path: "/x", Err: inner}); got != inner {
		t.Error(got)
	}
	if got := Cause(inner); got != inner {
		t.Error(got)
	}
}
