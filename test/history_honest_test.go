//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUndoSaysWhatItCannotRestore shows that a path that does not come back makes the
// exit status 1, is named, and is not counted as done.
func TestUndoSaysWhatItCannotRestore(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.sh(": > f")
		w.sh("echo data > f")
		w.sh("ln f g")
		w.fine("undo", "2")
		out := w.carrel("redo", "2")
		var done struct {
			Done         bool
			Unrestorable []struct{ Path string }
		}
		if _, err := os.Lstat(filepath.Join(w.project, "g")); err == nil {
			if out.code != 0 {
				t.Errorf("all was made again: %s", out)
			}
			return
		}
		if out.code != 1 || !strings.Contains(out.out, "NOT restored  g: ") {
			t.Errorf("g is missing after a redo: %s", out)
		}
		w.fine("undo", "--force")
		out = w.carrel("redo", "--force", "--json")
		if err := json.Unmarshal([]byte(out.out), &done); err != nil || done.Done != (out.code == 0) || done.Done == (len(done.Unrestorable) > 0) {
			t.Errorf("%v %+v: %s", err, done, out)
		}
	})
}

// TestUndoKeepsAnEditOfAnEmptyFile shows that what a person writes to an empty file, by
// one of its names, survives the undo of a step that only removed another name, in the
// project or out of it.
func TestUndoKeepsAnEditOfAnEmptyFile(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh(": > e; ln e y; : > alone; ln alone ../log")
		w.sh("rm y alone")
		w.outsideSh("echo mine >> e; echo mine >> ../log")
		w.fine("undo")
		for _, name := range []string{"e", "y", "alone", "../log"} {
			if got, err := os.ReadFile(filepath.Join(w.project, name)); err != nil || string(got) != "mine\n" {
				t.Errorf("%s holds %q, %v", name, got, err)
			}
		}
	})
}
