package history

import (
	"errors"
	"os"
	"testing"
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
	other, err := Open(d.store.path)
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
