package history

import (
	"errors"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// TestUndoBesideUndo: what another undo has done since the history was read is no conflict,
// and what it is at neither: the history is to be read again.
func TestUndoBesideUndo(t *testing.T) {
	d := newDesk(t)
	by(t, os.WriteFile(d.at("a"), []byte("one"), 0o644))
	d.begin(t)
	d.write(t, "a", "two")
	d.end(t)
	d.close(t)
	req := Request{Steps: []uint64{1}, Roots: []string{d.root}}
	before := d.read(t)
	by(t, os.WriteFile(d.at("a"), []byte("mine"), 0o644))
	var conflict *ConflictError
	for range 2 { // a refusal changes nothing
		if _, err := d.store.Undo(before, req); !errors.As(err, &conflict) {
			t.Fatalf("canary: %v", err)
		}
	}
	other, err := Open(d.store.Dir())
	by(t, err, other.Share())
	if _, err := d.store.Undo(before, req); !errors.Is(err, ErrBusy) {
		t.Errorf("while a run goes on: %v", err)
	}
	other.Close()
	by(t, os.WriteFile(d.at("a"), []byte("two"), 0o644))
	if _, err := d.store.Undo(before, req); err != nil {
		t.Fatal(err)
	}
	if _, err := d.store.Undo(before, req); !errors.Is(err, ErrChanged) {
		t.Errorf("after another undo: %v", err)
	}
}

// TestReadOnlyStore: steps are read where nothing can be written to, and a request is looked
// at; nothing is taken back, and nothing recorded.
func TestReadOnlyStore(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	d := newDesk(t)
	by(t, os.WriteFile(d.at("a"), []byte("one"), 0o644))
	d.begin(t)
	d.write(t, "a", "two")
	d.end(t)
	d.close(t)
	by(t, unix.Mount(d.store.Dir(), d.store.Dir(), "", unix.MS_BIND, ""))
	t.Cleanup(func() { by(t, unix.Unmount(d.store.Dir(), unix.MNT_DETACH)) })
	by(t, unix.Mount("", d.store.Dir(), "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
	if _, err := Open(d.store.Dir()); !errors.Is(err, unix.EROFS) {
		t.Errorf("to write: %v", err)
	}
	s, err := OpenToRead(d.store.Dir())
	by(t, err)
	defer s.Close()
	l, _, failed, err := s.RecoverAndSurvey([]string{d.root})
	by(t, failed, err)
	req := Request{Steps: []uint64{1}, Roots: []string{d.root}}
	if v, err := s.Preview(l, req); err != nil || len(v.Plan.Restored) != 1 {
		t.Errorf("a look: %+v, %v", v, err)
	}
	if _, err := s.Undo(l, req); !errors.Is(err, unix.EROFS) {
		t.Errorf("an undo: %v", err)
	}
	if _, err := s.NewWriter("run", []string{d.root}); !errors.Is(err, unix.EROFS) {
		t.Errorf("a run: %v", err)
	}
	if text, _ := os.ReadFile(d.at("a")); string(text) != "two" {
		t.Errorf("%q", text)
	}
}
