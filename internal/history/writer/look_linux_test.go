package writer

import (
	"os"
	"testing"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// TestNear: what a change has pinned is looked at there, and only where that is the
// root's own mount.
func TestNear(t *testing.T) {
	d := NewDesk(t)
	root, err := unix.Open(d.Root, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(root)
	d.Change(t, Change{Op: Make, Path: d.At("dir"), Dir: root, Name: "dir"}, func() error { return os.Mkdir(d.At("dir"), 0o755) })
	d.Put(t, "dir/a", "text")
	if len(d.W.nearby) != 1 {
		t.Fatalf("%d mounts are known, want the root's", len(d.W.nearby))
	}
	s := d.W.tree.find(d.At("dir/a"))
	open := func(path string) int {
		fd, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { unix.Close(fd) })
		return fd
	}
	for _, c := range []struct {
		dir, name string
		near      bool
		kind      journal.Kind
	}{
		{d.At("dir"), "a", true, journal.File}, {d.At("dir"), "a/", true, journal.File}, {d.At("dir"), "missing", true, journal.Absent}, {d.Root, "dir", true, journal.Dir},
		{d.At("dir"), "..", false, journal.Absent}, {d.At("dir"), ".", false, journal.Absent}, {d.At("dir"), "", false, journal.Absent},
		{"/proc", "self", false, journal.Absent}, {"/proc", "missing", false, journal.Absent}, {"/", "proc", false, journal.Absent},
	} {
		s.via = &via{dir: open(c.dir), name: c.name}
		st, near := d.W.near(s, s.path(), 0)
		if near != c.near || near && st.Kind != c.kind {
			t.Errorf("%s in %s: near %v, %v; want %v, %v", c.name, c.dir, near, st.Kind, c.near, c.kind)
		}
	}
	s.via = nil

	// Renamed by somebody outside on the way: what is pinned counts.
	if err := os.Rename(d.At("dir"), d.At("moved")); err != nil {
		t.Fatal(err)
	}
	s.via = &via{dir: open(d.At("moved")), name: "a"}
	if st, err := d.W.look(s); err != nil || st.Kind != journal.File || st.Size != 4 {
		t.Error(st, err)
	}
	s.via = nil
	d.Over(t)
}
