package writer

import (
	"errors"
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// LostError says that something cannot be kept, and so would not come back.
type LostError struct {
	Path string
	Why  string

	object *object
}

func (e *LostError) Error() string { return fmt.Sprintf("%q cannot be kept: %s", e.Path, e.Why) }

// keep stores a file's content as an object. A file that is about to lose this
// name is linked, which costs nothing, if nobody could still write to it;
// anything else is cloned, or copied with its holes where there is room for it.
// by is the link, nil for a copy.
func keep(dir int, name string, st *journal.State, objects int, number string, leaving bool, r *room) (by *hardLink, err error) {
	open := func(flags int) (int, error) {
		if name == "" { // it is what is pinned
			return unix.Open(disk.ProcPath(dir), flags|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
		return disk.OpenAt(dir, name, flags)
	}
	fd, err := open(unix.O_RDONLY | unix.O_NOATIME)
	if err == unix.EPERM {
		fd, err = open(unix.O_RDONLY)
	}
	if err != nil {
		if leaving && err == unix.EACCES {
			if err = linkTo(dir, name, st, objects, number); err == nil { // its owner may not read it, so nobody wrote unseen
				by = &hardLink{leased: -1}
			}
			return by, err
		}
		return nil, err
	}
	defer func() {
		if by == nil {
			unix.Close(fd)
		}
	}()
	leased := leaving && lease(fd)
	was, err := disk.StateAt(fd, "", 0)
	switch {
	case err != nil:
		return nil, err
	case was.ID != st.ID:
		return nil, unix.ESTALE
	case leased:
		if err = disk.LinkOpen(fd, objects, number); err == unix.ENOENT || err == unix.EPERM {
			err = linkTo(dir, name, st, objects, number)
		}
		if err == nil {
			by = &hardLink{leased: fd}
		} else if err != unix.EXDEV && err != unix.EPERM && err != unix.EMLINK && err != unix.EOPNOTSUPP {
			return nil, err
		}
	}
	if by == nil {
		was, err = copyState(fd, objects, number, r)
	}
	if err == nil {
		st.Size, st.Mtime, st.Ctime = was.Size, was.Mtime, was.Ctime // somebody may have written since it was looked at
	}
	return by, err
}

// letGo gives the lease back.
func (l *hardLink) letGo() {
	if l != nil && l.leased >= 0 {
		unix.Close(l.leased)
	}
}

// lease has the kernel hold up who opens a file for writing, until it is closed
// here. It is refused while anybody has it open so, or mapped.
func lease(fd int) bool { return readLease(fd) == nil }

// readLease is lease with the reason: EAGAIN while the file is open for writing.
func readLease(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err
}

// linkTo gives the file a second name in the store, and makes sure that it is
// the one that was looked at.
func linkTo(dir int, name string, st *journal.State, objects int, number string) error {
	if err := disk.LinkAt(dir, name, objects, number); err != nil {
		return err
	}
	now, err := disk.StateAt(objects, number, 0)
	if err == nil && now.ID != st.ID {
		err = unix.ESTALE
	}
	if err != nil {
		_ = disk.UnlinkAt(objects, number, 0)
	}
	return err
}

const copyTries = 3

// Copy clones or copies an open file, whatever there is room for.
func Copy(fd, dir int, name string) error {
	_, err := copyState(fd, dir, name, nil)
	return err
}

// copyState clones or copies an open file, and gives the state that it was in.
// What is written to meanwhile is copied again: an object is one state and no
// mixture. r may be nil, for as much as there is.
func copyState(fd int, objects int, number string, r *room) (journal.State, error) {
	to, err := disk.CreateAt(objects, number)
	if err != nil {
		return journal.State{}, disk.OfStore(err)
	}
	defer unix.Close(to)
	fail := func(err error) (journal.State, error) {
		_ = disk.UnlinkAt(objects, number, 0)
		var l *LostError
		if errors.As(err, &l) {
			return journal.State{}, err
		}
		return journal.State{}, disk.OfStore(err)
	}
	for range copyTries {
		before, err := disk.StateAt(fd, "", 0)
		if err != nil {
			return fail(err)
		}
		if disk.Clone(to, fd) == nil {
			if after, err := disk.StateAt(fd, "", 0); err != nil {
				return fail(err)
			} else if unwritten(&before, &after) {
				return before, nil
			}
			if err := disk.Truncate(to, 0); err != nil {
				return fail(err)
			}
			continue
		}
		if n, err := toCopy(fd); err != nil {
			return fail(err)
		} else if err := r.take(n); err != nil {
			return fail(err)
		}
		if err := disk.CopyHoles(fd, to, before.Size); err != nil {
			return fail(err)
		}
		after, err := disk.StateAt(fd, "", 0)
		if err != nil {
			return fail(err)
		}
		if unwritten(&before, &after) {
			return before, nil
		}
		if err := disk.Truncate(to, 0); err != nil {
			return fail(err)
		}
	}
	return fail(&LostError{Why: "somebody writes to it all the time"})
}

// unwritten says whether nobody changed a file in between.
func unwritten(a, b *journal.State) bool {
	return a.Mtime == b.Mtime && a.Ctime == b.Ctime && a.Size == b.Size
}

// lost says why something could not be kept, "" for an error that is not that:
// then the change must not happen.
func lost(err error) string {
	var l *LostError
	var s *disk.StoreError
	switch {
	case errors.As(err, &l):
		return l.Why
	case errors.As(err, &s):
		return ""
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return "it may not be read"
	case errors.Is(err, unix.EXDEV), errors.Is(err, unix.ENOTDIR), errors.Is(err, unix.ELOOP):
		return "it is on another file system"
	case errors.Is(err, unix.EMLINK):
		return "it has as many names as the file system allows"
	}
	return ""
}
