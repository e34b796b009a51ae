package history

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/store"
)

// TestJournalCutShort: a journal that was closed and holds less by now, in whole
// records, is told, with and without the attribute; no step of it is taken for one
// that was interrupted, and what is whole can be taken back.
func TestJournalCutShort(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	for i := range 2 {
		d.begin(t)
		d.write(t, "a", fmt.Sprint(i))
		d.write(t, fmt.Sprintf("made%d", i), "x")
		d.end(t)
	}
	d.close(t)
	name := d.store.Dir() + "/journal/" + d.read(t).Steps[0].Segment
	whole, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if v, err := d.store.Verify(); err != nil || len(v.Faults) > 0 {
		t.Fatalf("whole: %v %+v", err, v)
	}
	var ends []int
	for at := 0; at < len(whole); {
		_, n := journal.Decode(whole[at:])
		at += n
		ends = append(ends, at)
	}
	objects, unnamed := count(t, d.store.Dir()+"/objects"), 0
	for _, attribute := range []bool{true, false} {
		for _, end := range ends[:len(ends)-1] {
			what := fmt.Sprintf("%d of %d bytes, attribute %v", end, len(whole), attribute)
			d.closedAs(t, name, whole[:end], attribute, len(whole))
			l, err := d.store.Read()
			if err != nil {
				t.Fatal(err)
			}
			open := false
			for _, s := range l.Steps {
				open = open || s.Open()
				if s.Open() && !strings.Contains(s.Damaged, "cut short") {
					t.Errorf("%s: step %d is open, and %q", what, s.Number, s.Damaged)
				}
			}
			if !open && !attribute {
				continue // between two steps, where nothing says so
			}
			if len(l.Damaged) != 1 || !strings.Contains(l.Damaged[0], "cut short") {
				t.Errorf("%s: %q", what, l.Damaged)
			}
			v, err := d.store.Verify()
			if err != nil || len(v.Faults) == 0 || v.Faults[0].Code != store.FaultJournal {
				t.Errorf("%s: verified: %v %+v", what, err, v)
			}
			for _, f := range v.Faults {
				if f.Code == store.FaultUnreferenced && !strings.Contains(f.Why, "leaves it there") {
					t.Errorf("%s: what a damaged journal may have named is given away: %+v", what, f)
				} else if f.Code == store.FaultUnreferenced {
					unnamed++
				}
			}
			if _, err := d.store.Collect(false); err != nil || count(t, d.store.Dir()+"/objects") != objects {
				t.Errorf("%s: gc: %v; %d of %d objects are left", what, err, count(t, d.store.Dir()+"/objects"), objects)
			}
			if closed, err := d.store.Recover([]string{d.root}); err != nil || len(closed) > 0 {
				t.Errorf("%s: recovered: %v %v", what, closed, err)
			}
		}
	}
	if objects == 0 || unnamed == 0 {
		t.Errorf("canary: %d objects, of which a damaged journal left out %d", objects, unnamed)
	}
	d.closedAs(t, name, whole, true, len(whole))
	if _, err := d.undo(t, Request{Steps: []uint64{2, 1}}); err != nil {
		t.Errorf("whole again: %v", err)
	}
}

// closedAs makes a journal anew, as one that was closed with a length.
func (d *desk) closedAs(t *testing.T, name string, data []byte, attribute bool, length int) {
	t.Helper()
	_ = os.Remove(name)
	if err := os.WriteFile(name, make([]byte, length), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if attribute {
		store.Seal(int(f.Fd()))
	}
	if _, err := f.WriteAt(data, 0); err != nil {
		t.Fatal(err)
	}
	if err := f.Truncate(int64(len(data))); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, 0o400); err != nil {
		t.Fatal(err)
	}
}

// TestClosedJournals: whoever closes one seals it, an undo too; a writer that is
// killed does not.
func TestClosedJournals(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "x")
	d.kill()
	mode := func(segment string) os.FileMode {
		st, err := os.Stat(d.store.Dir() + "/journal/" + segment)
		if err != nil {
			t.Fatal(err)
		}
		return st.Mode().Perm()
	}
	l, err := d.store.Read()
	if err != nil || len(l.Damaged) > 0 || mode(l.Steps[0].Segment) != 0o600 {
		t.Fatalf("killed: %v %q", err, l.Damaged)
	}
	if closed, err := d.store.Recover([]string{d.root}); err != nil || len(closed) != 1 {
		t.Fatalf("recovered: %v %v", closed, err)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	l = d.read(t)
	if got := mode(l.Steps[1].Segment); got != 0o400 {
		t.Errorf("of an undo: %v", got)
	}
}

// count says how many files there are below a directory.
func count(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
