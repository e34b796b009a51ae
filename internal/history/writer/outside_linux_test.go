package writer_test

import (
	"os"
	"testing"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/undo"
	"carrel/internal/history/writer"

	"golang.org/x/sys/unix"
)

// undone takes the first step back.
func undone(t *testing.T, d *writer.Desk) (*undo.Preview, error) {
	t.Helper()
	l, err := d.Store.Survey()
	if err != nil {
		t.Fatal(err)
	}
	return undo.Do(d.Store, l, undo.Request{Steps: []uint64{1}, Roots: []string{d.Root}})
}

// TestNotWatched: of what cannot be watched, what is there at the end is the step's, and
// the step says so.
func TestNotWatched(t *testing.T) {
	d := writer.NewDesk(t)
	d.Put(t, "c", "by the step")
	d.Quiet(t)
	d.FillWatched("c")
	d.Put(t, "over", "by the step")
	time.Sleep(10 * writer.FirstPause)
	f, err := os.OpenFile(d.At("over"), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString("by hand")
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	s := d.Over(t).Step(1)
	for name, late := range map[string]bool{"c": false, "over": true} {
		if q, ok := s.PostOf(d.At(name)); !ok || q.Late != late {
			t.Errorf("%s: %+v", name, q)
		}
	}
	if _, err := undone(t, d); err != nil {
		t.Error(err)
	}
}

// TestWrittenWithinATick: where the clock of the kernel does not tell an edit from what
// the step left, the content does.
func TestWrittenWithinATick(t *testing.T) {
	d := writer.NewDesk(t)
	d.Put(t, "f", "by the step")
	d.Put(t, "same", "by the step")
	d.Quiet(t)
	for _, name := range []string{"f", "same"} {
		text := map[string]string{"f": "BY THE STEP", "same": "by the step"}[name]
		if err := os.WriteFile(d.At(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		now, err := disk.StateAt(unix.AT_FDCWD, d.At(name), 0)
		if err != nil {
			t.Fatal(err)
		}
		d.WithinTick(name, &now)
	}
	d.Over(t)
	v, err := undone(t, d)
	if err == nil || len(v.Conflicts) != 1 || v.Conflicts[0].Path != d.At("f") {
		t.Errorf("%+v, %v", v, err)
	}
}
