package history

import (
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/history/journal"
)

// TestStandIn: what an older step removed from a directory that another program removed
// since comes back into the one that has its name now, whoever made that, and as long as it is.
func TestStandIn(t *testing.T) {
	for how, again := range map[string]func(d *desk){
		"by hand": func(d *desk) {
			if err := os.MkdirAll(d.at("d/e"), 0o755); err != nil {
				t.Fatal(err)
			}
		},
		"by a step":          func(d *desk) { d.mkdir(t, "d"); d.mkdir(t, "d/e"); d.put(t, "d/n", "new") },
		"the lower by hand":  func(d *desk) { d.mkdir(t, "d"); _ = os.Mkdir(d.at("d/e"), 0o755) },
		"after another kind": func(d *desk) { d.put(t, "d", "file"); d.remove(t, "d"); d.mkdir(t, "d"); d.mkdir(t, "d/e") },
		"as a step's own":    func(d *desk) { d.mkdir(t, "other"); d.mkdir(t, "other/e"); d.rename(t, "other", "d") },
	} {
		d := newDesk(t)
		if err := os.MkdirAll(d.at("d/e"), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(d.at("d/e/a"), []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
		d.begin(t)
		d.remove(t, "d/e/a")
		d.end(t)
		if err := os.RemoveAll(d.at("d")); err != nil {
			t.Fatal(err)
		}
		d.begin(t)
		again(d)
		d.put(t, "unrelated", "x")
		d.quiet(t)
		d.end(t)
		d.close(t)
		for range 2 { // also after a redo
			if v, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil || len(v.Unrestorable) > 0 {
				t.Fatalf("%s: %+v, %v", how, v, err)
			}
			if text, err := os.ReadFile(d.at("d/e/a")); err != nil || string(text) != "before" {
				t.Errorf("%s: %q, %v", how, text, err)
			}
			l := d.read(t)
			if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
				t.Fatalf("%s: %v", how, err)
			}
			if _, err := os.Lstat(d.at("d/e/a")); !os.IsNotExist(err) {
				t.Errorf("%s: after the redo: %v", how, err)
			}
		}
		if v, err := d.undo(t, Request{Steps: []uint64{2}, Mode: journal.KeepBoth}); err != nil || len(v.Unrestorable) > 0 {
			t.Errorf("%s: the other step: %+v, %v", how, v, err)
		}
	}
}

// TestForcedThereAndBack: what a forced redo destroys comes back with one undo, also where
// the undo before was of a part; and what was written during a step is in the way again once
// a forced undo of it is taken back.
func TestForcedThereAndBack(t *testing.T) {
	for _, part := range []bool{false, true} {
		d := newDesk(t)
		for name, text := range map[string]string{"x": "before", "y": "y"} {
			if err := os.WriteFile(d.at(name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		d.begin(t)
		d.remove(t, "x")
		d.rename(t, "y", "z")
		d.end(t)
		d.close(t)
		if part {
			if err := os.Remove(d.at("z")); err != nil {
				t.Fatal(err)
			}
		}
		if v, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.KeepBoth}); err != nil || len(v.Unrestorable) > 0 != part {
			t.Fatalf("%+v, %v", v, err)
		}
		if err := os.WriteFile(d.at("x"), []byte("by hand"), 0o644); err != nil {
			t.Fatal(err)
		}
		newest := func() uint64 { l := d.read(t); return l.Steps[len(l.Steps)-1].Number }
		if _, err := d.undo(t, Request{Steps: []uint64{newest()}, Redo: true, Mode: journal.Force}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
				t.Fatal(err)
			}
			if text, err := os.ReadFile(d.at("x")); err != nil || string(text) != "by hand" {
				t.Fatalf("in part %v: %q, %v", part, text, err)
			}
			if _, err := d.undo(t, Request{Steps: []uint64{newest()}, Redo: true}); err != nil {
				t.Fatal(err)
			}
		}
	}

	d := newDesk(t)
	if err := os.WriteFile(d.at("x"), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	d.begin(t)
	d.put(t, "x", "step")
	d.quiet(t)
	if err := os.WriteFile(d.at("new"), []byte("by hand"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(d.at("new"), d.at("x")); err != nil {
		t.Fatal(err)
	}
	d.remove(t, "x")
	d.end(t)
	d.close(t)
	for range 2 {
		if v, err := d.store.Preview(d.read(t), Request{Steps: []uint64{1}, Roots: []string{d.root}}); err != nil || !slices.ContainsFunc(v.Conflicts, func(c Conflict) bool { return c.Path == d.at("x") }) {
			t.Fatalf("nothing is in the way: %+v, %v", v, err)
		}
		if _, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.Force}); err != nil {
			t.Fatal(err)
		}
		l := d.read(t)
		if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.KeepBoth}); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(d.at("x.undo-conflict")); err != nil || string(text) != "by hand" {
		t.Errorf("beside: %q, %v", text, err)
	}
}

// TestOneCopyBeside: a second try of an undo that could not be complete puts nothing beside
// that is there already, unless it was changed.
func TestOneCopyBeside(t *testing.T) {
	d := newDesk(t)
	for name, text := range map[string]string{"x": "before", "y": "y"} {
		if err := os.WriteFile(d.at(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	d.begin(t)
	d.put(t, "x", "step")
	d.rename(t, "y", "z")
	d.quiet(t)
	d.outside(t, "x", " by hand")
	d.remove(t, "x")
	d.end(t)
	d.close(t)
	if err := os.Remove(d.at("z")); err != nil { // so that it cannot be complete
		t.Fatal(err)
	}
	beside := func() (n int) {
		for text := range texts(t, d.root) {
			if text == "step by hand" {
				n += len(strings.Fields(texts(t, d.root)[text]))
			}
		}
		return n
	}
	for try := range 4 {
		if try == 3 {
			if err := os.WriteFile(d.at("x.undo-conflict"), []byte("step by HAND"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		v, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.KeepBoth})
		if err != nil || len(v.Unrestorable) == 0 {
			t.Fatalf("%+v, %v", v, err)
		}
		if n := beside(); n != 1 {
			t.Errorf("after %d tries there are %d copies: %q", try+1, n, texts(t, d.root))
		}
	}
}
