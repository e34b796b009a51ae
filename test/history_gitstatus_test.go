//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// TestUndoAroundGitStatus: to look at a repository writes its index anew. That is no change
// of the user's: undo and redo go on, over several steps.
func TestUndoAroundGitStatus(t *testing.T) {
	t.Parallel()
	const look = "git status --short"
	for name, when := range map[string]struct{ steps, undos, redos bool }{
		"never": {}, "after each step": {steps: true}, "after each undo": {undos: true}, "always": {true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.outsideSh("git init -q . && for i in 1 2 3; do echo $i > f$i; done && git add . && " + commitsAs + " -m first")
			heads := []string{w.outsideSh("git rev-parse HEAD")}
			for i := range 3 {
				w.sh(fmt.Sprintf("echo x%d >> f1; git add f1; %s -m a%d", i, commitsAs, i))
				if when.steps {
					w.outsideSh(look)
				}
				heads = append(heads, w.outsideSh("git rev-parse HEAD"))
			}
			is := func(what string, n int) {
				t.Helper()
				if head := w.outsideSh("git rev-parse HEAD"); head != heads[n] {
					t.Errorf("%s: HEAD is %s, want that of %d", what, head, n)
				}
			}
			for n := 2; n >= 0; n-- {
				w.fine("undo")
				if when.undos {
					if out := w.outsideSh(look); out != "" {
						t.Errorf("undone to %d, and git sees %s", n, out)
					}
				}
				is("undone", n)
			}
			for n := 1; n <= 3; n++ {
				w.fine("redo")
				if when.redos {
					if out := w.outsideSh(look); out != "" {
						t.Errorf("redone to %d, and git sees %s", n, out)
					}
				}
				is("made again", n)
			}
			w.outsideSh("git fsck --strict")
		})
	}
}

// commitsAs is a commit with an author.
const commitsAs = "git -c user.name=n -c user.email=n@example.com commit -q"

// TestUndoKeepsWhatIsStaged: what the user has staged after a step, or after an undo, is
// theirs, though the index is of the same length.
func TestUndoKeepsWhatIsStaged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q . && echo 1 > f && echo 1 > g && git add . && " + commitsAs + " -m first")
	w.sh("echo 2 > f; git add f")
	w.outsideSh("echo 3 > g; git add g; git status --short")
	if r := w.carrel("undo"); r.code == 0 || !strings.Contains(r.err, "conflict: .git/index") {
		t.Errorf("undo: %s", r)
	}
	w.outsideSh("echo 1 > g; git add g; git status --short")
	w.fine("undo")
	w.outsideSh("echo 3 > g; git add g; git status --short")
	if r := w.carrel("redo"); r.code == 0 || !strings.Contains(r.err, "conflict: .git/index") {
		t.Errorf("redo: %s", r)
	}
	if staged := w.outsideSh("git diff --cached --name-only"); staged != "g\n" {
		t.Errorf("staged is %q", staged)
	}
}
