package writer

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"carrel/internal/history/journal"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
)

// Desk is a root with a store, and a writer in an open step.
type Desk struct {
	Root  string
	Store *store.Store
	W     *Writer
}

// NewDesk begins the first step.
func NewDesk(t testing.TB) *Desk {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	d := &Desk{Root: base + "/root"}
	if err == nil {
		err = os.Mkdir(d.Root, 0o755)
	}
	if err == nil {
		d.Store, err = store.Open(base + "/store")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Store.Close)
	if d.W, err = New(d.Store, "test", []string{d.Root}); err == nil {
		_, err = d.W.Begin(journal.Begin{Kind: journal.StepRun})
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// At is a path in the root.
func (d *Desk) At(name string) string { return d.Root + "/" + name }

// Change makes a change as the broker does: told, made, told.
func (d *Desk) Change(t testing.TB, c Change, do func() error) {
	t.Helper()
	if err := d.W.Before(&c); err != nil {
		t.Fatalf("before %q: %v", c.Path, err)
	}
	err := do()
	if d.W.After(&c, err); err != nil {
		t.Fatal(err)
	}
}

// Put makes a file that the step opens for writing, and closes it.
func (d *Desk) Put(t testing.TB, name, text string) {
	t.Helper()
	dir, err := unix.Open(filepath.Dir(d.At(name)), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(dir)
	c := Change{Op: Make, Path: d.At(name), Dir: dir, Name: filepath.Base(name), Opens: true}
	d.Change(t, c, func() error { return os.WriteFile(c.Path, []byte(text), 0o644) })
}

// Quiet waits until it is known what the step left in everything that it opened.
func (d *Desk) Quiet(t testing.TB) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); d.W.Watched() > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("%d files are not closed", d.W.Watched())
		}
	}
}

// Over ends the step and its segment, and reads it. It wants the store to be whole.
func (d *Desk) Over(t testing.TB) *store.Log {
	t.Helper()
	_, err := d.W.End(0, nil)
	if e := d.W.Close(); err != nil || e != nil {
		t.Fatal(err, e)
	}
	l, err := d.Store.Survey()
	if err != nil || len(l.Damaged) > 0 {
		t.Fatal(err, l)
	}
	if v, err := d.Store.Verify(); err != nil || len(v.Faults) > 0 {
		t.Errorf("%+v, %v", v, err)
	}
	return l
}

// FillWatched takes the place of all files that can be watched at once by one that is there.
func (d *Desk) FillWatched(name string) {
	d.W.mu.Lock()
	defer d.W.mu.Unlock()
	for range maxWatched {
		d.W.grants.of[&grant{names: []*object{d.W.tree.find(d.At(name)).is}, due: time.Now().Add(time.Hour)}] = true
	}
}

// WithinTick has the step have seen a file closed at the times that it has now, so late that
// the clock of the kernel does not tell what is written since.
func (d *Desk) WithinTick(name string, now *journal.State) {
	g := d.W.tree.find(d.At(name)).is.grant()
	g.left.Mtime, g.left.Ctime, g.tick = now.Mtime, now.Ctime, true
}

// FirstPause is how long a file is not looked at after it was opened for writing.
const FirstPause = firstPause
