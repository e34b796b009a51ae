package history

import (
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
)

// manyNames makes a file with the given names.
func (d *desk) manyNames(t *testing.T, names ...string) {
	t.Helper()
	if err := os.WriteFile(d.at(names[0]), []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, n := range names[1:] {
		if err := os.Link(d.at(names[0]), d.at(n)); err != nil {
			t.Fatal(err)
		}
	}
}

func (d *desk) namesOf(t *testing.T, name string) uint64 {
	t.Helper()
	var st unix.Stat_t
	if err := unix.Stat(d.at(name), &st); err != nil {
		t.Fatal(err)
	}
	return uint64(st.Nlink)
}

// backAndForth takes the step back and makes it again, twice.
func (d *desk) backAndForth(t *testing.T, before, after string) {
	t.Helper()
	for range 2 {
		for _, redo := range []bool{false, true} {
			l, want := d.read(t), before
			step := l.Steps[0].Number
			if redo {
				step, want = l.Steps[len(l.Steps)-1].Number, after
			}
			if _, err := d.undo(t, Request{Steps: []uint64{step}, Redo: redo}); err != nil {
				t.Fatalf("redo %v: %v", redo, err)
			}
			if got := snapshot(t, d.root); got != want {
				t.Fatalf("redo %v:\n%s", redo, apart(got, want))
			}
			if faults := d.verified(t); len(faults) > 0 {
				t.Fatalf("redo %v: %+v", redo, faults)
			}
		}
	}
}

// TestOneLinkForAllNames: a step removes names of one file. The store links it once for all
// of them: file systems bound how many names a file has, and with a link for each the names
// could not come back beside them.
func TestOneLinkForAllNames(t *testing.T) {
	for _, left := range []uint64{0, 1, 2} {
		t.Run(fmt.Sprint(left, " left"), func(t *testing.T) {
			d := newDesk(t)
			names := []string{"a", "b", "c", "d", "e"}
			d.manyNames(t, names...)
			before := snapshot(t, d.root)
			d.begin(t)
			for _, n := range names[left:] {
				d.remove(t, n)
			}
			d.end(t)
			d.close(t)
			if left > 0 && d.namesOf(t, "a") != left+1 {
				t.Errorf("it has %d names, %d of them in the project", d.namesOf(t, "a"), left)
			}
			d.backAndForth(t, before, snapshot(t, d.root))
		})
	}
}

// TestLinkOfNamesOutlastsAFailedCall: the removal of a name fails. What was kept for it is
// withdrawn, but not the link that another name needs, of which the removal did not fail.
func TestLinkOfNamesOutlastsAFailedCall(t *testing.T) {
	for _, killed := range []bool{false, true} {
		for _, removed := range []uint64{0, 1} {
			t.Run(fmt.Sprint("killed ", killed, ", ", removed, " removed"), func(t *testing.T) {
				d := newDesk(t)
				d.manyNames(t, "a", "b", "c")
				before := snapshot(t, d.root)
				d.begin(t)
				if removed > 0 {
					d.remove(t, "a")
				} else {
					d.act(t, Remove, d.at("a"), "", func() error { return unix.EPERM })
				}
				d.act(t, Remove, d.at("b"), "", func() error { return unix.EPERM })
				if killed {
					d.kill()
					d.recover(t)
				} else {
					d.end(t)
					d.close(t)
				}
				if n := d.namesOf(t, "c"); n != 3 && !killed { // those in the project, and one in the store for what was removed
					t.Errorf("it has %d names", n)
				}
				d.backAndForth(t, before, snapshot(t, d.root))
			})
		}
	}
}

// TestFileWithAllNamesThereAre: a file that can have no more names is not linked into the
// store, and copied. One of its names can be removed all the same.
func TestFileWithAllNamesThereAre(t *testing.T) {
	d := newDesk(t)
	d.manyNames(t, "a", "b", "c")
	d.begin(t)
	disk.Trial = func(call string) error {
		if call == "link" {
			return unix.EMLINK
		}
		return nil
	}
	defer func() { disk.Trial = nil }()
	d.remove(t, "a")
	disk.Trial = nil
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(d.at("a")); err != nil || string(got) != "content" {
		t.Errorf("it is %q, %v", got, err)
	}
	if faults := d.verified(t); len(faults) > 0 {
		t.Errorf("faults: %+v", faults)
	}
}
