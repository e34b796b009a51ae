package history

import (
	"errors"
	"os"
	"slices"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/undo"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// oneStep are the ways to destroy something, one each.
var oneStep = []struct {
	name string
	do   func(t fataler, d *desk)
}{
	{"a changed file", func(t fataler, d *desk) { d.write(t, "a", "other") }},
	{"a new file", func(t fataler, d *desk) { d.write(t, "new", "x") }},
	{"a removed file", func(t fataler, d *desk) { d.remove(t, "a") }},
	{"a removed empty file", func(t fataler, d *desk) { d.remove(t, "empty") }},
	{"a filled empty file", func(t fataler, d *desk) { d.write(t, "empty", "full") }},
	{"saved as editors do", func(t fataler, d *desk) { d.write(t, "a.tmp", "saved"); d.rename(t, "a.tmp", "a") }},
	{"rm -rf", func(t fataler, d *desk) { d.removeAll(t, "dir") }},
	{"a directory renamed and changed", func(t fataler, d *desk) {
		d.rename(t, "dir", "moved")
		d.write(t, "moved/f", "changed")
		d.write(t, "moved/new", "x")
		d.remove(t, "moved/sub/g")
	}},
	{"renamed away and back", func(t fataler, d *desk) {
		d.rename(t, "dir", "moved")
		d.write(t, "moved/f", "changed")
		d.rename(t, "moved", "dir")
	}},
	{"file becomes directory", func(t fataler, d *desk) { d.remove(t, "a"); d.mkdir(t, "a"); d.write(t, "a/x", "y") }},
	{"directory becomes file", func(t fataler, d *desk) { d.removeAll(t, "dir"); d.write(t, "dir", "file") }},
	{"file becomes link", func(t fataler, d *desk) {
		d.remove(t, "a")
		d.act(t, Make, d.at("a"), "", func() error { return os.Symlink("/nonexistent/outside", d.at("a")) })
	}},
	{"two files change places", func(t fataler, d *desk) {
		d.act(t, Exchange, d.at("a"), d.at("dir"), func() error {
			return unix.Renameat2(unix.AT_FDCWD, d.at("a"), unix.AT_FDCWD, d.at("dir"), unix.RENAME_EXCHANGE)
		})
	}},
	{"mode", func(t fataler, d *desk) {
		d.act(t, Meta, d.at("a"), "", func() error { return os.Chmod(d.at("a"), 0o400) })
	}},
	{"attribute", func(t fataler, d *desk) {
		d.act(t, Meta, d.at("a"), "", func() error { return unix.Setxattr(d.at("a"), "user.x", []byte("v"), 0) })
	}},
	{"a read-only directory", func(t fataler, d *desk) {
		d.write(t, "dir/f", "y")
		d.remove(t, "dir/sub/g")
		d.act(t, Meta, d.at("dir/sub"), "", func() error { return os.Chmod(d.at("dir/sub"), 0o500) })
	}},
	{"a name of a link group goes", func(t fataler, d *desk) { d.remove(t, "l1"); d.write(t, "l2", "through the other name") }},
	{"a name of a link group moves and it is written", func(t fataler, d *desk) { d.rename(t, "l1", "dir/l1"); d.write(t, "dir/l1", "by that name") }},
	{"a changed file moves and gets a second name", func(t fataler, d *desk) {
		d.write(t, "a", "changed")
		d.rename(t, "a", "n")
		d.link(t, "n", "m")
		d.write(t, "a", "another")
	}},
	{"written by a name that goes, and the other one moves", func(t fataler, d *desk) {
		d.write(t, "l1", "changed")
		d.remove(t, "l1")
		d.rename(t, "l2", "n")
	}},
	{"written by a name that goes", func(t fataler, d *desk) { d.write(t, "l1", "changed"); d.remove(t, "l1") }},
	{"a second name", func(t fataler, d *desk) {
		d.act(t, Link, d.at("a"), d.at("second"), func() error { return os.Link(d.at("a"), d.at("second")) })
		d.write(t, "second", "written by it")
	}},
	{"a pipe", func(t fataler, d *desk) { d.remove(t, "pipe") }},
	{"odd names", func(t fataler, d *desk) { d.remove(t, "od\xffd\n"); d.mkdir(t, "-rf") }},
	{"directories change places and one in them stays", func(t fataler, d *desk) {
		d.mkdir(t, "other")
		d.rename(t, "dir", "x")
		d.rename(t, "other", "dir")
		d.rename(t, "x/sub", "dir/sub")
		d.rename(t, "x", "other")
		d.write(t, "dir/sub/g", "changed")
	}},
	{"everything", func(t fataler, d *desk) {
		d.rename(t, "dir", "x")
		d.rename(t, "a", "x/a")
		d.removeAll(t, "x")
		d.mkdir(t, "dir")
		d.write(t, "dir/f", "again")
		d.rename(t, "dir", "y")
		d.mkdir(t, "dir")
	}},
}

// TestUndoOneStep: what a step destroyed in one way each comes back, and redo
// makes it again.
func TestUndoOneStep(t *testing.T) {
	for name, place := range places(t) {
		for _, c := range oneStep {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				d := place.desk(t)
				d.fill(t)
				before := snapshot(t, d.root)
				d.begin(t)
				c.do(t, d)
				d.end(t)
				d.close(t)
				after := snapshot(t, d.root)
				if after == before {
					t.Fatal("nothing was changed")
				}
				step := d.read(t).Changes()[0].Number
				if _, err := d.undo(t, Request{Steps: []uint64{step}}); err != nil {
					t.Fatalf("undo: %v", err)
				}
				if got := snapshot(t, d.root); got != before {
					t.Fatalf("after undo:\n%s", apart(got, before))
				}
				l := d.read(t)
				u := l.Steps[len(l.Steps)-1]
				if u.Begin.Kind != journal.StepUndo || !l.Undone(l.Step(step)) {
					t.Fatalf("the step is not marked: %+v", u.Begin)
				}
				if _, err := d.undo(t, Request{Steps: []uint64{u.Number}, Redo: true}); err != nil {
					t.Fatalf("redo: %v", err)
				}
				if got := snapshot(t, d.root); got != after {
					t.Fatalf("after redo:\n%s", apart(got, after))
				}
				if _, err := d.undo(t, Request{Steps: []uint64{step}}); err != nil {
					t.Fatalf("undo again: %v", err)
				}
				if got := snapshot(t, d.root); got != before {
					t.Fatalf("after a second undo:\n%s", apart(got, before))
				}
			})
		}
	}
}

// TestUndoRefusesWhatOthersChanged: nothing at all is changed then.
func TestUndoRefusesWhatOthersChanged(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "by the step")
	d.remove(t, "dir/f")
	d.mkdir(t, "made")
	d.end(t)
	d.close(t)
	if err := os.WriteFile(d.at("a"), []byte("by the user"), 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(d.at("made/mine"), []byte("by the user"), 0o640); err != nil {
		t.Fatal(err)
	}
	now := snapshot(t, d.root)
	step := d.read(t).Changes()[0].Number
	_, err := d.undo(t, Request{Steps: []uint64{step}})
	var c *ConflictError
	if !errors.As(err, &c) || len(c.Conflicts) != 1 || c.Conflicts[0].Path != d.at("a") {
		t.Fatalf("undo over a change of somebody else: %v", err)
	}
	if got := snapshot(t, d.root); got != now {
		t.Fatalf("a refused undo changed something:\n%s", apart(got, now))
	}
	if _, err := d.undo(t, Request{Steps: []uint64{step}, Mode: journal.Force}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(d.at("a")); string(got) != "content of a" {
		t.Errorf("forced: %q", got)
	}
	l := d.read(t)
	if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(d.at("a")); string(got) != "by the user" {
		t.Errorf("force was taken back: %q", got)
	}
}

// TestUndoFindsEditsBetweenSteps: what somebody else did between two steps is in
// the way of the older one, also after the newer one has been taken back.
func TestUndoFindsEditsBetweenSteps(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	step := func(text string) uint64 {
		d.begin(t)
		d.write(t, "a", text)
		d.write(t, "dir/"+text, "new")
		d.end(t)
		d.close(t)
		return last(d.read(t).Changes()).Number
	}
	one := step("one")
	if err := os.WriteFile(d.at("a"), []byte("by the user"), 0o640); err != nil {
		t.Fatal(err)
	}
	two := step("two")
	var c *ConflictError
	if _, err := d.undo(t, Request{Steps: []uint64{one}, Paths: []string{d.at("dir")}}); err != nil {
		t.Errorf("a directory with names of both: %v", err)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{last(d.read(t).Steps).Number}, Redo: true}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{two, one}}); !errors.As(err, &c) {
		t.Errorf("both at once: %v", err)
	}
	for range 2 {
		if _, err := d.undo(t, Request{Steps: []uint64{two}}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.undo(t, Request{Steps: []uint64{one}}); !errors.As(err, &c) || len(c.Conflicts) != 1 || c.Conflicts[0].Path != d.at("a") {
			t.Errorf("one after the other: %v", err)
		}
		if _, err := d.undo(t, Request{Steps: []uint64{last(d.read(t).Steps).Number}, Redo: true}); err != nil {
			t.Fatal(err)
		}
	}
	if got, _ := os.ReadFile(d.at("a")); string(got) != "two" {
		t.Errorf("in the end: %q", got)
	}
}

func last(list []*steplog.Step) *steplog.Step { return list[len(list)-1] }

// TestUndoRandom: any number of random steps, taken back at once, one by one or
// in parts and made again, give the trees that were there.
func TestUndoRandom(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		trees := []string{snapshot(rt, d.root)}
		n := rapid.IntRange(1, 3).Draw(rt, "steps")
		for range n {
			d.begin(rt)
			for range rapid.IntRange(1, 12).Draw(rt, "changes") {
				d.random(rt)
			}
			d.end(rt)
			trees = append(trees, snapshot(rt, d.root))
		}
		d.close(rt)
		l := d.read(rt)
		var steps []uint64
		for _, s := range slices.Backward(l.Changes()) {
			steps = append(steps, s.Number)
		}
		k := rapid.IntRange(1, len(steps)).Draw(rt, "taken back")
		if rapid.Bool().Draw(rt, "at once") {
			if _, err := d.undo(rt, Request{Steps: steps[:k]}); err != nil {
				rt.Fatalf("undo %d: %v", k, err)
			}
		} else {
			for _, s := range steps[:k] {
				if _, err := d.undo(rt, Request{Steps: []uint64{s}}); err != nil {
					rt.Fatalf("undo of %d: %v", s, err)
				}
			}
		}
		if got, want := snapshot(rt, d.root), trees[len(trees)-1-k]; got != want {
			rt.Fatalf("after undo of %d of %d:\n%s", k, n, apart(got, want))
		}
		l = d.read(rt)
		for i := 0; i < k; i++ {
			if _, err := d.undo(rt, Request{Steps: []uint64{l.Steps[len(l.Steps)-1-i].Number}, Redo: true}); err != nil {
				rt.Fatalf("redo: %v", err)
			}
			if got, want := snapshot(rt, d.root), trees[len(trees)-k+i]; got != want {
				rt.Fatalf("after redo %d:\n%s", i+1, apart(got, want))
			}
		}
		more := rapid.IntRange(k, len(steps)).Draw(rt, "taken back again") // over steps that were made again
		if _, err := d.undo(rt, Request{Steps: steps[:more]}); err != nil {
			rt.Fatalf("undo %d again: %v", more, err)
		}
		if got, want := snapshot(rt, d.root), trees[len(trees)-1-more]; got != want {
			rt.Fatalf("after undo of %d again:\n%s", more, apart(got, want))
		}
	})
}

// TestRecover: after a kill at any moment of a step, the next who comes closes it,
// and it can be taken back like any other.
func TestRecover(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(rt, d.root)
		d.begin(rt)
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			d.random(rt)
		}
		after := snapshot(rt, d.root)
		d.kill()
		closed, err := d.store.Recover([]string{d.root})
		if err != nil || len(closed) != 1 {
			rt.Fatalf("recovering: %v %v", closed, err)
		}
		if got := snapshot(rt, d.root); got != after {
			rt.Fatalf("recovering changed the tree:\n%s", apart(got, after))
		}
		if again, err := d.store.Recover([]string{d.root}); err != nil || len(again) > 0 {
			rt.Fatalf("recovering a second time: %v %v", again, err)
		}
		l := d.read(rt)
		if len(l.Steps) != 1 || l.Steps[0].End == nil || !l.Steps[0].End.Interrupted {
			rt.Fatalf("steps: %+v", l.Steps)
		}
		if _, err := d.undo(rt, Request{Steps: closed}); err != nil {
			rt.Fatalf("undo: %v", err)
		}
		if got := snapshot(rt, d.root); got != before {
			rt.Fatalf("after undo:\n%s", apart(got, before))
		}
	})
}

// TestUndoOfTricks: what a hostile program did so that its changes would not come
// back.
func TestUndoOfTricks(t *testing.T) {
	noop := func(t *testing.T, d *desk, name string) {
		d.act(t, Rename, d.at(name), d.at(name), func() error { return os.Rename(d.at(name), d.at(name)) })
	}
	for _, c := range []struct {
		name string
		do   func(t *testing.T, d *desk)
	}{
		{"renamed to itself, written, removed", func(t *testing.T, d *desk) { noop(t, d, "a"); d.write(t, "a", "junk"); d.remove(t, "a") }},
		{"renamed to itself and exchanged", func(t *testing.T, d *desk) {
			noop(t, d, "a")
			d.write(t, "new", "junk")
			d.act(t, Exchange, d.at("new"), d.at("a"), func() error {
				return unix.Renameat2(unix.AT_FDCWD, d.at("new"), unix.AT_FDCWD, d.at("a"), unix.RENAME_EXCHANGE)
			})
		}},
		{"renamed over its other name", func(t *testing.T, d *desk) { d.rename(t, "l1", "l2"); d.write(t, "l2", "junk") }},
		{"written, linked, written by the link", func(t *testing.T, d *desk) {
			d.write(t, "a", "junk")
			d.act(t, Link, d.at("a"), d.at("second"), func() error { return os.Link(d.at("a"), d.at("second")) })
			d.write(t, "second", "more junk")
			d.remove(t, "second")
		}},
		{"written, linked, the first name removed", func(t *testing.T, d *desk) {
			d.write(t, "a", "junk")
			d.act(t, Link, d.at("a"), d.at("second"), func() error { return os.Link(d.at("a"), d.at("second")) })
			d.write(t, "second", "more junk")
			d.remove(t, "a")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			d.begin(t)
			c.do(t, d)
			d.end(t)
			d.close(t)
			if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
				t.Fatalf("undo: %v", err)
			}
			if got := snapshot(t, d.root); got != before {
				t.Fatalf("after undo:\n%s", apart(got, before))
			}
		})
	}
}

// TestUndoStoppedInTheMiddle shows that what was done of several steps is taken back, also
// directories that moved, with names of a file that has others.
func TestUndoStoppedInTheMiddle(t *testing.T) {
	for name, place := range places(t) {
		t.Run(name, func(t *testing.T) {
			d := place.desk(t)
			d.fill(t)
			d.begin(t)
			d.mkdir(t, "p")
			d.rename(t, "l1", "p/l1")
			d.mkdir(t, "q")
			d.mkdir(t, "q/sub")
			d.rename(t, "l2", "q/sub/l2")
			d.mkdir(t, "r")
			d.end(t)
			d.begin(t)
			d.removeAll(t, "p")
			d.rename(t, "q/sub", "r/sub")
			d.end(t)
			d.begin(t)
			d.write(t, "a", "changed")
			d.end(t)
			d.close(t)
			for n := uint64(3); n > 1; n-- {
				if _, err := d.undo(t, Request{Steps: []uint64{n}}); err != nil {
					t.Fatal(err)
				}
			}
			d.stopped(t, "a", Request{Steps: []uint64{5, 4}, Redo: true})
		})
	}
}

// stopped has an undo refused in the middle: at the second change of a name, as the first
// is asked for before anything is done. The tree is as it was then.
func (d *desk) stopped(t *testing.T, name string, req Request) {
	t.Helper()
	before := snapshot(t, d.root)
	asked, no := 0, errors.New("no")
	req.Allow = func(r *Restoration) error {
		if r.Path != d.at(name) {
			return nil
		}
		if asked++; asked == 2 {
			return no
		}
		return nil
	}
	if _, err := d.undo(t, req); !errors.Is(err, no) || errors.Is(err, undo.ErrUnfinished) {
		t.Errorf("asked %d times, and then %v", asked, err)
	}
	if diff := apart(snapshot(t, d.root), before); diff != "" {
		t.Errorf("after it was stopped:\n%s", diff)
	}
}

// TestAFailedUndoLeavesNoCopies: what was kept of a file of several names before it was
// rewritten goes from the history when the file has it again.
func TestAFailedUndoLeavesNoCopies(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	for _, name := range []string{"a", "l1"} {
		d.begin(t)
		d.write(t, name, "changed")
		d.end(t)
	}
	d.close(t)
	d.stopped(t, "a", Request{Steps: []uint64{1, 2}})
	if v, err := d.store.Verify(); err != nil || len(v.Faults) > 0 {
		t.Errorf("%v: %+v", err, v)
	}
}
