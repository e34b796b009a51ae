package history

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/store"
)

// formerFormat is what the version before has written into the file "format".
const formerFormat = "carrel history 1\n"

// asFormer writes all journals again, without what only the present format has.
func (d *desk) asFormer(t *testing.T) {
	t.Helper()
	names, err := filepath.Glob(d.store.Dir() + "/journal/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		j := journal.NewReader(bytes.NewReader(data), int64(len(data)))
		for {
			r, _, err := j.Next()
			if err != nil {
				t.Fatal(err)
			}
			if r == nil {
				break
			}
			if r.Post != nil && r.Post.Planned || r.Beyond != nil {
				continue
			}
			if r.Post != nil {
				r.Post.As, r.Post.From = nil, journal.Object{}
			}
			if r.Pre != nil {
				r.Pre.Was = journal.ID{}
			}
			r.Safe = 0
			if out, err = journal.Encode(out, r); err != nil {
				t.Fatal(err)
			}
		}
		if err := os.WriteFile(name, out, 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		store.Seal(int(f.Fd()))
		f.Close()
	}
	_ = os.Remove(d.store.Dir() + "/index")
	if err := os.WriteFile(d.store.Dir()+"/format", []byte(formerFormat), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(d.store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	d.t.Cleanup(again.Close)
	d.store = again
}

// TestFormerFormat: what a version before wrote is made again and taken back; who
// writes to it raises the format, who only reads does not.
func TestFormerFormat(t *testing.T) {
	for _, c := range oneStep {
		if c.name == "written by a name that goes" {
			continue // the former format did not say what became of it
		}
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			d.begin(t)
			c.do(t, d)
			d.end(t)
			d.close(t)
			after := snapshot(t, d.root)
			d.asFormer(t)
			if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
				t.Fatal(err)
			}
			if got := snapshot(t, d.root); got != before {
				t.Fatalf("after undo:\n%s", apart(got, before))
			}
			if got, err := os.ReadFile(d.store.Dir() + "/format"); err != nil || string(got) != (&FormatError{}).Known() {
				t.Errorf("the format is %q, %v", got, err)
			}
			d.asFormer(t)
			d.read(t)
			if got, err := os.ReadFile(d.store.Dir() + "/format"); err != nil || string(got) != formerFormat {
				t.Errorf("the format is %q, %v", got, err)
			}
			if _, err := d.undo(t, Request{Steps: []uint64{2}, Redo: true}); err != nil {
				t.Fatal(err)
			}
			if got := snapshot(t, d.root); got != after {
				t.Fatalf("after redo:\n%s", apart(got, after))
			}
			d.asFormer(t)
			if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
				t.Fatal(err)
			}
			if got := snapshot(t, d.root); got != before {
				t.Fatalf("after a second undo:\n%s", apart(got, before))
			}
		})
	}
}
