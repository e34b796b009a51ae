//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// again opens a file for writing, keeps descriptors of it that cannot write, lets
// the step end, removes the file where it is told so, and writes and cuts by every
// name that procfs has for those descriptors.
var again = program("broker_reopen/again.bash")

// TestNothingIsReopenedUnseen: whoever had a file open for writing does not write to
// it later without being asked, and never to what the history has kept of it: not
// where the directories above a project may be written, as those of the private
// home and /tmp.
func TestNothingIsReopenedUnseen(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for _, c := range []struct{ nested, how string }{{"none", "keep"}, {"none", "remove"}, {"userns", "keep"}, {"userns", "remove"}, {"full", "remove"}} {
			w := newWorld(t, p)
			w.write(w.project+"/f", "first\n")
			w.write(w.project+"/g", strings.Repeat("of g\n", 1000))
			before := w.scene()
			r := w.carrel("run", "--nested", c.nested, "--", "bash", "-c", again, "bash", c.how)
			for line := range strings.Lines(r.out) {
				line = strings.TrimSpace(line)
				decided := c.how == "keep" && (line == "written by /proc/self" || line == "written by /proc/thread-self") // recorded, too
				if c.nested != "full" && !decided && (strings.HasPrefix(line, "written") || strings.HasPrefix(line, "cut")) {
					t.Errorf("%v: %s", c, line)
				}
			}
			if !strings.Contains(r.out, "readable") || c.how == "keep" && !strings.Contains(r.out, w.project+"/f\n") {
				t.Errorf("%v: canary: %s", c, r)
			}
			w.fine("history", "verify")
			for w.carrel("undo").code == 0 {
			}
			w.isAgain(c.nested+" "+c.how, before)
			if data, err := os.ReadFile(w.project + "/f"); err != nil || string(data) != "first\n" {
				t.Errorf("%v: %q %v", c, data, err)
			}
			w.leaveNow()
		}
	})
}

// nameless opens a file that has no name any more and that may not be written, by its
// descriptor, with a flag that would make one.
var nameless = program("broker_reopen/nameless.pl")

// TestNamelessIsRead: O_CREAT asks for no writing where the file is there. (Found by
// TestDifferential, seed 703420517.)
func TestNamelessIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t)) // root writes whatever the mode is, outside
	want := w.plain("perl", "-e", nameless)
	if got := w.run("--", "perl", "-e", nameless); want.out != "content\nrefused\n" || got.out != want.out {
		t.Errorf("behind walls: %s\nbare: %s", got, want)
	}
}

// notCut opens a file without a name that may be written and not read, for reading and
// to be emptied.
var notCut = program("broker_reopen/not_cut.pl")

// TestRefusedOpenCutsNothing: a file whose opening is refused keeps its content. (Found by
// TestDifferential, seed 912756779.)
func TestRefusedOpenCutsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	want := w.plain("perl", "-e", notCut)
	if got := w.run("--", "perl", "-e", notCut); want.out != "refused\n7\nopened\n0\n" || got.out != want.out {
		t.Errorf("behind walls: %s\nbare: %s", got, want)
	}
}
