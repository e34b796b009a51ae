//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestHistoryTellsReplacedLink shows that a hard link to another file of the same length
// and time is a change: listed, in the diff, and taken back by undo without a number.
func TestHistoryTellsReplacedLink(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh("echo version1 > v1; echo VERSION2 > v2; touch -d 1985-10-26 v1 v2; mkdir nm; ln v1 nm/i.js")
		before := w.scene()
		w.sh("ln -f v2 nm/i.js")
		for cmd, want := range map[string]string{"history": "1 changed", "show 1": "M    nm/i.js", "diff": "-version1\n+VERSION2"} {
			if out := w.fine(strings.Fields(cmd)...); !strings.Contains(out, want) {
				t.Errorf("carrel %s says %q", cmd, out)
			}
		}
		w.fine("undo")
		w.isAgain("undone", before)
	})
}

// TestFailedCallIsNoChange shows that calls that fail leave nothing in the history and
// are not in the way when the step before them is taken back.
func TestFailedCallIsNoChange(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh("echo old > k; ln k l; mkdir -p d/sub; echo one > single")
		before := w.scene()
		w.sh("echo new >> k; echo two >> single; echo x > d/sub/made")
		w.sh("mv -T d k; mv -T d single; mv -T k d; ln single k; mkdir d; rmdir d; mv k l; true")
		w.sh("perl -e 'rename(\"d\", \"single\"); rename(\"k\", \"l\")'; true")
		for _, step := range []string{"2", "3"} {
			if out := w.fine("show", step); !strings.Contains(out, "changes  nothing") {
				t.Errorf("show says %q", out)
			}
		}
		if out := w.fine("undo"); strings.Contains(out, "conflict") {
			t.Errorf("undo says %q", out)
		}
		w.isAgain("undone", before)
		w.fine("history", "verify")
	})
}

// TestUndoOfHiddenAttributes shows that attributes come back of the project's directory,
// and of a file whose mode keeps its owner from reading them.
func TestUndoOfHiddenAttributes(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		set := func(value string) string {
			return `python3 -c 'import os; [os.setxattr(n, "user.a", b"` + value + `") for n in (".", "f", "g")]'`
		}
		w.outsideSh("echo f > f; echo g > g; " + set("old"))
		before := w.scene()
		w.sh(set("new") + "; chmod 0 f")
		w.sh("rm f; chmod 0 g")
		if out := w.fine("diff", "1"); strings.Count(out, `attribute user.a "new", was "old"`) != 3 {
			t.Errorf("diff says %q", out)
		}
		w.fine("undo", "2")
		w.isAgain("undone", before)
	})
}
