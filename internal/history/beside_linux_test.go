package history

import (
	"os"
	"strings"
	"testing"

	"carrel/internal/history/journal"
)

// TestKeepBothLongNames: a name as long as names can be is put aside, also where the
// name for that is taken; where the undo fails afterwards, it gets its own back.
func TestKeepBothLongNames(t *testing.T) {
	for name, cut := range map[string]int{ // at which the name that it gets is
		strings.Repeat("x", 255): 237, strings.Repeat("é", 127) + "e": 236, strings.Repeat("\xff", 255): 237, "short": len("short"),
	} {
		aside := name[:cut] + ".undo-conflict"
		for _, fails := range []bool{false, true} {
			d := newDesk(t)
			d.fill(t)
			if err := os.WriteFile(d.at(name), []byte("before"), 0o600); err != nil {
				t.Fatal(err)
			}
			d.begin(t)
			d.write(t, "dir/f", "other")
			d.write(t, name, "of the step")
			d.end(t)
			d.close(t)
			for at, text := range map[string]string{name: "mine", aside: "taken"} {
				if err := os.WriteFile(d.at(at), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if fails {
				objects, err := os.ReadDir(d.store.Dir() + "/objects")
				if err != nil || len(objects) != 1 {
					t.Fatal(err, objects)
				}
				l := d.read(t)
				pre, _ := l.Steps[0].PreOf(d.at("dir/f"))
				if err := os.Remove(d.store.Dir() + "/objects/" + objects[0].Name() + "/" + journal.ObjectName(pre.Object.Number)); err != nil {
					t.Fatal(err)
				}
			}
			v, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.KeepBoth})
			if fails {
				if err != nil || len(v.Unrestorable) != 1 {
					t.Fatalf("%.10q: it does not say that it did not come back: %v", name, err)
				}
				if got, err := os.ReadFile(d.at("dir/f")); err != nil || string(got) != "other" {
					t.Errorf("%.10q: what cannot come back was changed: %q %v", name, got, err)
				}
				continue
			}
			if err != nil {
				t.Fatalf("%.10q: %v", name, err)
			}
			for at, want := range map[string]string{name: "before", aside: "taken", aside + "-2": "mine"} {
				if got, err := os.ReadFile(d.at(at)); string(got) != want {
					t.Errorf("%.10q: %q %v, want %q", at, got, err, want)
				}
			}
		}
	}
}

// TestKeepBothWhereNothingCanCome: a directory that is gone is told, and the step can be
// taken back when it is there again.
func TestKeepBothWhereNothingCanCome(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.rename(t, "dir/sub", "moved")
	d.end(t)
	d.close(t)
	if err := os.RemoveAll(d.at("dir")); err != nil {
		t.Fatal(err)
	}
	v, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.KeepBoth})
	if err != nil || len(v.Unrestorable) != 1 || d.read(t).Undone(d.read(t).Step(1)) {
		t.Fatalf("%+v, %v", v, err)
	}
	if err := os.Mkdir(d.at("dir"), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(d.at("dir/sub/g")); err != nil {
		t.Errorf("it did not come back: %v", err)
	}
}
