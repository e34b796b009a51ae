package history

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"
)

const otherMount = "it is on another file system, mounted in the project"

// look gives the state of what is at a slot on the disk.
func (w *Writer) look(s *slot) (State, error) {
	at := s.path()
	dir, name, err := w.reach(s, at)
	if missing(err) {
		return State{}, nil
	}
	if err != nil {
		return State{}, fmt.Errorf("looking at %q: %w", at, err)
	}
	defer unix.Close(dir)
	return stateAt(dir, name, withXattrs)
}

// sameFile says whether two names mean one object: a rename between them does
// nothing, and so does an exchange.
func (w *Writer) sameFile(s, to *slot) (bool, error) {
	if s == to {
		return true, nil
	}
	a, err := w.look(s)
	if err != nil || a.Kind != File || a.Links < 2 {
		return false, err
	}
	b, err := w.look(to)
	return a.ID == b.ID, err
}

// reach opens the directory that holds a slot, or the slot itself with no name:
// by its path, and where that may not be searched by what the change has pinned.
func (w *Writer) reach(s *slot, path string) (int, string, error) {
	dir, name, err := w.parent(path)
	if err == nil && s.via != nil && s.via.pinned > 0 && unix.Faccessat2(dir, "", unix.X_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) == unix.EACCES {
		unix.Close(dir)
		err = unix.EACCES
	}
	gone := missing(err) && s.via != nil && s.via.dir > 0 // somebody outside moved it on the way
	if err != unix.EACCES && !gone || s.via == nil {
		return dir, name, err
	}
	switch v := s.via; {
	case v.dir > 0:
		dir, name = v.dir, strings.TrimRight(v.name, "/")
	case v.pinned > 0:
		dir, name = v.pinned, ""
	default:
		return -1, "", err
	}
	dir, err = unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	return dir, name, err
}

func (w *Writer) parent(path string) (int, string, error) {
	for i := range w.roots {
		if within(path, w.roots[i].path) {
			return w.roots[i].parent(path)
		}
	}
	return -1, "", unix.EXDEV
}
