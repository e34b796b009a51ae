package sandbox

import (
	"syscall"
	"testing"
)

// TestReap: an exit status, a signal, and that there is no such child.
func TestReap(t *testing.T) {
	for script, want := range map[string]string{"exit 7": "exit status 7", "kill -ILL $$": "signal 4, illegal instruction", "exit 0": "exit status 0"} {
		pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{Files: []uintptr{0, 1, 2}})
		if err != nil {
			t.Fatal(err)
		}
		if got := Reap(pid); got != want {
			t.Errorf("%s: %q, want %q", script, got, want)
		}
		if got := Reap(pid); got != syscall.ECHILD.Error() {
			t.Errorf("again: %q", got)
		}
	}
}
