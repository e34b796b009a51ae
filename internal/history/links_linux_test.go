package history

import (
	"errors"
	"fmt"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// tangle makes files of which some have a second name that no change touches, and
// some two that are.
func (d *desk) tangle(t fataler) {
	t.Helper()
	for i, do := range []func() error{
		func() error { return os.Mkdir(d.at("d"), 0o755) },
		func() error { return os.WriteFile(d.at("a"), []byte("first"), 0o644) },
		func() error { return os.WriteFile(d.at("b"), []byte("the second"), 0o600) },
		func() error { return os.WriteFile(d.at("c"), []byte("third"), 0o644) },
		func() error { return os.WriteFile(d.at("d/e"), nil, 0o644) },
		func() error { return os.Link(d.at("a"), d.at("other-a")) },
		func() error { return os.Link(d.at("d/e"), d.at("d/other-e")) },
		func() error { return os.Link(d.at("b"), d.at("d/b")) },
		func() error { return os.Link(d.at("b"), d.at("d/other-b")) },
	} {
		if err := do(); err != nil {
			t.Fatalf("%d: %v", i, err)
		}
	}
	for i, name := range []string{"a", "b", "c", "d/e", "d", "."} {
		ts := []unix.Timespec{{Sec: 1e9, Nsec: 7}, {Sec: 1e9, Nsec: int64(i)*1000 + 1}}
		if err := unix.UtimesNanoAt(unix.AT_FDCWD, d.at(name), ts, 0); err != nil {
			t.Fatalf("%v", err)
		}
	}
}

// knot changes names and contents of files with several names; held are
// descriptors that write without asking.
func (d *desk) knot(t *rapid.T, held []*os.File) []*os.File {
	names := []string{"a", "b", "c", "d/e", "d/b", "n", "d/n"}
	name, to := rapid.SampledFrom(names).Draw(t, "name"), rapid.SampledFrom(names).Draw(t, "to")
	at, there := d.at(name), d.at(to)
	_, err := os.Lstat(at)
	switch rapid.SampledFrom([]string{"open", "open", "remove", "rename", "link", "exchange", "meta", "late"}).Draw(t, "op") {
	case "open":
		op, flags := Content, os.O_RDWR
		if err != nil {
			op, flags = Make, os.O_RDWR|os.O_CREATE|os.O_EXCL
		}
		if rapid.Bool().Draw(t, "truncate") {
			flags |= os.O_TRUNC
		}
		d.opens = true
		defer func() { d.opens = false }()
		d.act(t, op, at, "", func() error {
			f, err := os.OpenFile(at, flags, 0o640)
			if err != nil {
				return err
			}
			_, _ = f.WriteString(rapid.SampledFrom([]string{"", "x", "new", "something longer"}).Draw(t, "text"))
			if rapid.Bool().Draw(t, "held") {
				held = append(held, f)
			} else {
				f.Close()
			}
			return nil
		})
	case "remove":
		if err == nil {
			d.remove(t, name)
		}
	case "rename":
		if err == nil {
			d.rename(t, name, to)
		}
	case "link":
		if _, e := os.Lstat(there); err == nil && e != nil {
			d.act(t, Link, at, there, func() error { return os.Link(at, there) })
		}
	case "exchange":
		if _, e := os.Lstat(there); err == nil && e == nil {
			d.act(t, Exchange, at, there, func() error { return unix.Renameat2(unix.AT_FDCWD, at, unix.AT_FDCWD, there, unix.RENAME_EXCHANGE) })
		}
	case "meta":
		if err == nil {
			ts := []unix.Timespec{{Sec: 1, Nsec: 1}, {Sec: rapid.Int64Range(1, 1e9).Draw(t, "time")}}
			d.times = true
			defer func() { d.times = false }()
			d.act(t, Meta, at, "", func() error { return unix.UtimesNanoAt(unix.AT_FDCWD, at, ts, 0) })
		}
	case "late":
		if len(held) > 0 {
			i := rapid.IntRange(0, len(held)-1).Draw(t, "which")
			_, _ = held[i].WriteAt([]byte("late"), 1)
			t.Logf("late %s", held[i].Name())
		}
	}
	return held
}

// knots makes one step of such changes, and gives the trees before and after it.
func (d *desk) knots(t *rapid.T) (before, after string) {
	d.tangle(t)
	before = snapshot(t, d.root)
	d.begin(t)
	var held []*os.File
	for range rapid.IntRange(1, 12).Draw(t, "changes") {
		held = d.knot(t, held)
	}
	for _, f := range held {
		f.Close()
	}
	after = snapshot(t, d.root)
	d.end(t)
	d.close(t)
	return before, after
}

// TestUndoOfKnots: files with several names, of which a step knows some.
func TestUndoOfKnots(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		defer d.gone()
		before, after := d.knots(rt)
		for i := range 2 {
			d.thereAndBack(rt, fmt.Sprint(i), before, after)
		}
	})
}

// thereAndBack takes the first step back and makes it again.
func (d *desk) thereAndBack(t *rapid.T, when, before, after string) {
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatalf("undo %s: %v", when, err)
	}
	if got := snapshot(t, d.root); got != before {
		t.Fatalf("after undo %s:\n%s", when, apart(got, before))
	}
	l := d.read(t)
	if _, err := d.undo(t, Request{Steps: []uint64{l.Steps[len(l.Steps)-1].Number}, Redo: true}); err != nil {
		t.Fatalf("redo %s: %v", when, err)
	}
	if got := snapshot(t, d.root); got != after {
		t.Fatalf("after redo %s:\n%s", when, apart(got, after))
	}
}

// gone removes a desk whose test makes many.
func (d *desk) gone() {
	d.store.Close()
	_ = os.RemoveAll(d.root)
	_ = os.RemoveAll(d.store.Dir())
}

// TestUndoOfKnotsInSteps: the same in several steps, with descriptors that outlive
// them.
func TestUndoOfKnotsInSteps(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		defer d.gone()
		d.tangle(rt)
		trees := []string{snapshot(rt, d.root)}
		d.begin(rt)
		var held []*os.File
		for range rapid.IntRange(2, 4).Draw(rt, "steps") {
			for range rapid.IntRange(1, 5).Draw(rt, "changes") {
				held = d.knot(rt, held)
			}
			trees = append(trees, snapshot(rt, d.root))
			n, err := d.w.End(0, &journal.Begin{Kind: journal.StepRun})
			if err != nil {
				rt.Fatalf("end: %v", err)
			}
			if n == 0 {
				d.begin(rt)
			}
			rt.Logf("-- the next step")
		}
		for _, f := range held {
			f.Close()
		}
		d.end(rt)
		d.close(rt)
		l := d.read(rt)
		last := l.Steps[len(l.Steps)-1]
		if len(l.Steps) != len(trees) {
			rt.Fatalf("%d steps for %d trees", len(l.Steps), len(trees))
		}
		trees = append(trees, trees[len(trees)-1]) // the last one did nothing
		k := rapid.IntRange(1, len(l.Steps)).Draw(rt, "taken back")
		var numbers []uint64
		for i := range k {
			numbers = append(numbers, last.Number-uint64(i))
		}
		if rapid.Bool().Draw(rt, "at once") {
			if _, err := d.undo(rt, Request{Steps: numbers}); err != nil {
				rt.Fatalf("undo of %d: %v", k, err)
			}
			numbers = nil
		}
		for j, n := range numbers {
			if _, err := d.undo(rt, Request{Steps: []uint64{n}}); err != nil {
				rt.Fatalf("undo of step %d: %v", n, err)
			}
			if got, want := snapshot(rt, d.root), trees[len(trees)-2-j]; got != want {
				rt.Fatalf("after undo of step %d:\n%s", n, apart(got, want))
			}
		}
		if got, want := snapshot(rt, d.root), trees[len(trees)-1-k]; got != want {
			rt.Fatalf("after undo of %d:\n%s", k, apart(got, want))
		}
		for n := last.Number - uint64(k) + 1; n <= last.Number; n++ {
			l = d.read(rt)
			if _, err := d.undo(rt, Request{Steps: []uint64{undoOf(l, l.Step(n)).Number}, Redo: true}); err != nil {
				rt.Fatalf("redo of %d: %v", n, err)
			}
			if got, want := snapshot(rt, d.root), trees[n]; got != want {
				rt.Fatalf("after redo of %d:\n%s", n, apart(got, want))
			}
		}
	})
}

// TestRedoOfAWriteByALink: a step that knows a file by one of its names only is made
// again after an undo took that name away, and a redo brought it back.
func TestRedoOfAWriteByALink(t *testing.T) {
	d := newDesk(t)
	d.tangle(t)
	trees := []string{snapshot(t, d.root)}
	for _, do := range []func(){
		func() {
			d.act(t, Link, d.at("d/e"), d.at("d/n"), func() error { return os.Link(d.at("d/e"), d.at("d/n")) })
		},
		func() { d.write(t, "d/n", "by the other name") },
	} {
		d.begin(t)
		do()
		d.end(t)
		trees = append(trees, snapshot(t, d.root))
	}
	d.close(t)
	for _, n := range []uint64{2, 1} {
		if _, err := d.undo(t, Request{Steps: []uint64{n}}); err != nil {
			t.Fatalf("undo of %d: %v", n, err)
		}
	}
	for _, n := range []uint64{1, 2} {
		l := d.read(t)
		if _, err := d.undo(t, Request{Steps: []uint64{undoOf(l, l.Step(n)).Number}, Redo: true}); err != nil {
			t.Fatalf("redo of %d: %v", n, err)
		}
		if got := snapshot(t, d.root); got != trees[n] {
			t.Fatalf("after redo of %d:\n%s", n, apart(got, trees[n]))
		}
	}
}

// TestUndoOfAFileThatMoves: one after the other, of a file that each step writes
// and one moves.
func TestUndoOfAFileThatMoves(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	trees := []string{snapshot(t, d.root)}
	for _, do := range []func(){
		func() { d.write(t, "n", "1") },
		func() { d.write(t, "n", "22"); d.rename(t, "n", "dir/n") },
		func() { d.write(t, "dir/n", "333") },
	} {
		d.begin(t)
		do()
		d.end(t)
		trees = append(trees, snapshot(t, d.root))
	}
	d.close(t)
	for range 2 {
		for n := uint64(3); n > 0; n-- {
			if _, err := d.undo(t, Request{Steps: []uint64{n}}); err != nil {
				t.Fatalf("undo of %d: %v", n, err)
			}
			if got := snapshot(t, d.root); got != trees[n-1] {
				t.Fatalf("after undo of %d:\n%s", n, apart(got, trees[n-1]))
			}
		}
		for n := uint64(1); n <= 3; n++ {
			l := d.read(t)
			if _, err := d.undo(t, Request{Steps: []uint64{undoOf(l, l.Step(n)).Number}, Redo: true}); err != nil {
				t.Fatalf("redo of %d: %v", n, err)
			}
			if got := snapshot(t, d.root); got != trees[n] {
				t.Fatalf("after redo of %d:\n%s", n, apart(got, trees[n]))
			}
		}
	}
}

// TestStaleNames: a change of what a path meant when it was looked up is refused,
// and begins again, where the name is gone and the file has another.
func TestStaleNames(t *testing.T) {
	t.Run("by path", func(t *testing.T) { staleNames(t, false) })
	t.Run("by directory", func(t *testing.T) { staleNames(t, true) })
}

func staleNames(t *testing.T, byDir bool) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	pin, err := unix.Open(d.at("l1"), unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pin)
	dir, err := unix.Open(d.root, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	st, err := disk.StateAt(pin, "", 0)
	if err != nil {
		t.Fatal(err)
	}
	change := func(op Op) Change {
		c := Change{Op: op, Path: d.at("l1"), Pinned: pin}
		if byDir {
			c.Dir, c.Name, c.Is = dir, "l1", journal.ID{Dev: st.ID.Dev, Ino: st.ID.Ino}
		}
		return c
	}
	for _, op := range []Op{Content, Meta} {
		c := change(op)
		if err := d.w.Before(&c); err != nil {
			t.Errorf("%d of what is there: %v", op, err)
		}
		d.w.After(&c, nil)
	}
	d.remove(t, "l1")
	for range 2 {
		for _, op := range []Op{Content, Meta} {
			c := change(op)
			if err := d.w.Before(&c); err != unix.ESTALE {
				t.Errorf("%d of what is called otherwise by now: %v", op, err)
			}
		}
		d.write(t, "l1", "something else")
	}
	d.end(t)
	d.close(t)
}

// undoOf gives the undo that a step is taken back by now.
func undoOf(l *Log, s *steplog.Step) *steplog.Step {
	for range l.Steps {
		u := l.Step(s.UndoneBy)
		if u == nil || u.UndoneBy == 0 {
			return u
		}
		if s = l.Step(u.UndoneBy); s == nil {
			return nil
		}
	}
	return nil
}

// TestTimesByALinkOfTheStep: times that a step sets by a name that it made are its own, by
// all names of the file.
func TestTimesByALinkOfTheStep(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	before := snapshot(t, d.root)
	d.begin(t)
	d.link(t, "a", "n")
	d.act(t, Meta, d.at("n"), "", func() error { return os.Chtimes(d.at("n"), time.Unix(5, 0), time.Unix(5, 0)) })
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Error(err)
	}
	if got := snapshot(t, d.root); got != before {
		t.Error(apart(got, before))
	}
}

// TestUndoOfAFileThatLivedOutside: the content that a step wrote is taken back although a
// later one, which is taken back with it, had removed the file's only name in the project.
func TestUndoOfAFileThatLivedOutside(t *testing.T) {
	d := newDesk(t)
	outside := t.TempDir() + "/h"
	if err := errors.Join(os.Mkdir(d.at("d"), 0o755), os.WriteFile(d.at("d/f"), nil, 0o644), os.Link(d.at("d/f"), outside)); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, d.root)
	d.begin(t)
	d.write(t, "d/f", "written")
	d.end(t)
	d.begin(t)
	d.chmod(t, "d/f", 0)
	d.remove(t, "d/f")
	d.remove(t, "d")
	d.end(t)
	d.close(t)
	if _, err := d.undo(t, Request{Steps: []uint64{2, 1}}); err != nil {
		t.Error(err)
	}
	if got := snapshot(t, d.root); got != before {
		t.Error(apart(got, before))
	}
	if data, err := os.ReadFile(outside); err != nil || len(data) > 0 {
		t.Errorf("by the name outside: %q %v", data, err)
	}
}
