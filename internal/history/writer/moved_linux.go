package writer

import (
	"errors"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// errAgain says that what a change is about has other names than was known, so that they
// have to be found anew.
var errAgain = errors.New("names have changed")

// followAbove compares the directories on the way to a slot with what is known of them, and
// takes over that another program has given one of the step's that path. dir is the lowest,
// and in is what that is; where nothing is pinned, it is found by its path the first time.
func (w *strangers) followAbove(s *slot, dir int, in journal.ID) error {
	if s.dir == nil || w.raced {
		return nil
	}
	if dir <= 0 || in == (journal.ID{}) {
		if s.dir.id != (journal.ID{}) && !s.dir.passed && !s.dir.noDir() {
			return nil
		}
		fd, _, err := w.parent(s.path())
		if err != nil {
			return nil // the change meets what it meets
		}
		defer unix.Close(fd)
		st, err := disk.StateAt(fd, "", 0)
		if err != nil {
			return nil
		}
		dir, in = fd, journal.ID{Dev: st.ID.Dev, Ino: st.ID.Ino}
	}
	known := w.inodes[in]
	switch {
	case s.dir.noDir(), s.dir.passed || known != nil && known != s.dir:
	case s.dir.id == (journal.ID{}):
		w.knows(s.dir, in)
		if up := s.dir.at; up == nil || up.dir == nil || up.dir.id != (journal.ID{}) && !up.dir.noDir() || up.dir.at == nil || up.dir.at.dir == nil {
			return nil
		}
	default:
		return nil
	}
	above, err := w.above(s, dir)
	if err != nil {
		return nil // the change meets what it meets
	}
	for i := len(above) - 1; i >= 0; i-- { // from the top
		a := above[i]
		at := w.tree.find(a.path)
		if at != nil && at.is != nil && at.is.noDir() && at.pending == 0 {
			if err := w.displaced(at.is); err != nil {
				return err
			}
		}
		known := w.known(a.state.ID)
		if at != nil && known == nil && at.is != nil && !at.is.passed && at.is.id == (journal.ID{}) {
			w.knows(at.is, a.state.ID)
		}
		if at == nil || known == nil || known == at.is {
			continue
		}
		if now, err := disk.LookIn(w.roots, a.path); err != nil || now.ID != a.state.ID {
			return nil // the change does not lead through here any more
		}
		if moved, err := w.follow(at, known, &a.state); err != nil {
			return err
		} else if moved {
			return errAgain
		}
	}
	return nil
}

// noDir reports whether an object is known to be no directory.
func (o *object) noDir() bool {
	return o.grant() != nil || o.found != nil && o.found.Kind != journal.Dir || o.left != nil && o.left.Kind != journal.Dir
}

// displaced takes over that another program has put a directory where the step knows of
// something else.
func (w *strangers) displaced(o *object) error {
	at := o.at
	now, err := disk.LookIn(w.roots, at.path())
	if err != nil || now.Kind != journal.Dir || w.isInode(now.ID, o.id) {
		return nil
	}
	if err := w.name(at, false); err != nil {
		return err
	}
	at.is, at.used, o.at, o.displaced = nil, true, nil, at
	at.changes++
	return errAgain
}

// way is a directory on the way to a slot.
type way struct {
	path  string
	state journal.State
}

// above gives the directories on the way to a slot that are below the root, the lowest
// first.
func (w *strangers) above(s *slot, dir int) (out []way, err error) {
	fd, err := unix.FcntlInt(uintptr(dir), unix.F_DUPFD_CLOEXEC, 0)
	for d := s.dir; err == nil && d.at != nil && d.at.dir != nil; d = d.at.dir {
		a := way{path: d.at.path()}
		if a.state, err = disk.StateAt(fd, "", 0); err != nil || d.id != (journal.ID{}) && !d.passed && d != s.dir && w.isInode(d.id, a.state.ID) {
			break
		}
		out = append(out, a)
		up := -1
		up, err = unix.Openat(fd, "..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		unix.Close(fd)
		fd = up
	}
	if fd >= 0 {
		unix.Close(fd)
	}
	return out, err
}

// follow takes over that another program has moved what the step knows at another name to
// a slot, where it was found with a state. From then on it is what it would be if the step
// had moved it: what it is called by no longer tells what it is.
func (w *strangers) follow(s *slot, known *object, st *journal.State) (bool, error) {
	if known == nil || w.raced || s.dir == nil || s.pending > 0 || st.Kind != journal.Dir && st.Links > 1 {
		return false, nil
	}
	from := known.at
	if known.displaced != nil {
		from = known.displaced
	}
	if from == nil || from == s || from.is != known && known.displaced == nil || from.dir == nil || from.pending > 0 || !from.placed() || within(s, known) {
		return false, nil
	}
	was, path := from.path(), s.path()
	now, err := disk.LookIn(w.roots, was)
	switch {
	case err != nil || w.isInode(now.ID, st.ID): // a second name of it
		return false, nil
	case w.tree.fits(from, was, path) != nil:
		return false, nil
	}
	if err := w.followParent(s, from); err != nil {
		return false, err
	}
	for _, side := range []*slot{s, from} {
		if err := w.parentMeta(side); err != nil {
			return false, err
		}
	}
	swap := s.is != nil && s.is.id != (journal.ID{}) && w.isInode(s.is.id, now.ID)
	switch {
	case swap:
		err = w.pre(s.is, s.origin(), s, &now, false)
	case s.is != nil && s.is.id == (journal.ID{}) && s.is.origin != "", !s.kept:
		err = w.brought(s)
	}
	if err != nil {
		return false, err
	}
	if known.displaced != nil {
		s.gone()
		s.is, known.at, known.displaced, s.kept, s.used = known, s, nil, true, true
		s.changes++
		return true, nil
	}
	if err := w.write(&journal.Record{Move: &journal.Move{From: journal.Bytes(was), To: journal.Bytes(path), Exchange: swap, ID: st.ID}}); err != nil {
		return false, err
	}
	from.kept, from.used, s.kept, s.used = true, true, true, true
	from.changes++
	s.changes++
	if len(known.names) > 0 {
		w.grants.moves++
	}
	if swap {
		s.exchanged(from)
	} else {
		s.moved(from)
	}
	return true, nil
}

// followParent takes over that another program has moved the directory of what is now found
// at a slot, where that is not known by its inode.
func (w *strangers) followParent(s, from *slot) error {
	d, was := s.dir, from.dir
	switch {
	case s.name != from.name, d == was, was.id != (journal.ID{}), was.at == nil, d.at == nil, d.at.dir == nil, len(d.names) > 1:
		return nil
	}
	if now, err := disk.LookIn(w.roots, was.at.path()); err != nil || now.Kind == journal.Dir {
		return nil
	}
	st, err := disk.LookIn(w.roots, d.at.path())
	if known := w.known(st.ID); err != nil || st.Kind != journal.Dir || known != nil && known != d {
		return nil
	}
	w.knows(was, st.ID)
	moved, err := w.follow(d.at, was, &st)
	if err == nil && moved {
		return errAgain
	}
	return err
}

// within reports whether a slot is somewhere below an object.
func within(s *slot, o *object) bool {
	for ; s != nil && s.dir != nil; s = s.dir.at {
		if s.dir == o {
			return true
		}
	}
	return false
}
