package history

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
)

// betweens are the contents of what was kept between, by path.
func (d *desk) betweens(t testing.TB, s *steplog.Step) map[string]string {
	t.Helper()
	out := make(map[string]string)
	for _, p := range s.Between() {
		text, err := "", error(nil)
		if p.Object != (journal.Object{}) {
			var data []byte
			data, err = os.ReadFile(d.store.Dir() + "/objects/" + p.Object.Segment + "/" + journal.ObjectName(p.Object.Number))
			text = string(data)
		}
		if err != nil || int64(len(text)) != p.State.Size {
			t.Errorf("%q: %d bytes of %d, %v", p.Path, len(text), p.State.Size, err)
		}
		out[string(p.Path)[len(d.root)+1:]] += text + ";"
	}
	return out
}

// TestKeptBetween: what another program wrote to a file of the step is kept before the
// step destroys it, whichever way, and once.
func TestKeptBetween(t *testing.T) {
	for how, destroy := range map[string]func(d *desk, name string){
		"opened":   func(d *desk, name string) { d.put(t, name, "again") },
		"removed":  func(d *desk, name string) { d.remove(t, name) },
		"replaced": func(d *desk, name string) { d.rename(t, "new", name) },
		"copied": func(d *desk, name string) {
			c := Change{Op: Rename, Path: d.at("new"), To: d.at(name), Copied: true, Dir: -1, ToDir: -1}
			if err := d.w.Before(&c); err != nil {
				t.Fatal(err)
			}
			d.w.After(&c, os.Rename(d.at("new"), d.at(name)))
		},
		"moved first": func(d *desk, name string) {
			d.rename(t, name, "elsewhere")
			d.chmod(t, "elsewhere", 0o600)
			d.rename(t, "elsewhere", name)
			d.remove(t, name)
		},
	} {
		d := newDesk(t)
		if err := os.WriteFile(d.at("found"), []byte("before "), 0o644); err != nil {
			t.Fatal(err)
		}
		d.begin(t)
		want := make(map[string]string)
		for _, name := range []string{"found", "made", "left alone", "elsewhere"} {
			d.put(t, name, "step ")
		}
		d.quiet(t)
		for _, name := range []string{"found", "made"} {
			d.outside(t, name, "by hand")
			d.put(t, "new", "new")
			d.quiet(t)
			destroy(d, name)
			want[name] = "step by hand;"
		}
		s := d.over(t)
		got := d.betweens(t, s)
		if len(got) != len(want) || got["found"] != want["found"] || got["made"] != want["made"] {
			t.Errorf("%s: %q", how, got)
		}
		if pre, ok := s.PreOf(d.at("made")); ok && pre.State.Kind != journal.Absent {
			t.Errorf("%s: a preimage of what the step made: %+v", how, pre)
		}
		if pre, _ := s.PreOf(d.at("found")); pre.State.Size != int64(len("before ")) {
			t.Errorf("%s: the preimage is %+v", how, pre)
		}
	}
}

// TestBetweenIsOwned: objects of what was kept between go with their step, and not
// before.
func TestBetweenIsOwned(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	d.put(t, "made", "step ")
	d.quiet(t)
	d.outside(t, "made", "by hand")
	d.remove(t, "made")
	d.over(t)
	l := d.read(t)
	u, err := d.store.Usage(l)
	if err != nil || u.All.Disk == 0 || u.Unreferenced.Disk > 0 || u.Steps[0].Disk != u.All.Disk {
		t.Errorf("usage: %+v, %v", u, err)
	}
	if _, err := d.store.Collect(false); err != nil || len(d.betweens(t, d.read(t).Step(1))) != 1 {
		t.Errorf("collected: %v", err)
	}
	if _, err := d.store.Discard([]uint64{1}, false, false); err != nil {
		t.Error(err)
	}
	if u, err = d.store.Usage(d.read(t)); err != nil || u.All.Disk > 0 {
		t.Errorf("discarded: %+v, %v", u, err)
	}
}

// TestKeptBetweenNames: what another program wrote by one name is kept before the step
// destroys it by another one, that it had not met.
func TestKeptBetweenNames(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(d.at("a"), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"b", "c"} {
		if err := os.Link(d.at("a"), d.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	d.begin(t)
	d.put(t, "a", "step")
	d.quiet(t)
	d.outside(t, "b", "by hand")
	d.put(t, "c", "again")
	d.quiet(t)
	if got := d.betweens(t, d.over(t)); len(got) != 1 || got["c"] != "stepby hand;" {
		t.Errorf("kept: %v", got)
	}
}

// TestReplacedAtOnce: a file that another program saves by a rename before the watcher has
// looked is not what the step left: it is in the way of an undo, and both come back.
func TestReplacedAtOnce(t *testing.T) {
	d := newDesk(t)
	for _, name := range []string{"found", "replaced"} {
		if err := os.WriteFile(d.at(name), []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save := func(name string) {
		if err := os.WriteFile(d.at("saved"), []byte("by hand"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(d.at("saved"), d.at(name)); err != nil {
			t.Fatal(err)
		}
	}
	d.begin(t)
	d.put(t, "found", "step")
	save("found")
	d.put(t, "made", "step")
	save("made")
	d.put(t, "new", "step")
	d.rename(t, "new", "replaced")
	save("replaced")
	d.quiet(t)
	s := d.over(t)
	for _, name := range []string{"found", "made", "replaced"} {
		post, ok := s.PostOf(d.at(name))
		if now, err := disk.StateAt(unix.AT_FDCWD, d.at(name), 0); err != nil || !ok || post.State.ID == now.ID {
			t.Errorf("%s: the step left %+v, %v, and there is %+v, %v", name, post.State, ok, now, err)
		}
	}
	v, err := d.store.Preview(d.read(t), Request{Steps: []uint64{1}, Roots: []string{d.root}})
	if err != nil || len(v.Conflicts) != 3 {
		t.Fatalf("an undo: %+v, %v", v, err)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}, Mode: journal.KeepBoth}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"found": "before", "found.undo-conflict": "by hand", "replaced": "before", "replaced.undo-conflict": "by hand", "made": "by hand",
	} {
		if text, err := os.ReadFile(d.at(name)); err != nil || string(text) != want {
			t.Errorf("%s: %q, %v", name, text, err)
		}
	}
}

// TestNoEditByNames: names of a file that come and go move its time of change alone. That
// is no edit, also where the step has looked at the content of as many files as it may.
func TestNoEditByNames(t *testing.T) {
	for name, others := range map[string]int{"content known": 0, "content unknown": 256} {
		d := newDesk(t)
		d.begin(t)
		for i := range others {
			d.put(t, fmt.Sprint("other", i), "step ")
		}
		d.quiet(t)
		d.put(t, "made", "step ")
		d.quiet(t)
		if err := os.Link(d.at("made"), d.at("other")); err != nil {
			t.Fatal(err)
		}
		d.remove(t, "made")
		if got := d.betweens(t, d.over(t)); len(got) > 0 {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// TestUnreadableBetween: another program put a file where the step had made one, and it may not
// be read. The step may destroy it once that was asked, and is not asked for ever.
func TestUnreadableBetween(t *testing.T) {
	asUser(t, "TestUnreadableBetween")
	if os.Getuid() == 0 {
		return
	}
	d := newDesk(t)
	d.begin(t)
	d.put(t, "made", "by the step")
	if err := errors.Join(os.Remove(d.at("made")), os.WriteFile(d.at("made"), []byte("by another"), 0o000)); err != nil {
		t.Fatal(err)
	}
	asked := 0
	c := Change{Op: Remove, Path: d.at("made"), Dir: -1, ToDir: -1, Lose: func(path, why string) error {
		if asked++; asked > 2 {
			return errors.New("asked again")
		}
		return nil
	}}
	if err := d.w.Before(&c); err != nil || asked != 1 {
		t.Fatalf("asked %d times, %v", asked, err)
	}
	d.w.After(&c, os.Remove(d.at("made")))
	if got := d.over(t).Between(); len(got) != 1 || got[0].Lost == "" {
		t.Errorf("written down: %+v", got)
	}
}
