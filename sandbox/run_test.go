//go:build linux

package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/sandbox/policyfile"
)

// TestMain does what every program does that runs commands without a carrel.
func TestMain(m *testing.M) {
	Init()
	os.Exit(m.Run())
}

// desk is a directory with a file, outside of what a policy shows by itself.
func desk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "notes"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// nobody has no home, so that nothing is kept.
var nobody = []string{"HOME=/nonexistent"}

func shell(dir, script string, rules ...Rule) *Cmd {
	return &Cmd{Args: []string{"sh", "-c", script}, Env: nobody, Policy: &Policy{
		Cwd: dir, Files: append([]Rule{{Path: policyfile.System, Access: policyfile.Read}}, rules...),
		Environment: policyfile.Environment{Set: map[string]string{"PATH": "/usr/bin:/bin"}},
	}}
}

func TestRunHoldsThePolicy(t *testing.T) {
	dir := desk(t)
	other := desk(t)
	var out, said bytes.Buffer
	c := shell(dir, "cat notes; cat; cat "+other+"/notes; echo new >made; echo more >notes; echo $$; env", Rule{Path: policyfile.Cwd, Access: policyfile.Write}, Rule{Path: dir + "/notes", Access: policyfile.Read})
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(" from outside "), &out, &said
	r, err := c.Run(t.Context())
	if err != nil || r.Exit != 0 {
		t.Fatalf("%+v, %v\n%s", r, err, said.String())
	}
	if got := out.String(); !strings.HasPrefix(got, "hello from outside ") || strings.Count(got, "hello") != 1 || !strings.Contains(got, "CARREL=1") || strings.Contains(got, "HOME=") {
		t.Errorf("it printed %q", got)
	}
	if made, _ := os.ReadFile(dir + "/made"); string(made) != "new\n" {
		t.Errorf("made: %q", made)
	}
	if notes, _ := os.ReadFile(dir + "/notes"); string(notes) != "hello" {
		t.Errorf("notes were changed: %q", notes)
	}
}

func TestRunTellsHowItEnded(t *testing.T) {
	dir := desk(t)
	cwd := Rule{Path: policyfile.Cwd, Access: policyfile.Read}
	late := shell(dir, "sleep 60", cwd)
	late.Policy.Limits.Timeout = 300 * time.Millisecond
	for _, c := range []struct {
		cmd    *Cmd
		exit   int
		signal string
		err    string
	}{
		{shell(dir, "exit 3", cwd), 3, "", ""},
		{shell(dir, "kill -9 $$", cwd), 137, "SIGKILL", ""},
		{late, 124, "", ""},
		{&Cmd{Policy: shell(dir, "", cwd).Policy, Args: []string{"no-such-program"}, Env: nobody}, 127, "", "not found"},
		{shell(dir, "true", Rule{Path: "/no/such/place", Access: policyfile.Read}), 125, "", "does not exist"},
	} {
		r, err := c.cmd.Run(t.Context())
		if r == nil || r.Exit != c.exit || r.Signal != c.signal {
			t.Errorf("%q: %+v, %v; want %d %s", c.cmd.Args, r, err, c.exit, c.signal)
		}
		var ours *Error
		if (err != nil) != (c.err != "") || err != nil && (!errors.As(err, &ours) || !strings.Contains(err.Error(), c.err)) {
			t.Errorf("%q: the error is %v, want %q", c.cmd.Args, err, c.err)
		}
	}
}

// TestInputIsNotWaitedFor: a reader that never ends neither holds a run up nor
// makes an error of it, and what it has given has come in.
func TestInputIsNotWaitedFor(t *testing.T) {
	dir := desk(t)
	r, w := io.Pipe()
	defer w.Close()
	go func() { _, _ = io.WriteString(w, "first\n") }()
	var out bytes.Buffer
	c := shell(dir, "read line; echo $line", Rule{Path: policyfile.Cwd, Access: policyfile.Read})
	c.Stdin, c.Stdout = r, &out
	start := time.Now()
	result, err := c.Run(t.Context())
	if err != nil || result.Exit != 0 || out.String() != "first\n" || time.Since(start) > grace {
		t.Errorf("after %v: %q, %+v, %v", time.Since(start), out.String(), result, err)
	}
}

// TestCancelEndsEverything: with the context nothing of the command is left.
func TestCancelEndsEverything(t *testing.T) {
	dir := desk(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var start time.Time
	go func() { // it has to run, however long its start takes
		for _, err := os.Stat(dir + "/beat"); err != nil && ctx.Err() == nil; _, err = os.Stat(dir + "/beat") {
			time.Sleep(10 * time.Millisecond)
		}
		start = time.Now()
		cancel()
	}()
	_, err := shell(dir, "(while :; do date +%N >beat; sleep 0.02; done) & wait", Rule{Path: policyfile.Cwd, Access: policyfile.Write}).Run(ctx)
	if !errors.Is(err, context.Canceled) || time.Since(start) > 2*grace {
		t.Errorf("after %v: %v", time.Since(start), err)
	}
	before, err := os.ReadFile(dir + "/beat")
	if err != nil {
		t.Fatalf("it has not run: %v", err)
	}
	time.Sleep(200 * time.Millisecond)
	if after, _ := os.ReadFile(dir + "/beat"); !bytes.Equal(before, after) {
		t.Error("something goes on inside")
	}
}

func TestRunRefusesBeforeItStarts(t *testing.T) {
	good := &Policy{}
	for want, c := range map[string]*Cmd{
		"no policy":       {Args: []string{"true"}},
		"no command":      {Policy: good},
		"NUL":             {Policy: good, Args: []string{"a\x00b"}},
		"files[0].path":   {Policy: &Policy{Files: []Rule{{Path: "x", Access: policyfile.Read}}}, Args: []string{"true"}},
		"no absolute":     {Policy: good, Args: []string{"true"}, Program: "carrel"},
		"starting the su": {Policy: good, Args: []string{"true"}, Program: "/no/such/carrel"},
	} {
		want = strings.Replace(want, "no absolute", "not an absolute", 1)
		if r, err := c.Run(t.Context()); err == nil || r != nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v", want, r, err)
		}
	}
	called = false
	defer func() { called = true }()
	if _, err := Run(t.Context(), good, "true"); err == nil || !strings.Contains(err.Error(), "Init") {
		t.Errorf("without Init: %v", err)
	}
}

// TestDenialsComeBack: what a program rule refuses is told.
func TestDenialsComeBack(t *testing.T) {
	dir := desk(t)
	c := shell(dir, "echo x >made", Rule{Path: policyfile.Cwd, Access: policyfile.Write}, Rule{Glob: ":cwd/made", Access: policyfile.Protect})
	c.Policy.History = true
	c.Env = []string{"HOME=" + t.TempDir(), "PATH=/usr/bin:/bin"}
	r, err := c.Run(t.Context())
	if err != nil || r.Exit == 0 {
		t.Fatalf("%+v, %v", r, err)
	}
	if !slices.ContainsFunc(r.Denials, func(d Denial) bool { return d.Subject == dir+"/made" && strings.Contains(d.Source, "files[2]") }) {
		t.Errorf("denials: %+v", r.Denials)
	}
	if _, err := os.Lstat(dir + "/made"); err == nil {
		t.Error("it was made")
	}
}

// TestRunWithACarrel: a program that is installed holds the walls just the same.
func TestRunWithACarrel(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "carrel")
	build := exec.Command("go", "build", "-o", bin, "carrel/cmd/carrel")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	dir := desk(t)
	var out bytes.Buffer
	c := shell(dir, "cat notes; echo x >made; exit 5", Rule{Path: policyfile.Cwd, Access: policyfile.Read})
	c.Program, c.Stdout = bin, &out
	called = false // it needs no Init
	defer func() { called = true }()
	r, err := c.Run(t.Context())
	if err != nil || r.Exit != 5 || out.String() != "hello" {
		t.Errorf("%+v, %v: %q", r, err, out.String())
	}
	if _, err := os.Lstat(dir + "/made"); err == nil {
		t.Error("it was made")
	}
}

func ExampleRun() {
	// First in main: sandbox.Init().
	p := &Policy{
		Cwd: "/usr",
		Files: []Rule{
			{Path: policyfile.System, Access: policyfile.Read},
			{Path: policyfile.Tmp, Access: policyfile.Write},
		},
		Environment: policyfile.Environment{Set: map[string]string{"PATH": "/usr/bin:/bin"}},
	}
	cmd := &Cmd{Policy: p, Args: []string{"sh", "-c", "echo here >/tmp/x && cat /tmp/x; ls /home 2>/dev/null || echo no home"}, Env: nobody, Stdout: os.Stdout}
	r, err := cmd.Run(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("status", r.Exit)
	// Output:
	// here
	// no home
	// status 0
}
