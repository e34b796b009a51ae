package clitest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"

	"github.com/spf13/cobra"
)

// Place is what the commands of one test see of a machine. The process works in Project while
// the test runs.
type Place struct {
	Home, Project, Config, State string
	Environ                      []string
	In                           string // standard input

	t        *testing.T
	commands []cmdenv.Command
}

// Result is how one command ended. Err is the text of its error, with the hint, or "".
type Result struct {
	Line             string // the command line
	Out, Notice, Err string
	Status           int

	t *testing.T
}

// New makes a place for the commands of a group.
func New(t *testing.T, commands []cmdenv.Command) *Place {
	t.Helper()
	if name := filepath.Base(os.Args[0]); strings.HasPrefix(name, "carrel") {
		t.Fatalf("a command has started this test as %s", name) // and it would do so again
	}
	root := t.TempDir()
	home := filepath.Join(root, "home")
	p := &Place{
		Home: home, Project: filepath.Join(home, "project"), Config: filepath.Join(home, ".config", "carrel"),
		State: filepath.Join(home, ".local", "state", "carrel"), t: t, commands: commands,
	}
	run := filepath.Join(root, "run")
	for _, dir := range []string{p.Project, p.Config, run} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	p.Environ = []string{"HOME=" + home, "PATH=/usr/bin:/bin", "SHELL=/bin/sh", "XDG_RUNTIME_DIR=" + run, "LC_ALL=C.UTF-8", "TERM=dumb"}
	for _, v := range p.Environ { // what is read from the process is the test's own too
		name, value, _ := strings.Cut(v, "=")
		t.Setenv(name, value)
	}
	for _, name := range []string{"XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	t.Chdir(p.Project)
	return p
}

// Write makes a file below the home directory and gives its path.
func (p *Place) Write(name, text string) string {
	p.t.Helper()
	path := filepath.Join(p.Home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	return path
}

// Read gives the text of a file below the home directory, or "" where there is none.
func (p *Place) Read(name string) string {
	p.t.Helper()
	text, err := os.ReadFile(filepath.Join(p.Home, name))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		p.t.Fatal(err)
	}
	return string(text)
}

// Tree lists each file below the home directory with its text, but no lock: two lists differ
// where a command wrote something.
func (p *Place) Tree() string {
	p.t.Helper()
	var list strings.Builder
	err := filepath.WalkDir(p.Home, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || filepath.Ext(path) == ".lock" {
			return err
		}
		text, err := os.ReadFile(path)
		list.WriteString(strings.TrimPrefix(path, p.Home+"/") + ": " + string(text) + "\n")
		return err
	})
	if err != nil {
		p.t.Fatal(err)
	}
	return list.String()
}

// Run runs one command line of words without spaces.
func (p *Place) Run(line string) Result {
	p.t.Helper()
	return p.Words(strings.Fields(line)...)
}

// Words runs one command line.
func (p *Place) Words(args ...string) Result {
	p.t.Helper()
	var out, notice strings.Builder
	r := Result{Line: strings.Join(args, " "), t: p.t}
	env := &cmdenv.Env{In: strings.NewReader(p.In), Out: &out, Err: &notice, Environ: p.Environ}
	rest, err := env.CutCeiling(args)
	if err == nil {
		env.Args = rest
		err = p.root(env).Execute()
	}
	r.Out, r.Notice, r.Status = out.String(), notice.String(), env.Status
	if err != nil {
		r.Err, r.Status = err.Error(), api.ExitOurs
		var e *cmdenv.ExitError
		if errors.As(err, &e) {
			r.Status = e.Status
		}
	}
	return r
}

func (p *Place) root(env *cmdenv.Env) *cobra.Command {
	root := &cobra.Command{Use: "carrel", SilenceErrors: true, SilenceUsage: true}
	cmdline.ExplainFlagErrors(root)
	root.SetIn(env.In)
	root.SetOut(env.Out)
	root.SetErr(env.Err)
	for _, c := range p.commands {
		root.AddCommand(c.Make(env))
	}
	root.SetArgs(env.Args)
	return root
}

// OK wants a command that ended well and printed each of some texts, in this order.
func (r Result) OK(want ...string) Result {
	r.t.Helper()
	if r.Err != "" || r.Status != 0 {
		r.t.Errorf("%s: exit status %d, %s", r.Line, r.Status, r.Err)
	}
	return r.Prints(want...)
}

// Prints wants each of some texts on standard output, in this order.
func (r Result) Prints(want ...string) Result {
	r.t.Helper()
	rest := r.Out
	for _, w := range want {
		_, after, ok := strings.Cut(rest, w)
		if !ok {
			r.t.Errorf("%s: no %q where it should be in:\n%s", r.Line, w, r.Out)
			return r
		}
		rest = after
	}
	return r
}

// Lacks wants none of some texts on either output.
func (r Result) Lacks(texts ...string) Result {
	r.t.Helper()
	for _, text := range texts {
		if strings.Contains(r.Out, text) || strings.Contains(r.Notice, text) {
			r.t.Errorf("%s: prints %q:\n%s%s", r.Line, text, r.Out, r.Notice)
		}
	}
	return r
}

// Fails wants an exit status and each of some texts in the error.
func (r Result) Fails(status int, want ...string) Result {
	r.t.Helper()
	if r.Status != status || r.Err == "" {
		r.t.Errorf("%s: exit status %d, want %d; error %q", r.Line, r.Status, status, r.Err)
	}
	for _, w := range want {
		if !strings.Contains(r.Err, w) {
			r.t.Errorf("%s: no %q in the error %q", r.Line, w, r.Err)
		}
	}
	return r
}

// JSON reads what was printed, which has to be one JSON value.
func (r Result) JSON(into any) Result {
	r.t.Helper()
	if err := json.Unmarshal([]byte(r.Out), into); err != nil {
		r.t.Errorf("%s: %v in:\n%s", r.Line, err, r.Out)
	}
	return r
}

// Refusals wants of each command line that it fails with status 125 and some text, prints
// nothing on standard output, and leaves every file as it is.
func (p *Place) Refusals(lines map[string]string) {
	p.t.Helper()
	for line, want := range lines {
		before := p.Tree()
		r := p.Words(Split(line)...).Fails(api.ExitOurs, want)
		if r.Out != "" {
			p.t.Errorf("%s: refused, and prints %q", line, r.Out)
		}
		if after := p.Tree(); after != before {
			p.t.Errorf("%s: refused, and the files are now\n%s", line, after)
		}
	}
}

// Split gives the words of a line; a word in single quotes may have spaces or be empty.
func Split(line string) []string {
	var words []string
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			words = append(words, part)
		} else {
			words = append(words, strings.Fields(part)...)
		}
	}
	return words
}
