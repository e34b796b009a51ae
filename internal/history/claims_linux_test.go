package history

import (
	"errors"
	"os"
	"strings"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/writer"

	"golang.org/x/sys/unix"
)

// TestSizeAndTimeHideNothing: whoever changes a file and gives it its size and time
// back, in place or by another file, has changed it.
func TestSizeAndTimeHideNothing(t *testing.T) {
	for _, other := range []bool{false, true} {
		d := newDesk(t)
		d.fill(t)
		var was unix.Stat_t
		if err := unix.Lstat(d.at("a"), &was); err != nil {
			t.Fatal(err)
		}
		name := map[bool]string{false: "a", true: "b"}[other]
		d.begin(t)
		d.write(t, name, strings.Repeat("x", int(was.Size)))
		d.act(t, Meta, d.at(name), "", func() error {
			return unix.UtimesNanoAt(unix.AT_FDCWD, d.at(name), []unix.Timespec{was.Atim, was.Mtim}, 0)
		})
		if other {
			d.rename(t, "b", "a")
		}
		d.end(t)
		d.close(t)
		changes := d.read(t).Steps[0].Changes()
		if len(changes) != 1 || changes[0].What != steplog.Modified || changes[0].Path != d.at("a") {
			t.Errorf("by another file: %v: %+v", other, changes)
		}
	}
}

// TestLongCommands: a command line of any length has steps that can be read.
func TestLongCommands(t *testing.T) {
	for _, argv := range [][]string{make([]string, 1<<18), {"sh", strings.Repeat("x", 1<<20)}} {
		d := newDesk(t)
		d.fill(t)
		w, err := d.store.NewWriter("test", []string{d.root})
		if err != nil {
			t.Fatal(err)
		}
		d.w = w
		if _, err := w.Begin(journal.Begin{Kind: journal.StepRun, Command: Argv(argv)}); err != nil {
			t.Fatal(err)
		}
		d.remove(t, "a")
		d.end(t)
		d.close(t)
		if got := d.read(t).Steps; len(got) != 1 || !got[0].Net() {
			t.Errorf("%d words: %v", len(argv), got)
		}
	}
}

// TestResidentsOfOlderSteps: what lies in a directory that goes with an older step
// of several is found before anything is changed.
func TestResidentsOfOlderSteps(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	for _, do := range []func(){
		func() { d.mkdir(t, "made"); d.write(t, "made/f", "one") },
		func() { d.rename(t, "made", "moved"); d.write(t, "moved/later", "two") },
		func() { d.write(t, "a", "three") },
	} {
		d.begin(t)
		do()
		d.end(t)
	}
	d.close(t)
	all := Request{Steps: []uint64{3, 2, 1}, Roots: []string{d.root}}
	if v, err := d.store.Preview(d.read(t), all); err != nil || len(v.Conflicts) > 0 {
		t.Errorf("nobody's: %v %+v", err, v)
	}
	if err := os.WriteFile(d.at("moved/mine"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	v, err := d.store.Preview(d.read(t), all)
	if err != nil || len(v.Conflicts) != 0 || len(v.LeftAlone) != 1 || v.LeftAlone[0].Path != d.at("moved") {
		t.Errorf("with a file of the user: %v %+v", err, v)
	}
	if _, err := d.undo(t, all); err != nil {
		t.Errorf("undo: %v", err)
	}
	if got := snapshot(t, d.at("made")); !strings.Contains(got, "mine") || strings.Contains(got, "later") {
		t.Errorf("the directory stays with what is in it that is not the steps':\n%s", got)
	}
}

// TestWrittenWhereNobodySearches: a directory that may not be searched by the end of
// a step hides no file in it from being kept for the next.
func TestWrittenWhereNobodySearches(t *testing.T) {
	asUser(t, "TestWrittenWhereNobodySearches")
	for _, name := range []string{"dir/f", "l1"} {
		d := newDesk(t)
		d.fill(t)
		if err := os.Link(d.at("l1"), d.at("dir/l3")); err != nil {
			t.Fatal(err)
		}
		before := snapshot(t, d.root)
		d.begin(t)
		var f *os.File
		d.act(t, Content, d.at(name), "", func() (err error) {
			f, err = os.OpenFile(d.at(name), os.O_RDWR, 0)
			return err
		})
		defer f.Close()
		if name == "l1" { // by other names, of which that in the directory is the last
			d.remove(t, "l1")
			d.remove(t, "l2")
		}
		d.chmod(t, "dir", 0o200)
		n, err := d.w.End(0, &journal.Begin{Kind: journal.StepRun})
		if n != 2 || err != nil {
			t.Fatalf("%s: %d, %v", name, n, err)
		}
		if _, err := f.WriteString("late"); err != nil {
			t.Fatal(err)
		}
		d.end(t)
		d.close(t)
		for _, n := range []uint64{2, 1} {
			if _, err := d.undo(t, Request{Steps: []uint64{n}}); err != nil {
				t.Fatalf("%s: undo of %d: %v", name, n, err)
			}
		}
		if got := snapshot(t, d.root); got != before {
			t.Errorf("%s:\n%s", name, apart(got, before))
		}
	}
}

// TestFullJournal: a journal that has become long takes no more changes, and ends.
func TestFullJournal(t *testing.T) {
	defer func(was int64) { writer.MaxJournal = was }(writer.MaxJournal)
	writer.MaxJournal = 4 << 10
	d := newDesk(t)
	d.fill(t)
	before := snapshot(t, d.root)
	d.begin(t)
	var err error
	for range 1000 {
		for _, names := range [][2]string{{"a", "b"}, {"b", "a"}} {
			c := Change{Op: Rename, Path: d.at(names[0]), To: d.at(names[1])}
			if err = d.w.Before(&c); err != nil {
				break
			}
			d.w.After(&c, os.Rename(c.Path, c.To))
		}
		if err != nil {
			break
		}
	}
	if !errors.Is(err, unix.EDQUOT) {
		t.Errorf("got %v", err)
	}
	d.end(t)
	d.close(t)
	if n := d.read(t).Steps[0].Number; n != 1 {
		t.Errorf("step %d", n)
	}
	writer.MaxJournal = 2 << 30
	if _, err := d.undo(t, Request{Steps: []uint64{1}}); err != nil {
		t.Fatal(err)
	}
	if got := snapshot(t, d.root); got != before {
		t.Errorf("undone:\n%s", apart(got, before))
	}
}

// TestCopiedOver: a file whose copy takes the place of another is kept as well.
func TestCopiedOver(t *testing.T) {
	for _, killedThen := range []bool{false, true} {
		d := newDesk(t)
		d.fill(t)
		before := snapshot(t, d.root)
		d.begin(t)
		c := Change{Op: Rename, Path: d.at("a"), To: d.at("dir/f"), Copied: true}
		if err := d.w.Before(&c); err != nil {
			t.Fatal(err)
		}
		err := errors.Join(os.WriteFile(d.at("copy"), []byte("content of a"), 0o600), os.Rename(d.at("copy"), c.To), os.Remove(c.Path))
		if err != nil {
			t.Fatal(err)
		}
		if killedThen {
			d.kill()
			d.recover(t)
		} else {
			d.w.After(&c, nil)
			d.end(t)
			d.close(t)
		}
		after := snapshot(t, d.root)
		d.undoAndRedo(t, "copied", before, after)
	}
}
