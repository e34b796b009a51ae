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
const again = `
exec 5<>f; exec 6</proc/self/fd/5 7<>g; echo granted >&5; exec 5>&- 8</proc/self/fd/7 7>&-
/run/carrel/bin/carrel step end; /run/carrel/bin/carrel step begin --label second
[ $1 = keep ] || rm f g
for n in 6 8; do for p in /proc/$$ /proc/self /proc/thread-self /proc/$$/task/$$; do
	{ echo EVIL >>$p/fd/$n && echo "written by $p"; } 2>/dev/null
	perl -e 'exit !truncate($ARGV[0], 0)' /proc/$$/fd/$n && echo "cut by $p"
done; done
readlink /proc/$$/fd/6
cat <&6 >/dev/null && echo readable`

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
const nameless = `
use Fcntl;
sysopen(my $f, "x", O_RDWR | O_CREAT, 0600) or die "make: $!"; syswrite($f, "content");
sysopen(my $r, "x", O_RDONLY) or die "read: $!"; chmod 0404, "x"; unlink "x"; close $f;
sysopen(my $g, "/proc/self/fd/" . fileno($r), O_RDONLY | O_CREAT) or die "open: $!"; sysread($g, my $t, 100); print "$t\n";
print sysopen(my $h, "/proc/self/fd/" . fileno($r), O_RDWR) ? "opened to write\n" : "refused\n";`

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
const notCut = `
use Fcntl;
sysopen(my $f, "x", O_RDWR | O_CREAT, 0200) or die "make: $!"; syswrite($f, "content"); unlink "x";
print sysopen(my $g, "/proc/self/fd/" . fileno($f), O_RDONLY | O_TRUNC) ? "opened\n" : "refused\n"; print -s $f, "\n";
chmod 0600, $f; print sysopen(my $h, "/proc/self/fd/" . fileno($f), O_RDONLY | O_TRUNC) ? "opened\n" : "refused\n"; print -s $f, "\n";`

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
