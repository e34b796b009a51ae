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
	return stateAt(dir, name, allXattrs)
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

// stale finds that a file that is about to change is not what its path means any
// more, though it has other names: then the path has to be followed again.
func (w *Writer) stale(c *Change, s *slot) error {
	if c.Pinned <= 0 || c.Op != Content && c.Op != Meta {
		return nil
	}
	is, err := stateAt(c.Pinned, "", 0)
	if err != nil || is.Kind != File || is.Links == 0 {
		return err
	}
	now, err := w.look(s)
	if err == nil && now.ID != is.ID {
		err = unix.ESTALE
	}
	return err
}

// settle ends what began when something was linked because it was about to go.
// Where it did not go, the link is no copy: the next change keeps one.
func (w *Writer) settle(s *slot, failed error) {
	if s.is == nil || !s.is.linked {
		return
	}
	o := s.is
	o.linked = false
	if o.content = failed == nil; !o.content && w.write(&Record{Pre: &Pre{Path: Bytes(o.origin), Stayed: true}}) == nil {
		_ = unlinkAt(w.objects, objectName(o.number), 0)
	}
	w.unbusy(o)
}

// fit refuses a rename after which a step could not be written down any more.
func (w *Writer) fit(c *Change, s, to *slot) error {
	err := w.tree.fits(s, c.Path, c.To)
	if err == nil && c.Op == Exchange {
		err = w.tree.fits(to, c.To, c.Path)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", err, unix.ENAMETOOLONG)
	}
	return nil
}

// copied keeps what is lost when a copy of one name takes the place of another, and
// the name goes.
func (w *Writer) copied(s, to *slot) error {
	err := w.leaves(s)
	if err == nil {
		if err = w.leaves(to); err != nil {
			w.settle(s, err)
		}
	}
	return err
}

// slots finds the names of a change when nobody else is about to take what they
// mean away: what there is, is looked at after that.
func (w *Writer) slots(c *Change) (s, to *slot) {
	for {
		s, to = w.tree.find(c.Path), nil
		if c.To != "" {
			to = w.tree.find(c.To)
		}
		switch {
		case s != nil && s.is != nil && s.is.busy != nil:
			w.wait(s.is)
		case to != nil && to.is != nil && to.is.busy != nil:
			w.wait(to.is)
		case w.waitForCopy(s), w.waitForCopy(to):
		default:
			return s, to
		}
	}
}
