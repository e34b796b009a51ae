package history

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/undo"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// ignore has a desk keep nothing of some names and what is in them.
func (d *desk) ignore(names ...string) func(path string) bool {
	ignored := func(path string) bool {
		return slices.ContainsFunc(names, func(n string) bool { return pathname.Within(path, d.at(n)) })
	}
	d.store.SetIgnored(ignored)
	return ignored
}

// objects counts the preimages that are kept.
func (d *desk) objects(t testing.TB) (n int) {
	t.Helper()
	segments, err := os.ReadDir(d.store.Dir() + "/objects")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range segments {
		all, err := os.ReadDir(d.store.Dir() + "/objects/" + s.Name())
		if err != nil {
			t.Fatal(err)
		}
		n += len(all)
	}
	return n
}

// TestIgnored: what the user does not want is not kept, is no loss that anybody is
// asked about, and is left alone by an undo, which says so.
func TestIgnored(t *testing.T) {
	for _, tt := range []struct {
		name    string
		ignore  []string
		do      func(d *desk)
		kept    int
		alone   []string          // told by the undo
		differs map[string]string // what is not as before after it: content, "" for gone
	}{
		{"a directory is removed", []string{"dir"}, func(d *desk) { d.removeAll(t, "dir") }, 0, []string{"dir"},
			map[string]string{"dir": "", "dir/f": "", "dir/sub": "", "dir/sub/g": "", "dir/link": ""}},
		{"a directory is removed and made again", []string{"dir"}, func(d *desk) {
			d.removeAll(t, "dir")
			d.mkdir(t, "dir")
			d.write(t, "dir/f", "new")
			d.write(t, "dir/more", "more")
		}, 0, []string{"dir"}, map[string]string{"dir": "dir", "dir/f": "new", "dir/more": "more", "dir/sub": "", "dir/sub/g": "", "dir/link": ""}},
		{"a file is written", []string{"a"}, func(d *desk) { d.write(t, "a", "b"); d.write(t, "dir/f", "n") }, 1, []string{"a"}, map[string]string{"a": "b"}},
		{"something is made", []string{"new"}, func(d *desk) { d.mkdir(t, "new"); d.write(t, "new/x", "x"); d.write(t, "also", "x") }, 0, nil,
			map[string]string{"new": "dir", "new/x": "x"}},
		{"made in a directory that the step made", []string{"new/x", "new/d"}, func(d *desk) {
			d.mkdir(t, "new")
			d.write(t, "new/x", "x")
			d.mkdir(t, "new/d")
		}, 0, nil, nil},
		{"in a directory that is removed", []string{"dir/sub"}, func(d *desk) { d.removeAll(t, "dir") }, 1, []string{"dir/sub"},
			map[string]string{"dir/sub": "", "dir/sub/g": ""}},
		{"in a directory that is removed and made again", []string{"dir/f"}, func(d *desk) {
			d.removeAll(t, "dir")
			d.mkdir(t, "dir")
			d.write(t, "dir/f", "new")
		}, 1, []string{"dir/f"}, map[string]string{"dir/f": ""}},
		{"in a directory that is renamed", []string{"dir/f"}, func(d *desk) { d.rename(t, "dir", "moved"); d.write(t, "moved/f", "new") }, 0, []string{"dir/f"},
			map[string]string{"dir/f": "new"}},
		{"something is moved in there, in a directory that is renamed", []string{"dir/sub"}, func(d *desk) {
			d.rename(t, "dir/link", "dir/sub/new")
			d.rename(t, "dir", "moved")
		}, 0, nil, map[string]string{"dir/sub": "dir"}},
		{"made again in a directory that is renamed", []string{"dir/f"}, func(d *desk) {
			d.remove(t, "dir/f")
			d.write(t, "dir/f", "new")
			d.rename(t, "dir", "moved")
		}, 0, []string{"dir/f"}, map[string]string{"dir/f": "new"}},
		{"made in a directory that is renamed", []string{"dir/new"}, func(d *desk) {
			d.write(t, "dir/new", "new")
			d.rename(t, "dir", "moved")
		}, 0, nil, map[string]string{"dir": "dir", "dir/new": "new"}},
		{"made in a directory that was renamed, by its name then", []string{"moved/new"}, func(d *desk) {
			d.rename(t, "dir", "moved")
			d.write(t, "moved/new", "new")
		}, 0, nil, nil},
		{"moved away", []string{"a"}, func(d *desk) { d.rename(t, "a", "b") }, 0, []string{"a"}, map[string]string{"a": "", "b": "content of a"}},
		{"moved over what is not", []string{"a"}, func(d *desk) { d.rename(t, "a", "dir/f") }, 1, nil, nil},
		{"something is moved to where it is not kept", []string{"nm"}, func(d *desk) { d.mkdir(t, "nm"); d.rename(t, "a", "nm/a"); d.remove(t, "nm/a") }, 1, nil,
			map[string]string{"nm": "dir"}},
		{"moved over what is not, in a directory that is renamed", []string{"a"}, func(d *desk) {
			d.rename(t, "a", "dir/f")
			d.rename(t, "dir", "moved")
		}, 1, nil, nil},
		{"replaced by what is not", []string{"a"}, func(d *desk) { d.rename(t, "dir/f", "a") }, 0, []string{"a"}, map[string]string{"a": ""}},
		{"by one of several names", []string{"l1"}, func(d *desk) { d.remove(t, "l1") }, 1, nil, nil},
		{"with a name that is kept in it", []string{"dir"}, func(d *desk) {
			d.removeAll(t, "dir")
		}, 1, []string{"dir/f", "dir/link", "dir/sub"}, map[string]string{"dir/f": "", "dir/sub": "", "dir/sub/g": "", "dir/link": ""}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			if strings.HasPrefix(tt.name, "with a name") {
				if err := os.Link(d.at("l1"), d.at("dir/l3")); err != nil {
					t.Fatal(err)
				}
			}
			ignored := d.ignore(tt.ignore...)
			before := strings.Split(snapshot(t, d.root), "\n")
			d.begin(t)
			d.store.SetLimits(Limits{})
			tt.do(d)
			d.end(t)
			if d.w.Lost() {
				t.Error("it counts as lost")
			}
			after := snapshot(t, d.root)
			d.close(t)
			if n := d.objects(t); n > tt.kept {
				t.Errorf("%d files are kept, want %d", n, tt.kept)
			}
			v, err := d.undo(t, Request{Steps: []uint64{1}})
			if err != nil {
				t.Fatal(err)
			}
			var told []string
			for _, u := range v.Plan.Unrestorable {
				if u.Why != journal.Ignored {
					t.Errorf("%s: %s", u.Path, u.Why)
				}
				told = append(told, strings.TrimPrefix(u.Path, d.root+"/"))
			}
			if slices.Sort(told); !slices.Equal(told, tt.alone) {
				t.Errorf("told: %q, want %q", told, tt.alone)
			}
			d.differsIn(t, before, tt.differs)
			if _, err := d.undo(t, Request{Steps: []uint64{2}, Redo: true}); err != nil {
				t.Fatal(err)
			}
			if differs := apart(snapshot(t, d.root), after); !d.onlyTimes(t, 1, differs, ignored) {
				t.Errorf("made again:\n%s", differs)
			}
		})
	}
}

// differsIn wants a tree as it was but for some paths, and directories' times where
// those are.
func (d *desk) differsIn(t *testing.T, before []string, differs map[string]string) {
	t.Helper()
	for name, want := range differs {
		st, err := os.Lstat(d.at(name))
		data, _ := os.ReadFile(d.at(name))
		switch {
		case want == "" && err == nil:
			t.Errorf("%s is there", name)
		case want == "dir" && (err != nil || !st.IsDir()), want != "" && want != "dir" && !bytes.Equal(data, []byte(want)):
			t.Errorf("%s: %v %q, want %q", name, err, data, want)
		}
	}
	now := strings.Split(snapshot(t, d.root), "\n")
	for _, lines := range [][]string{before, now} {
		for _, l := range lines {
			path := strings.TrimPrefix(strings.SplitN(l, `"`, 3)[1], "/")
			if _, expected := differs[path]; !expected && (!slices.Contains(now, l) || !slices.Contains(before, l)) {
				t.Errorf("differs: %s", l)
			}
		}
	}
}

// TestIgnoredLater: what one step moved to where nothing is kept is not kept for the
// next. What that does there stays, and moves back with the directory.
func TestIgnoredLater(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.ignore("nm")
	before := strings.Split(snapshot(t, d.root), "\n")
	d.begin(t)
	d.rename(t, "dir", "nm")
	d.end(t)
	d.begin(t)
	d.remove(t, "nm/f")
	d.write(t, "nm/f", "new")
	d.write(t, "a", "new")
	d.end(t)
	d.close(t)
	for _, s := range []uint64{2, 1} {
		if _, err := d.undo(t, Request{Steps: []uint64{s}}); err != nil {
			t.Fatalf("undo of %d: %v", s, err)
		}
	}
	d.differsIn(t, before, map[string]string{"dir/f": "new", "dir": "dir"})
}

// TestIgnoredInTheWay: what an undo left alone may be in the way of an older one,
// which says so before it does anything.
func TestIgnoredInTheWay(t *testing.T) {
	for _, mode := range []journal.Mode{journal.Abort, journal.Skip, journal.KeepBoth} {
		d := newDesk(t)
		d.fill(t)
		d.ignore("a")
		before := strings.Split(snapshot(t, d.root), "\n")
		d.begin(t)
		d.removeAll(t, "dir")
		d.mkdir(t, "dir")
		d.end(t)
		d.begin(t)
		d.rename(t, "a", "dir/f")
		d.end(t)
		d.close(t)
		if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
			t.Fatal(err)
		}
		between := snapshot(t, d.root)
		_, err := d.undo(t, Request{Steps: []uint64{1}, Mode: mode})
		conflict := (*ConflictError)(nil)
		switch {
		case mode == journal.Abort && (!errors.As(err, &conflict) || snapshot(t, d.root) != between):
			t.Errorf("%v\n%s", err, apart(snapshot(t, d.root), between))
		case mode != journal.Abort && err != nil:
			t.Errorf("mode %v: %v", mode, err)
		case mode == journal.Skip:
			d.differsIn(t, before, map[string]string{"a": "", "dir/f": "content of a", "dir": "dir", "dir/link": "", "dir/sub": "", "dir/sub/g": ""})
		case mode == journal.KeepBoth:
			d.differsIn(t, before, map[string]string{"a": "", "dir.undo-conflict": "dir", "dir.undo-conflict/f": "content of a"})
		}
	}
}

// TestIgnoredGone: where a later step removed or replaced the directory, not kept, that
// something of an older one goes back to, the older one is not taken back, nor a part of it.
func TestIgnoredGone(t *testing.T) {
	for _, want := range []error{unix.ENOENT, unix.ENOTDIR} {
		d := newDesk(t)
		d.fill(t)
		d.ignore("dir/sub")
		d.begin(t)
		d.rename(t, "dir/sub/g", "pipe")
		d.write(t, "a", "new")
		d.end(t)
		d.begin(t)
		d.remove(t, "dir/sub")
		if want == unix.ENOTDIR {
			d.write(t, "dir/sub", "a file")
		}
		d.end(t)
		d.close(t)
		if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
			t.Fatal(err)
		}
		between := snapshot(t, d.root)
		_, err := d.undo(t, Request{Steps: []uint64{1}})
		if conflict := (*ConflictError)(nil); !errors.Is(err, want) && !errors.As(err, &conflict) || errors.Is(err, undo.ErrUnfinished) {
			t.Errorf("got %v, want %v or a conflict", err, want)
		}
		if got := snapshot(t, d.root); got != between {
			t.Errorf("changed:\n%s", apart(got, between))
		}
	}
}

// TestIgnoredRandom: whatever a step does to what is kept and what is not, an undo
// works, brings back exactly what is kept, and can be taken back.
func TestIgnoredRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		names := []string{"dir/sub", "a", "dir/f", "b/x", "empty", "dir", "b", "dir/new"}
		ignored := d.ignore(rapid.SliceOfN(rapid.SampledFrom(names), 1, 3).Draw(rt, "ignored")...)
		trees := []string{snapshot(rt, d.root)}
		n := rapid.IntRange(1, 2).Draw(rt, "steps")
		for range n {
			d.begin(rt)
			for range rapid.IntRange(1, 12).Draw(rt, "changes") {
				d.random(rt)
			}
			d.end(rt)
			trees = append(trees, snapshot(rt, d.root))
		}
		d.close(rt)
		var steps []uint64
		for _, s := range slices.Backward(d.read(rt).Changes()) {
			steps = append(steps, s.Number)
		}
		for i, s := range steps {
			_, err := d.undo(rt, Request{Steps: []uint64{s}})
			if conflict := (*ConflictError)(nil); i > 0 && (errors.As(err, &conflict) || errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ENOTDIR)) {
				return // the later step changed or removed something that is not kept: it is not as this one left it
			}
			if err != nil {
				rt.Fatalf("undo of %d: %v", s, err)
			}
			now, step := strings.Split(snapshot(rt, d.root), "\n"), d.read(rt).Step(s)
			for _, l := range strings.Split(trees[n-1-i], "\n") {
				path := d.root + strings.SplitN(l, `"`, 3)[1]
				inLater := i > 0 && ignored(step.Carried(path)) // so the later step's undo left it alone
				if !ignored(path) && !inLater && !slices.Contains(now, l) {
					rt.Fatalf("after undo of %d:\n%s", s, apart(strings.Join(now, "\n"), trees[n-1-i]))
				}
			}
			if i == 0 {
				last := d.read(rt).Steps
				if _, err := d.undo(rt, Request{Steps: []uint64{last[len(last)-1].Number}, Redo: true}); err != nil {
					rt.Fatalf("redo of %d: %v", s, err)
				}
				got := snapshot(rt, d.root)
				if !d.onlyTimes(rt, s, apart(got, trees[n]), ignored) {
					rt.Fatalf("after redo:\n%s", apart(got, trees[n]))
				}
				if _, err := d.undo(rt, Request{Steps: []uint64{s}}); err != nil {
					rt.Fatalf("undo of %d again: %v", s, err)
				}
			}
		}
	})
}

// onlyTimes says whether two trees after a step differ only in times of directories
// that are not kept, by the names that those had before it: such a time is its own,
// and new where an undo has changed names in there.
func (d *desk) onlyTimes(t fataler, number uint64, differs string, ignored func(path string) bool) bool {
	step := d.read(t).Step(number)
	carried := steplog.Carriers(step.Posts())
	for l := range strings.Lines(differs) {
		part := strings.SplitN(l, `"`, 3) // got or want, the path, and the rest
		at := d.root + part[1]
		if q, ok := step.PostOf(at); ok && len(q.Origin) > 0 {
			at = string(q.Origin)
		} else if before := carried(at); before != "" {
			at = before
		}
		if !ignored(at) || !strings.HasPrefix(part[2], " 40") {
			return false
		}
	}
	return true
}
