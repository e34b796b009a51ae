package writer

import (
	"strings"
	"sync/atomic"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// location is where something is: a name in a directory, or with no name what is pinned
// itself.
type location struct {
	dir  int
	name string
	of   *opened
}

func (l *location) close() { l.of.release() }

// opened is a directory on a root's own mount: from that of the workspace nothing can be
// linked into the store. It stays open for the next change in it, by any thread.
//
// While it is open, no other directory has its inode number. So it is what a change has
// pinned if the two numbers are the same, wherever either has been moved to.
type opened struct {
	fd    int
	id    journal.ID // without the time of its birth
	users atomic.Int32
}

func (o *opened) release() {
	if o != nil && o.users.Add(-1) == 0 {
		unix.Close(o.fd)
	}
}

// reach opens the directory that holds a slot, or the slot itself with no name: by its
// path, and where that may not be searched by what the change has pinned.
func (w *view) reach(s *slot, path string) (location, error) {
	v := s.via
	known := v != nil && v.dir > 0 && v.in != (journal.ID{})
	if last := w.lastDir; known && last != nil && last.id == v.in {
		last.users.Add(1)
		return location{last.fd, strings.TrimRight(v.name, "/"), last}, nil
	}
	dir, name, byPath, err := w.reached(s, path)
	if err != nil {
		return location{}, err
	}
	o := &opened{fd: dir}
	o.users.Add(1)
	if known && byPath && name == strings.TrimRight(v.name, "/") {
		if st, err := disk.StateAt(dir, "", 0); err == nil && st.ID.Dev == v.in.Dev && st.ID.Ino == v.in.Ino {
			w.leaveDir()
			o.id, w.lastDir = v.in, o
			o.users.Add(1)
		}
	}
	return location{dir, name, o}, nil
}

// leaveDir lets go of the directory in which something was kept last.
func (w *view) leaveDir() {
	w.lastDir.release()
	w.lastDir = nil
}
