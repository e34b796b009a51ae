package cli

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"carrel/internal/inside"
	"carrel/internal/sandbox"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes the test binary the program itself where it is started as
// one: as the stage or a helper by our own code, as carrel by a script.
func TestMain(m *testing.M) {
	if sandbox.IsStage(os.Args[0]) || inside.IsHelper(os.Args[0]) {
		os.Exit(Main(os.Args))
	}
	testscript.Main(m, map[string]func(){"carrel": func() { os.Exit(Main(os.Args)) }})
}

// TestScripts runs the program from its command line. Each script has a home,
// XDG directories and a project of its own, and no CARREL_ variable.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:  "testdata/script",
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"status": wantStatus, "socket": makeSocket},
		Setup: func(env *testscript.Env) error {
			home := filepath.Join(env.WorkDir, "home")
			env.Setenv("HOME", home)
			env.Setenv("XDG_CONFIG_HOME", filepath.Join(home, ".config"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(home, ".local/state"))
			env.Setenv("XDG_CACHE_HOME", filepath.Join(home, ".cache"))
			env.Setenv("XDG_DATA_HOME", filepath.Join(home, ".local/share"))
			env.Setenv("XDG_RUNTIME_DIR", filepath.Join(env.WorkDir, "runtime"))
			env.Setenv("SHELL", "/bin/sh")
			env.Setenv("LC_ALL", "C.UTF-8")
			env.Setenv("TZ", "UTC")
			for _, dir := range []string{home, filepath.Join(env.WorkDir, "runtime"), filepath.Join(env.WorkDir, "project")} {
				if err := os.MkdirAll(dir, 0o700); err != nil {
					return err
				}
			}
			env.Cd = filepath.Join(env.WorkDir, "project")
			return nil
		},
	})
}

// makeSocket is the script command "socket PATH": something listens there until
// the script ends.
func makeSocket(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: socket PATH")
	}
	l, err := net.Listen("unix", ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { l.Close() })
}

// wantStatus is the script command "status N COMMAND [ARG...]": it wants that
// exit status, as a shell would see it.
func wantStatus(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status N COMMAND [ARG...]")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
		if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
			got = 128 + int(w.Signal())
		}
	}
	if got != want {
		ts.Fatalf("exit status %d, want %d", got, want)
	}
}
