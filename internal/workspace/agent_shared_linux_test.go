package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"carrel/internal/agents"
)

// sharing is a run of an agent with one shared place in an own home.
func sharing(t *testing.T, home, state string) *Prepared {
	t.Helper()
	return &Prepared{Agent: &agents.Agent{Name: "a", Shared: []agents.SharedPlace{{Place: "s"}}}, place: place{home: home}, state: &stateDir{path: state}}
}

// TestKilledSharedRun: what a run has left that never came to its end goes when the next
// one begins, and not while it lives.
func TestKilledSharedRun(t *testing.T) {
	home, state := t.TempDir(), t.TempDir()
	at := filepath.Join(home, "s")
	leave := func() {
		t.Helper()
		if err := os.MkdirAll(at+"/d", 0o700); err != nil {
			t.Fatal(err)
		}
		for name, to := range map[string]string{"/d/out": "/etc/passwd", "/d/within": "../x"} {
			if err := os.Symlink(to, at+name); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(at+"/x", nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mkfifo(at+"/fifo", 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(at+"/d", 0); err != nil { // to be opened by a later run
			t.Fatal(err)
		}
	}
	killed := sharing(t, home, state)
	if err := killed.beginShared(); err != nil {
		t.Fatal(err)
	}
	leave()
	gone := func(name string) bool { _, err := os.Lstat(at + name); return err != nil }
	beside := sharing(t, home, state)
	if err := beside.beginShared(); err != nil || gone("/fifo") {
		t.Errorf("beside one that lives: %v, gone: %v", err, gone("/fifo"))
	}
	killed.shared.unlock() // as the kernel does
	time.Sleep(1100 * time.Millisecond)
	next := sharing(t, home, state)
	if err := next.beginShared(); err != nil {
		t.Fatal(err)
	}
	if !gone("/d/out") || !gone("/fifo") || gone("/d/within") || gone("/x") || len(next.notes) != 2 {
		t.Errorf("the next start left it: %q", next.notes)
	}
	beside.dropLinks()
	next.dropLinks()
	if left, _ := os.ReadDir(state + "/agents/a.shared"); len(left) != 0 {
		t.Errorf("still written down: %v", left)
	}
}

// TestTooManyShared: the place is named that was not looked at to its end.
func TestTooManyShared(t *testing.T) {
	home := t.TempDir()
	if err := os.MkdirAll(home+"/s/0/1/2/3", 0o700); err != nil {
		t.Fatal(err)
	}
	p := sharing(t, home, t.TempDir())
	if p.dropLeftIn(p.Agent.Shared[0], time.Time{}, 3) || len(p.notes) != 1 || !strings.Contains(p.notes[0], `~/s has too many files`) || !strings.Contains(p.notes[0], `"0/1/2"`) {
		t.Errorf("%q", p.notes)
	}
	if !p.dropLeftIn(p.Agent.Shared[0], time.Time{}, 5) {
		t.Errorf("%q", p.notes)
	}
}
