//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestStateIsOrdinary: du, tar and rm of an ordinary user go through all that runs leave
// in the state directory, and doctor leaves nothing there but its answers.
func TestStateIsOrdinary(t *testing.T) {
	w := newWorld(t, ordinary(t))
	w.mkdir(w.home+"/.npm/_cacache", 0o755)
	state := w.home + "/.local/state/carrel"
	for _, script := range []string{
		"mkdir d; echo a >d/a; echo b >b; chmod 000 b; chmod 500 d",
		"chmod 700 d; rm -rf d b",
	} {
		if r := w.run("--", "sh", "-c", script); r.code != 0 {
			t.Fatal(r)
		}
	}
	killed := filepath.Join(state, ".doctor-killed")
	w.mkdir(filepath.Join(killed, "work", "work"), 0o700)
	w.must(os.Chmod(filepath.Join(killed, "work", "work"), 0))
	old := time.Now().Add(-2 * time.Hour)
	w.must(os.Chtimes(killed, old, old))
	if r := w.plain(w.bin, "doctor", "--fresh"); r.code != 0 {
		t.Fatal(r)
	}
	if left, _ := filepath.Glob(state + "/.doctor-*"); len(left) > 0 {
		t.Errorf("doctor leaves %q", left)
	}
	for _, command := range []string{"du -s " + state, "tar cf /dev/null -C " + state + " .", "rm -rf " + state} {
		if r := w.plain("sh", "-c", command); r.code != 0 || strings.Contains(r.String(), "denied") {
			t.Errorf("%s: %s", command, r)
		}
	}
	if exists(state) {
		t.Error("rm -rf leaves the state directory")
	}
}
