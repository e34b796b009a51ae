package history

import (
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"carrel/internal/history/journal"
)

// TestBeside: a name for what is in the way has room, differs from all others of its
// kind, and cuts no character in two.
func TestBeside(t *testing.T) {
	for name, want := range map[string]string{
		"a":                      "a.undo-conflict",
		strings.Repeat("x", 255): strings.Repeat("x", 237) + ".undo-conflict",
		strings.Repeat("é", 127): strings.Repeat("é", 118) + ".undo-conflict",
		strings.Repeat("x", 234) + "\U0001f600" + strings.Repeat("x", 17): strings.Repeat("x", 234) + ".undo-conflict",
		strings.Repeat("\xff", 255):                                       strings.Repeat("\xff", 237) + ".undo-conflict",
		strings.Repeat("\x80", 255):                                       strings.Repeat("\x80", 237) + ".undo-conflict",
	} {
		if got := beside(name, 1); got != want {
			t.Errorf("%.20q...: %q, want %q", name, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringN(1, 255, 255).Draw(rt, "name")
		if rapid.Bool().Draw(rt, "bytes") {
			name = string(rapid.SliceOfN(rapid.Byte(), 1, 255).Draw(rt, "name"))
		}
		a, b := beside(name, 1), beside(name, besideTries-1)
		if a == b || len(a) > maxName || len(b) > maxName || utf8.ValidString(name) && !utf8.ValidString(b) {
			rt.Fatalf("%q: %q and %q", name, a, b)
		}
	})
}

// TestKeepBothLongNames: a name as long as names can be is put aside, also where the
// name for that is taken; where the undo fails afterwards, it gets its own back.
func TestKeepBothLongNames(t *testing.T) {
	for _, name := range []string{strings.Repeat("x", 255), strings.Repeat("é", 127) + "e", strings.Repeat("\xff", 255), "short"} {
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
			for at, text := range map[string]string{name: "mine", beside(name, 1): "taken"} {
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
			for at, want := range map[string]string{name: "before", beside(name, 1): "taken", beside(name, 2): "mine"} {
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
