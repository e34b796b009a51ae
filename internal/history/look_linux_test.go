package history

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// TestNear: what a change has pinned is looked at there, and only where that is the
// root's own mount.
func TestNear(t *testing.T) {
	d := newDesk(t)
	d.begin(t)
	d.mkdir(t, "dir")
	d.write(t, "dir/a", "text")
	if len(d.w.nearby) != 1 {
		t.Fatalf("%d mounts are known, want the root's", len(d.w.nearby))
	}
	s := d.w.tree.find(d.at("dir/a"))
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
		{d.at("dir"), "a", true, journal.File}, {d.at("dir"), "a/", true, journal.File}, {d.at("dir"), "missing", true, journal.Absent}, {d.root, "dir", true, journal.Dir},
		{d.at("dir"), "..", false, journal.Absent}, {d.at("dir"), ".", false, journal.Absent}, {d.at("dir"), "", false, journal.Absent},
		{"/proc", "self", false, journal.Absent}, {"/proc", "missing", false, journal.Absent}, {"/", "proc", false, journal.Absent},
	} {
		s.via = &via{dir: open(c.dir), name: c.name}
		st, near := d.w.near(s, s.path(), 0)
		if near != c.near || near && st.Kind != c.kind {
			t.Errorf("%s in %s: near %v, %v; want %v, %v", c.name, c.dir, near, st.Kind, c.near, c.kind)
		}
	}
	s.via = nil

	// Renamed by somebody outside on the way: what is pinned counts.
	if err := os.Rename(d.at("dir"), d.at("moved")); err != nil {
		t.Fatal(err)
	}
	s.via = &via{dir: open(d.at("moved")), name: "a"}
	if st, err := d.w.look(s); err != nil || st.Kind != journal.File || st.Size != 4 {
		t.Error(st, err)
	}
	s.via = nil
	d.end(t)
	d.close(t)
}
