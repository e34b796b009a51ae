package history

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var errChanged = errors.New("somebody changed it meanwhile")

// do carries one action out, unless it is done already: after a crash all of
// them are done again.
func (u *undo) do(a *action) error {
	dir, name, err := parentIn(u.roots, string(a.Path))
	if missing(err) && (a.Verb == take || a.Verb == rmdir || a.Verb == drop) {
		return nil // gone with its directory, which comes later
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if name == "" && a.Verb != meta {
		return errors.New("the place itself cannot be moved")
	}
	restore := u.widen(dir)
	defer restore()
	switch a.Verb {
	case take:
		return u.take(dir, name, a)
	case put:
		return u.put(dir, name, a)
	case swap: // which is no change of names to anybody
		defer keepTimes(dir)()
		return u.swap(dir, name, a)
	case rewrite:
		return u.rewrite(dir, name, a)
	case empty:
		return make1(unix.Mknodat(dir, name, unix.S_IFREG|0o600, 0))
	case mkdir:
		return make1(unix.Mkdirat(dir, name, 0o700))
	case rmdir:
		if now, err := stateAt(dir, name, 0); err != nil || now.ID != a.State.ID && u.resumed {
			return err // done already
		}
		err := unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
		if err == unix.ENOENT || err == unix.ENOTEMPTY && u.req.Mode != Abort {
			return nil
		}
		return err
	case symlink:
		return make1(unix.Symlinkat(string(a.State.Target), dir, name))
	case mknod:
		kind := uint32(unix.S_IFIFO)
		if a.State.Kind == Socket {
			kind = unix.S_IFSOCK
		}
		return make1(unix.Mknodat(dir, name, kind|0o600, 0))
	case meta:
		return setMeta(dir, name, &a.State)
	case aside:
		return u.aside(dir, name, a)
	case drop:
		now, err := stateAt(dir, name, 0)
		if err != nil || now.Kind == Absent {
			return err // done already
		}
		if now.ID != a.State.ID && u.resumed {
			return nil
		}
		if now.ID != a.State.ID {
			return errChanged
		}
		return unix.Unlinkat(dir, name, 0)
	case link:
		return u.link(dir, name, string(a.State.Target))
	}
	return fmt.Errorf("action %d is unknown", a.Verb)
}

// make1 takes what is there already for made: planned names were free.
func make1(err error) error {
	if err == unix.EEXIST {
		return nil
	}
	return err
}

// widen lets a directory be changed whose own mode forbids it, until the
// function that it gives is called.
func (u *undo) widen(dir int) func() {
	st, err := stateAt(dir, "", 0)
	if err != nil || st.Mode&0o300 == 0o300 || unix.Fchmodat(dir, "", st.Mode|0o300, unix.AT_EMPTY_PATH) != nil {
		return func() {}
	}
	return func() { _ = unix.Fchmodat(dir, "", st.Mode, unix.AT_EMPTY_PATH) }
}

// keepTimes gives a directory its times back when what it returns is called.
func keepTimes(dir int) func() {
	st, err := stateAt(dir, "", 0)
	if err != nil {
		return func() {}
	}
	return func() {
		_ = unix.UtimesNanoAt(unix.AT_FDCWD, procPath(dir), []unix.Timespec{{Nsec: unix.UTIME_OMIT}, unix.NsecToTimespec(st.Mtime)}, 0)
	}
}

func (u *undo) object(o Object) (int, string, error) {
	dir, err := u.objectsOf(o.Segment, o.Segment == u.w.segment)
	return dir, objectName(o.Number), err
}

// same says whether two states are of one object with one content, whichever
// that is for a size below 0.
func same(a, b *State) bool {
	return a.Kind == b.Kind && a.ID == b.ID && (a.Kind != File || b.Size < 0 || a.Size == b.Size && a.Mtime == b.Mtime)
}

func (u *undo) take(dir int, name string, a *action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	if there, err := stateAt(objects, number, 0); err != nil || there.Kind != Absent {
		return err // done already
	}
	if u.resumed {
		if now, err := stateAt(dir, name, 0); err != nil || now.ID != a.State.ID {
			return err // done, and put where it belongs
		}
	}
	if err := moveOut(dir, name, objects, number); err != nil {
		if err == unix.ENOENT {
			return errChanged
		}
		return err
	}
	now, err := stateAt(objects, number, 0)
	if err == nil && a.State.Kind != Absent && !same(&now, &a.State) && now.ID.Dev == a.State.ID.Dev {
		err = errors.Join(errChanged, moveOut(objects, number, dir, name))
	}
	return err
}

func (u *undo) put(dir int, name string, a *action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	there, err := stateAt(objects, number, 0)
	if err != nil {
		return err
	}
	if there.Kind == Absent {
		if now, err := stateAt(dir, name, 0); err != nil || now.Kind != Absent {
			return err // done already
		}
		return errors.New("its content is missing in the history")
	}
	if a.State.Kind == File && a.State.Size >= 0 && there.Size != a.State.Size {
		return errors.New("its content in the history is not what was kept")
	}
	err = moveOut(objects, number, dir, name)
	if err == unix.EEXIST {
		return errChanged
	}
	return err
}

func (u *undo) swap(dir int, name string, a *action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	now, err := stateAt(dir, name, 0)
	if err != nil {
		return err
	}
	kept, err := stateAt(objects, number, 0)
	if err != nil {
		return err
	}
	switch {
	case same(&kept, &a.State):
		return nil // done already
	case kept.Kind == Absent:
		return errors.New("its content is missing in the history")
	case !same(&now, &a.State):
		return errChanged
	}
	err = unix.Renameat2(objects, number, dir, name, unix.RENAME_EXCHANGE)
	if err == unix.EXDEV || err == unix.EINVAL || err == unix.ENOSYS {
		return u.swapApart(dir, name, objects, number)
	}
	if err != nil {
		return err
	}
	if kept, err = stateAt(objects, number, 0); err == nil && !same(&kept, &a.State) {
		err = errors.Join(errChanged, unix.Renameat2(objects, number, dir, name, unix.RENAME_EXCHANGE))
	}
	return err
}

// swapApart is swap between two file systems: both are copied first, and the
// copies take their places.
func (u *undo) swapApart(dir int, name string, objects int, number string) error {
	beside, stored := tempName(), tempName()
	if err := copyFile(objects, number, dir, beside); err != nil {
		return err
	}
	err := copyFile(dir, name, objects, stored)
	if err == nil {
		err = unix.Renameat(dir, beside, dir, name)
	}
	if err != nil {
		_ = unix.Unlinkat(dir, beside, 0)
		_ = unix.Unlinkat(objects, stored, 0)
		return err
	}
	return unix.Renameat(objects, stored, objects, number)
}

// rewrite restores a file that has other names, which have to see it too: in
// place, after what it holds now has been kept.
func (u *undo) rewrite(dir int, name string, a *action) error {
	to, number, err := u.object(a.To)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if there, err := stateAt(to, number, 0); err != nil {
		return err
	} else if there.Kind == Absent {
		if err := copyFile(dir, name, to, number); err != nil {
			return err
		}
	}
	fd, err := unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err == unix.EACCES {
		fd, err = openWidened(dir, name, &a.State)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	now, err := stateAt(fd, "", 0)
	if err != nil || now.ID != a.State.ID {
		return errors.Join(err, errChanged)
	}
	if a.Object == (Object{}) {
		return unix.Ftruncate(fd, 0)
	}
	from, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	src, err := unix.Openat(from, number, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(src)
	st, err := stateAt(src, "", 0)
	if err != nil || st.ID == now.ID {
		return err // what was kept is this very file, so it did not change
	}
	if err := unix.Ftruncate(fd, 0); err != nil {
		return err
	}
	return copyHoles(src, fd, st.Size)
}

func openWidened(dir int, name string, st *State) (int, error) {
	if err := unix.Fchmodat(dir, name, st.Mode|0o200, 0); err != nil {
		return -1, err
	}
	return unix.Openat(dir, name, unix.O_WRONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

func (u *undo) aside(dir int, name string, a *action) error {
	now, err := stateAt(dir, name, 0)
	if err != nil || now.Kind == Absent || now.ID != a.State.ID {
		return err // done already
	}
	to := string(a.State.Target)
	for n := 2; n < 1000; n++ {
		err = unix.Renameat2(dir, name, dir, to, unix.RENAME_NOREPLACE)
		if err != unix.EEXIST {
			return err
		}
		to = fmt.Sprintf("%s-%d", a.State.Target, n)
	}
	return err
}

// link gives the file at another path of the roots a second name.
func (u *undo) link(dir int, name, other string) error {
	from, old, err := parentIn(u.roots, other)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	return make1(unix.Linkat(from, old, dir, name, 0))
}

// moveOut moves a name to another directory, where nothing of its name may be:
// by renaming, or where that is another file system by copying files.
func moveOut(dir int, name string, to int, as string) error {
	err := unix.Renameat2(dir, name, to, as, unix.RENAME_NOREPLACE)
	if err != unix.EXDEV {
		return err
	}
	st, err := stateAt(dir, name, withXattrs)
	if err != nil {
		return err
	}
	switch st.Kind {
	case File:
		err = copyFile(dir, name, to, as)
	case Symlink:
		err = unix.Symlinkat(string(st.Target), to, as)
	case FIFO:
		err = unix.Mknodat(to, as, unix.S_IFIFO|0o600, 0)
	case Socket:
		err = unix.Mknodat(to, as, unix.S_IFSOCK|0o600, 0)
	default:
		return fmt.Errorf("a %s cannot be moved to another file system", st.Kind)
	}
	if err == nil {
		err = setMeta(to, as, &st)
	}
	if err != nil {
		_ = unix.Unlinkat(to, as, 0)
		return err
	}
	return unix.Unlinkat(dir, name, 0)
}

// copyFile copies a regular file with its metadata.
func copyFile(dir int, name string, to int, as string) error {
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	st, err := stateAt(fd, "", withXattrs)
	if err != nil {
		return err
	}
	if st.Kind != File {
		return errChanged
	}
	if err := copyTo(fd, &st, to, as); err != nil {
		return err
	}
	return setMeta(to, as, &st)
}

// reverse takes back the first n actions of a plan.
func (u *undo) reverse(p *Plan, n int) error {
	before := make(map[string]*State, len(p.pre))
	for i := range p.pre {
		before[string(p.pre[i].Path)] = &p.pre[i].State
	}
	for i := n - 1; i >= 0; i-- {
		if err := u.reverseOne(&p.actions[i], before); err != nil {
			return fmt.Errorf("taking back what was restored of %q: %w", p.actions[i].Path, err)
		}
	}
	return nil
}

func (u *undo) reverseOne(a *action, before map[string]*State) error {
	dir, name, err := parentIn(u.roots, string(a.Path))
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	defer u.widen(dir)()
	switch a.Verb {
	case rewrite:
		return u.rewrite(dir, name, &action{Path: a.Path, Object: a.To, To: a.To, State: a.State})
	case take, put, swap:
		objects, number, err := u.object(a.Object)
		if err != nil {
			return err
		}
		defer unix.Close(objects)
		switch a.Verb {
		case take:
			return moveOut(objects, number, dir, name)
		case put:
			return moveOut(dir, name, objects, number)
		}
		return unix.Renameat2(objects, number, dir, name, unix.RENAME_EXCHANGE)
	case drop:
		for _, b := range u.step.Post {
			if st := before[string(b.Path)]; st != nil && st.ID == a.State.ID && !bytes.Equal(b.Path, a.Path) {
				return u.link(dir, name, string(b.Path))
			}
		}
		return errChanged
	case empty, symlink, mknod, link:
		return unix.Unlinkat(dir, name, 0)
	case mkdir:
		return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR)
	case rmdir:
		if err := make1(unix.Mkdirat(dir, name, 0o700)); err != nil {
			return err
		}
		return setMeta(dir, name, &a.State)
	case meta:
		if st := before[string(a.Path)]; st != nil && st.Kind == a.State.Kind {
			return setMeta(dir, name, st)
		}
	case aside:
		return unix.Renameat2(dir, string(a.State.Target), dir, name, unix.RENAME_NOREPLACE)
	}
	return nil
}

func tempName() string { return ".carrel-" + randomHex() }
