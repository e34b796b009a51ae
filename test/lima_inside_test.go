//go:build linux

package e2e

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestCarrelInMachine: Carrel's own program in a machine does what it does on a host, with the
// project of this one.
func TestCarrelInMachine(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	inside := func(args ...string) (string, error) { return u.carrel(append([]string{"lima", "carrel"}, args...)...) }
	sh := func(script string) string {
		t.Helper()
		out, err := inside("run", "--", "sh", "-c", script)
		if err != nil {
			t.Fatalf("%s: %v: %s", script, err, out)
		}
		return out
	}
	if out := sh("echo hi >f; echo new >keep; cat f denied .env 2>&1; uname"); !strings.Contains(out, "hi\n") ||
		strings.Contains(out, "hunter2") || !strings.Contains(out, "denied: Permission denied") || !strings.Contains(out, "Linux\n") {
		t.Errorf("a command: %s", out)
	}
	if data, err := os.ReadFile(u.project + "/keep"); err != nil || string(data) != "new\n" {
		t.Errorf("what was written: %q, %v", data, err)
	}
	// By sshfs, as a machine that boots here has the project, a file gets another number with another
	// name: an undo finds that it is not the one that was written, and changes nothing.
	out, err := inside("undo")
	keep, _ := os.ReadFile(u.project + "/keep")
	_, there := os.Stat(u.project + "/f")
	if u.real {
		if err == nil || string(keep) != "new\n" || there != nil {
			t.Errorf("undo by sshfs: %v: %s; %q, %v", err, out, keep, there)
		}
	} else if err != nil || string(keep) != "old\n" || !errors.Is(there, os.ErrNotExist) {
		t.Errorf("undo: %v: %s; %q, %v", err, out, keep, there)
	}
	exit := (*exec.ExitError)(nil)
	if out, err := inside("run", "--", "sh", "-c", "exit 7"); !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("a status: %v: %s", err, out)
	}
	if out, err := inside("run", "--backend", "lima", "--", "true"); err != nil {
		t.Errorf("with the flag that leads there: %v: %s", err, out)
	}
	// The history is the machine's, and not this host's.
	if out, err := u.carrel("history"); err == nil && strings.Contains(out, "new >keep") {
		t.Errorf("the host's history: %s", out)
	}
	if out, err := u.carrel("lima", "list"); err != nil || !strings.Contains(out, "-inside") || !strings.Contains(out, u.project) {
		t.Errorf("list: %v: %s", err, out)
	}
	if out, err := inside("lima", "list"); err == nil || !strings.Contains(out, "a command of carrel is missing that a machine can do") {
		t.Errorf("a command of the host: %v: %s", err, out)
	}
	for _, step := range [][]string{
		{"start", "dev"}, {"exec", "dev", "--", "sh", "-c", "echo kept >/tmp/there"}, {"exec", "dev", "--", "cat", "/tmp/there"}, {"stop", "dev"},
	} {
		out, err := inside(step...)
		if err != nil || step[len(step)-1] == "/tmp/there" && !strings.HasSuffix(out, "kept\n") {
			t.Errorf("%q: %v: %s", step, err, out)
		}
	}
}

// TestCarrelInMachineIsEnded: a signal to a call reaches the command in the machine.
func TestCarrelInMachineIsEnded(t *testing.T) {
	t.Parallel()
	u := newLimaUser(t)
	cmd := u.command(u.project, "lima", "carrel", "run", "--", "sh", "-c",
		"trap 'echo ended >end; exit 9' TERM; echo up >up; while :; do sleep 0.05; done")
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		if _, err := os.Stat(u.project + "/up"); err == nil {
			break
		} else if time.Since(began) > u.patience(time.Minute) {
			_ = cmd.Process.Kill()
			t.Fatalf("the command does not begin: %s", said.String())
		}
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	exit := (*exec.ExitError)(nil)
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 9 {
		t.Errorf("%v: %s", err, said.String())
	}
	if _, err := os.Stat(u.project + "/end"); err != nil {
		t.Errorf("the command was not asked to end: %v", err)
	}
}
