package history

import (
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// How long a writer waits at least, and at most, between two looks at a file that is open for
// writing.
const (
	firstLook = 5 * time.Millisecond
	lastLook  = time.Second
)

// open opens a file for writing as the broker does, and makes it where there is none.
func (d *desk) open(t testing.TB, name string) *os.File {
	t.Helper()
	c := Change{Op: Content, Path: d.at(name), Opens: true}
	if _, err := os.Lstat(c.Path); err != nil {
		c.Op = Make
	}
	defer pinNames(&c)()
	if err := d.w.Before(&c); err != nil {
		t.Fatalf("before %q: %v", name, err)
	}
	f, err := os.OpenFile(c.Path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, 0o644)
	d.w.After(&c, err)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// put opens a file, writes a text to it and closes it.
func (d *desk) put(t testing.TB, name, text string) {
	t.Helper()
	f := d.open(t, name)
	_, err := f.WriteString(text)
	if err == nil {
		err = f.Truncate(int64(len(text)))
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

// quiet waits until it is known what the step left in everything that it opened.
func (d *desk) quiet(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		n := d.w.Watched()
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("%d files are not closed", n)
		}
	}
}

// outside writes to a file as another program does.
func (d *desk) outside(t testing.TB, name, text string) {
	t.Helper()
	f, err := os.OpenFile(d.at(name), os.O_WRONLY|os.O_APPEND, 0)
	if err == nil {
		_, err = f.WriteString(text)
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
}

// over ends the step and its segment, and wants the store to be whole.
func (d *desk) over(t testing.TB) *steplog.Step {
	t.Helper()
	d.end(t)
	d.close(t)
	if faults := d.verified(t); len(faults) > 0 {
		t.Errorf("%+v", faults)
	}
	return d.read(t).Step(1)
}

// TestEditedSinceClosed: what another program writes to a file during the step, when
// the step has closed it, is not the step's.
func TestEditedSinceClosed(t *testing.T) {
	for how, edit := range map[string]func(d *desk, name string) error{
		"appended": func(d *desk, name string) error { d.outside(t, name, "by hand"); return nil },
		"time put back": func(d *desk, name string) error {
			st, err := os.Stat(d.at(name))
			if err == nil {
				err = os.WriteFile(d.at(name), []byte("BY THE STEP"), 0o644)
			}
			if err == nil {
				err = os.Chtimes(d.at(name), time.Time{}, st.ModTime())
			}
			return err
		},
		"replaced": func(d *desk, name string) error {
			if err := os.WriteFile(d.at("new"), []byte("by hand"), 0o644); err != nil {
				return err
			}
			return os.Rename(d.at("new"), d.at(name))
		},
		"removed": func(d *desk, name string) error { return os.Remove(d.at(name)) },
	} {
		for _, name := range []string{"found", "made"} {
			d := newDesk(t)
			if err := os.WriteFile(d.at("found"), []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
			d.begin(t)
			d.put(t, "found", "by the step")
			d.put(t, "made", "by the step")
			d.quiet(t)
			if err := edit(d, name); err != nil {
				t.Fatal(err)
			}
			d.over(t)
			v, err := d.undo(t, Request{Steps: []uint64{1}})
			if how == "removed" && name == "made" { // as it is to be
				if err != nil || len(v.Conflicts) > 0 {
					t.Errorf("%s %s: %+v, %v", how, name, v, err)
				}
				continue
			}
			if err == nil || len(v.Conflicts) != 1 || v.Conflicts[0].Path != d.at(name) {
				t.Errorf("%s %s: %+v, %v", how, name, v, err)
			}
		}
	}
}

// TestChangedByTheStepItself: what the step does to a file by its names and to its
// metadata is no edit of another program.
func TestChangedByTheStepItself(t *testing.T) {
	d := newDesk(t)
	if err := os.WriteFile(d.at("found"), []byte("before"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, d.root)
	d.begin(t)
	d.mkdir(t, "dir")
	for _, name := range []string{"found", "moved", "again", "dir/in", "linked", "twice", "one", "other"} {
		d.put(t, name, "by the step: "+name)
	}
	d.quiet(t)
	d.chmod(t, "found", 0o600)
	d.act(t, Meta, d.at("found"), "", func() error { return os.Chtimes(d.at("found"), time.Unix(1e9, 0), time.Unix(1e9, 0)) })
	d.rename(t, "moved", "to")
	d.put(t, "again", "once more")
	d.rename(t, "dir", "other-dir")
	d.act(t, Link, d.at("linked"), d.at("name"), func() error { return os.Link(d.at("linked"), d.at("name")) })
	d.remove(t, "linked")
	d.act(t, Link, d.at("twice"), d.at("second"), func() error { return os.Link(d.at("twice"), d.at("second")) })
	d.act(t, Exchange, d.at("one"), d.at("other"), func() error {
		return unix.Renameat2(unix.AT_FDCWD, d.at("one"), unix.AT_FDCWD, d.at("other"), unix.RENAME_EXCHANGE)
	})
	s := d.over(t)
	if len(s.Between()) > 0 {
		t.Errorf("kept: %v", d.betweens(t, s))
	}
	for _, q := range s.Posts() {
		if q.Late {
			t.Errorf("%q: late", q.Path)
		}
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Error(err)
	}
	if got := snapshot(t, d.root); got != before {
		t.Error(apart(got, before))
	}
}

// TestStillOpen: while the step has a file open, or mapped, all of it is the step's.
func TestStillOpen(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	f := d.open(t, "f")
	if err := f.Truncate(4096); err != nil {
		t.Fatal(err)
	}
	rw, err := os.OpenFile(d.at("f"), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	m, err := unix.Mmap(int(rw.Fd()), 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil || rw.Close() != nil || f.Close() != nil {
		t.Fatal(err)
	}
	time.Sleep(10 * firstLook)
	d.outside(t, "f", "by hand")
	m[0] = 'x'
	if err := unix.Munmap(m); err != nil {
		t.Fatal(err)
	}
	d.quiet(t)
	d.over(t)
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Error(err)
	}
}

// TestSeveralNames: a file is one file by all of its names: a write of the step's by
// another name is no edit, one of another program's is.
func TestSeveralNames(t *testing.T) {
	for _, edited := range []string{"", "a", "b", "outside"} {
		d := newDesk(t)
		for _, name := range []string{"a", "own"} {
			if err := os.WriteFile(d.at(name), []byte("before"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		beside := t.TempDir() + "/c"
		if err := errors.Join(os.Link(d.at("a"), d.at("b")), os.Link(d.at("a"), beside)); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, d.root)
		link := func(from, to string) {
			d.act(t, Link, d.at(from), d.at(to), func() error { return os.Link(d.at(from), d.at(to)) })
		}
		d.begin(t)
		d.put(t, "a", "by the step")
		d.quiet(t)
		d.put(t, "b", "by the step again")
		link("b", "more")
		d.put(t, "made", "by the step")
		link("made", "twice")
		d.put(t, "own", "by the step")
		d.quiet(t)
		link("own", "other")
		d.put(t, "other", "by the other name")
		d.put(t, "twice", "by the other name")
		d.quiet(t)
		d.remove(t, "more")
		d.chmod(t, "twice", 0o600)
		switch edited {
		case "":
		case "outside":
			if err := os.WriteFile(beside, []byte("by hand"), 0o644); err != nil {
				t.Fatal(err)
			}
		default:
			d.outside(t, edited, "by hand")
		}
		s := d.over(t)
		if len(s.Between()) > 0 {
			t.Errorf("kept: %v", d.betweens(t, s))
		}
		_, err := d.undo(t, Request{Steps: []uint64{1}})
		if (err != nil) != (edited != "") {
			t.Errorf("edited %q: %v", edited, err)
		}
		if got := snapshot(t, d.root); edited == "" && got != before {
			t.Error(apart(got, before))
		}
	}
}

// TestSumOfWhatWasLeft: the content is looked at when the file is closed, so that who
// puts the same bytes there causes no conflict.
func TestSumOfWhatWasLeft(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	d.put(t, "f", "by the step")
	d.quiet(t)
	d.outside(t, "f", "more")
	if err := os.WriteFile(d.at("f"), []byte("by the step"), 0o644); err != nil {
		t.Fatal(err)
	}
	if q, _ := d.over(t).PostOf(d.at("f")); len(q.State.Sum) == 0 {
		t.Errorf("%+v", q)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Error(err)
	}
}

// TestManyClosed: a writer that is closed leaves nothing behind that looks.
func TestManyClosed(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	var open []*os.File
	for _, name := range slices.Sorted(slices.Values([]string{"a", "b", "c"})) {
		open = append(open, d.open(t, name))
	}
	d.kill()
	for _, f := range open {
		f.Close()
	}
	if _, err := d.store.Recover([]string{d.root}); err != nil {
		t.Error(err)
	}
}

// TestOwnChangesAreNoEdits: whatever a step does, and however long it takes, nothing of it
// counts as what another program wrote.
func TestOwnChangesAreNoEdits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(rt, d.root)
		d.opens = true
		d.begin(rt)
		for range rapid.IntRange(1, 12).Draw(rt, "changes") {
			d.random(rt)
			switch rapid.IntRange(0, 3).Draw(rt, "pause") {
			case 0:
				d.quiet(t)
			case 1:
				time.Sleep(firstLook)
			}
		}
		d.end(rt)
		d.close(rt)
		s := d.read(rt).Step(1)
		if len(s.Between()) > 0 {
			rt.Errorf("kept: %v", d.betweens(t, s))
		}
		if _, err := d.undo(rt, Request{Steps: []uint64{1}}); err != nil {
			rt.Errorf("undo: %v", err)
		}
		if got := snapshot(rt, d.root); got != before {
			rt.Error(apart(got, before))
		}
	})
}

// TestClosedBesideOpen: a file that stays open does not keep others from being looked at.
func TestClosedBesideOpen(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	f := d.open(t, "open")
	defer f.Close()
	time.Sleep(2 * lastLook) // by then it is looked at as rarely as can be
	d.put(t, "closed", "by the step")
	time.Sleep(lastLook / 5)
	if n := d.w.Watched(); n != 1 {
		t.Errorf("%d files are taken to be open", n)
	}
	d.end(t)
	d.close(t)
	s := d.read(t).Step(1)
	for name, late := range map[string]bool{"open": true, "closed": false} {
		if q, ok := s.PostOf(d.at(name)); !ok || q.Late != late {
			t.Errorf("%s: %+v", name, q)
		}
	}
}

// TestNamedLater: a file that gets its first name while it is open for writing.
func TestNamedLater(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	fd, err := unix.Open(d.root, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o644)
	if err != nil {
		t.Fatal(err)
	}
	d.act(t, Link, d.at("#1 (deleted)"), d.at("f"), func() error {
		return unix.Linkat(unix.AT_FDCWD, disk.ProcPath(fd), unix.AT_FDCWD, d.at("f"), unix.AT_SYMLINK_FOLLOW)
	})
	_, err = unix.Write(fd, []byte("by the step"))
	if e := unix.Close(fd); err != nil || e != nil {
		t.Fatal(err, e)
	}
	d.quiet(t)
	d.outside(t, "f", "by hand")
	d.over(t)
	if v, err := d.undo(t, Request{Steps: []uint64{1}}); err == nil || len(v.Conflicts) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
}

// TestGivenByTheStepBefore: a descriptor that outlives a step is the next step's, until
// it is closed.
func TestGivenByTheStepBefore(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	f := d.open(t, "f")
	if _, err := f.WriteString("one "); err != nil {
		t.Fatal(err)
	}
	if n, err := d.w.End(0, &journal.Begin{Kind: journal.StepRun}); n == 0 || err != nil {
		t.Fatal(n, err)
	}
	if _, err := f.WriteString("two "); err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	d.quiet(t)
	d.outside(t, "f", "by hand")
	d.over(t)
	if v, err := d.undo(t, Request{Steps: []uint64{2}}); err == nil || len(v.Conflicts) != 1 {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{2}, Mode: journal.KeepBoth}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(d.at("f")); string(got) != "one " {
		t.Errorf("undone: %q, %v", got, err)
	}
	if got, err := os.ReadFile(d.at("f.undo-conflict")); string(got) != "one two by hand" {
		t.Errorf("kept beside: %q, %v", got, err)
	}
}

// TestClosedAmongRenames: renames of other files do not keep a file from being seen.
func TestClosedAmongRenames(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.put(t, "f", "by the step")
	for range 20 {
		d.act(t, Rename, d.at("a"), d.at("b"), func() error { time.Sleep(2 * firstLook); return os.Rename(d.at("a"), d.at("b")) })
		d.rename(t, "b", "a")
		if d.w.Watched() == 0 {
			d.over(t)
			return
		}
	}
	t.Error("it is not seen that it is closed")
}
