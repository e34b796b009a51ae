package undo

import (
	"errors"
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

var errMissing = errors.New("its content in the history is missing, or not what was kept")

// do carries one action out, unless it is done already: after a crash all of
// them are done again.
func (u *actor) do(a *journal.Action) error {
	dir, name, err := u.entry(a)
	if disk.Missing(err) && (a.Verb == journal.Take || a.Verb == journal.RemoveDir || a.Verb == journal.Drop) {
		return nil // gone with its directory, which comes later
	}
	if disk.Missing(err) {
		return fmt.Errorf("the directory that it was in is not there: %w", err)
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	if name == "" && a.Verb != journal.SetMeta {
		return errors.New("the place itself cannot be moved")
	}
	defer disk.Widened(dir, 0o300)()
	if u.resumed && a.Discards() {
		if err := u.discarded(dir, name, a); err != nil {
			return err
		}
	}
	switch a.Verb {
	case journal.Take:
		return u.take(dir, name, a)
	case journal.Put:
		return u.put(dir, name, a)
	case journal.Swap: // which is no change of names to anybody
		defer keepTimes(dir)()
		return u.swap(dir, name, a)
	case journal.Rewrite:
		return u.rewrite(dir, name, a)
	case journal.Empty, journal.MakeDir, journal.MakeSymlink, journal.MakeNode, journal.MakeLink:
		return u.make(dir, name, a)
	case journal.Duplicate:
		return u.duplicate(dir, name, a)
	case journal.RemoveDir:
		return u.rmdir(dir, name, a)
	case journal.SetMeta:
		return disk.OfOthers(dir, name, disk.SetMeta(dir, name, &a.State))
	case journal.Aside:
		return u.aside(dir, name, a)
	case journal.Drop:
		return u.drop(dir, name, a)
	}
	return fmt.Errorf("action %d is unknown", a.Verb)
}

// entry opens the directory of what an action is about.
func (u *actor) entry(a *journal.Action) (dir int, name string, err error) {
	return u.entryIn(u.roots, a)
}

func (u *actor) entryIn(roots []disk.Root, a *journal.Action) (dir int, name string, err error) {
	if a.In == (journal.Object{}) {
		return disk.ParentIn(roots, string(a.Path))
	}
	dir, err = u.ObjectsOf(a.In.Segment, false)
	return dir, journal.ObjectName(a.In.Number), err
}

// duplicate makes a copy of an object.
func (u *actor) duplicate(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	st, err := disk.StateAt(objects, number, 0)
	if err != nil {
		return err
	}
	if st.Kind != journal.File || a.Holds > 0 && st.Size != a.Holds-1 {
		return errMissing
	}
	now, err := disk.StateAt(dir, name, 0)
	if err != nil {
		return err
	}
	if u.resumed && now.Kind == journal.File && now.Size == st.Size {
		return nil // done already
	}
	if err := copyFile(objects, number, dir, name, string(a.Temp)); err == unix.EEXIST {
		return disk.ErrChanged
	} else if err != nil {
		return err
	}
	return nil
}

// make makes something new. What is there already was made before the crash, or
// is somebody else's.
func (u *actor) make(dir int, name string, a *journal.Action) error {
	var err error
	switch a.Verb {
	case journal.Empty:
		err = disk.MknodAt(dir, name, unix.S_IFREG|0o600)
	case journal.MakeDir:
		err = disk.MkdirAt(dir, name, 0o700)
	case journal.MakeSymlink:
		err = disk.SymlinkAt(string(a.State.Target), dir, name)
	case journal.MakeNode:
		kind := uint32(unix.S_IFIFO)
		if a.State.Kind == journal.Socket {
			kind = unix.S_IFSOCK
		}
		err = disk.MknodAt(dir, name, kind|0o600)
	case journal.MakeLink:
		err = u.link(dir, name, string(a.State.Target))
	}
	if err != unix.EEXIST {
		return err
	}
	now, e := disk.StateAt(dir, name, 0)
	if e == nil && a.Verb == journal.MakeDir && now.Kind == journal.Dir && u.allSpared(string(a.Path)) {
		return nil // another directory, which could not go
	}
	if e != nil || !u.resumed || !u.made(&now, a) {
		return errors.Join(disk.ErrChanged, e)
	}
	return nil
}

// made says whether something is what an action makes.
func (u *actor) made(now *journal.State, a *journal.Action) bool {
	switch a.Verb {
	case journal.Empty:
		return now.Kind == journal.File && now.Size == 0
	case journal.MakeDir:
		return now.Kind == journal.Dir
	case journal.MakeSymlink:
		return now.Kind == journal.Symlink && string(now.Target) == string(a.State.Target)
	case journal.MakeNode:
		return now.Kind == a.State.Kind
	case journal.MakeLink:
		first, err := disk.LookIn(u.roots, string(a.State.Target))
		return err == nil && first.ID == now.ID
	case journal.Duplicate:
		return now.Kind == journal.File && now.Size == a.State.Size
	}
	return false
}

// rmdir removes a directory that the step made, if nothing is in it.
func (u *actor) rmdir(dir int, name string, a *journal.Action) error {
	now, err := disk.StateAt(dir, name, 0)
	if err != nil || now.Kind == journal.Absent || now.ID != a.State.ID && u.resumed {
		return err // done already
	}
	err = disk.UnlinkAt(dir, name, unix.AT_REMOVEDIR)
	if err == unix.ENOENT || err == unix.ENOTEMPTY && (u.req.Mode != journal.Abort || u.resumed || u.allSpared(string(a.Path))) {
		return nil
	}
	return err
}

// drop removes a second name of a file that stays.
func (u *actor) drop(dir int, name string, a *journal.Action) error {
	now, err := disk.StateAt(dir, name, 0)
	if err != nil || now.Kind == journal.Absent {
		return err // done already
	}
	if now.ID != a.State.ID {
		if u.resumed {
			return nil
		}
		return disk.ErrChanged
	}
	return u.discard(dir, name, a)
}

// discard removes a name if what it means is what an action is about, also if
// somebody gives it another meaning at this moment: it is looked at under a name
// that nobody else knows.
func (u *actor) discard(dir int, name string, a *journal.Action) error {
	err := disk.RenameNew(dir, name, u.w.ObjectsFD(), string(a.Temp))
	if err == unix.EXDEV {
		err = disk.RenameNew(dir, name, dir, string(a.Temp))
	}
	if err != nil {
		return err
	}
	return u.discarded(dir, name, a)
}

// discarded ends what discard began.
func (u *actor) discarded(dir int, name string, a *journal.Action) error {
	for _, at := range []int{u.w.ObjectsFD(), dir} {
		now, err := disk.StateAt(at, string(a.Temp), 0)
		switch {
		case err != nil:
			return err
		case now.Kind == journal.Absent:
		case a.Verb == journal.Drop && now.ID == a.State.ID || a.Verb != journal.Drop && u.made(&now, a):
			if err := disk.UnlinkAt(at, string(a.Temp), 0); err != nil {
				return err
			}
		default:
			return errors.Join(disk.ErrChanged, putBack(at, string(a.Temp), dir, name))
		}
	}
	return nil
}

// putBack gives something the name back that it was taken from, or where somebody
// else has that by now, one beside it.
func putBack(from int, number string, dir int, name string) error {
	as := name
	for n := range besideTries {
		err := disk.RenameNew(from, number, dir, as)
		if err != unix.EEXIST {
			return err
		}
		as = beside(name, n+1)
	}
	return unix.EEXIST
}

// keepTimes gives a directory its times back when what it returns is called.
func keepTimes(dir int) func() {
	st, err := disk.StateAt(dir, "", 0)
	if err != nil {
		return func() {}
	}
	return func() { _ = disk.SetMtime(dir, "", st.Mtime) }
}

func (u *actor) object(o journal.Object) (int, string, error) {
	dir, err := u.ObjectsOf(o.Segment, o.Segment == u.w.Segment())
	return dir, journal.ObjectName(o.Number), err
}

func (u *actor) take(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	there, err := disk.StateAt(objects, number, 0)
	if err != nil {
		return err
	}
	if u.resumed {
		if done, err := u.taken(dir, name, a, there.Kind != journal.Absent); done || err != nil {
			return err
		}
		if there, err = disk.StateAt(objects, number, 0); err != nil {
			return err
		}
	}
	if there.Kind != journal.Absent {
		return disk.ErrChanged
	}
	moved, err := u.moveOut(dir, name, objects, number, a)
	switch {
	case err == unix.ENOENT:
		return disk.ErrChanged
	case err != nil || !moved:
		return err
	}
	now, err := disk.StateAt(objects, number, 0)
	if err == nil && a.State.Kind != journal.Absent && !u.expected(&now, &a.State) {
		err = errors.Join(disk.ErrChanged, putBack(objects, number, dir, name))
	}
	return err
}

func (u *actor) put(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	there, err := disk.StateAt(objects, number, 0)
	if err != nil {
		return err
	}
	if there.Kind == journal.Absent {
		if parked, err := u.fromPark(dir, name, a); parked || err != nil {
			return err
		}
		if now, err := disk.StateAt(dir, name, 0); err != nil || u.resumed && now.Kind == a.State.Kind {
			return err // done already
		}
		return errMissing
	}
	if there.Kind != a.State.Kind || there.Kind == journal.File && a.State.Size >= 0 && there.Size != a.State.Size {
		return errMissing
	}
	err = u.moveIn(objects, number, dir, name, a, &there)
	if err == unix.EEXIST {
		return disk.ErrChanged
	}
	u.places(a, &there)
	return err
}

func (u *actor) swap(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	if u.resumed && len(a.Temp) > 0 {
		if err := resumeSwap(dir, name, objects, number, a); err != nil {
			return err
		}
	}
	now, err := disk.StateAt(dir, name, 0)
	if err != nil {
		return err
	}
	kept, err := disk.StateAt(objects, number, 0)
	if err != nil {
		return err
	}
	if journal.Same(&kept, &a.State) {
		return nil // done already
	}
	if u.resumed && !journal.Same(&now, &a.State) && journal.Like(&kept, &a.State) {
		if copied, err := mountedApart(dir, objects); err != nil || copied {
			return err // done already
		}
	}
	switch {
	case kept.Kind != journal.File, a.Holds > 0 && kept.Size != a.Holds-1:
		return errMissing
	case !journal.Same(&now, &a.State):
		return disk.ErrChanged
	}
	u.places(a, &kept)
	err = disk.Exchange(objects, number, dir, name)
	if err == unix.EXDEV || err == unix.EINVAL || err == unix.ENOSYS {
		return swapApart(dir, name, objects, number, a)
	}
	if err != nil {
		return err
	}
	if kept, err = disk.StateAt(objects, number, 0); err == nil && !journal.Same(&kept, &a.State) {
		err = errors.Join(disk.ErrChanged, disk.Exchange(objects, number, dir, name))
	}
	return err
}

// rewrite restores a file that has other names, which have to see it too: in
// place, after what it holds now has been kept.
func (u *actor) rewrite(dir int, name string, a *journal.Action) error {
	to, number, err := u.object(a.To)
	if err != nil {
		return err
	}
	defer unix.Close(to)
	if now, err := disk.StateAt(dir, name, 0); err != nil || now.ID != a.State.ID || !u.resumed && !journal.Same(&now, &a.State) {
		return errors.Join(err, disk.ErrChanged) // before a copy says that it was written to
	}
	if there, err := disk.StateAt(to, number, 0); err != nil {
		return err
	} else if there.Kind == journal.Absent {
		if err := copyFile(dir, name, to, number, tempOf(a.To)); err != nil {
			return err
		}
	} else if u.resumed {
		if own, err := u.rewriting(dir, name, to, number, a); err != nil || !own {
			return errors.Join(err, disk.ErrChanged)
		}
	}
	fd, err := disk.OpenAt(dir, name, unix.O_WRONLY)
	if err == unix.EACCES {
		fd, err = openWidened(dir, name)
	}
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	now, err := disk.StateAt(fd, "", 0)
	if err != nil || now.ID != a.State.ID {
		return errors.Join(err, disk.ErrChanged)
	}
	if a.Object == (journal.Object{}) {
		return disk.Truncate(fd, 0)
	}
	from, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	src, err := disk.OpenToCopy(from, number)
	if err != nil {
		return errors.Join(errMissing, err)
	}
	defer unix.Close(src)
	st, err := disk.StateAt(src, "", 0)
	if err != nil || st.ID == now.ID {
		return err // what was kept is this very file, so it did not change
	}
	if st.Kind != journal.File || a.Holds > 0 && st.Size != a.Holds-1 {
		return errMissing
	}
	if err := disk.Truncate(fd, 0); err != nil {
		return err
	}
	return disk.CopyHoles(src, fd, st.Size)
}

// openWidened opens a file for writing whose mode forbids it; what is opened is
// what was made writable.
func openWidened(dir int, name string) (int, error) {
	pin, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pin)
	st, err := disk.StateAt(pin, "", 0)
	if err == nil && st.Kind != journal.File {
		err = disk.ErrChanged
	}
	if err == nil {
		err = disk.ChmodFd(pin, st.Mode|0o200)
	}
	if err != nil {
		return -1, err
	}
	return disk.OpenAt(dir, name, unix.O_WRONLY)
}

func (u *actor) aside(dir int, name string, a *journal.Action) error {
	now, err := disk.StateAt(dir, name, 0)
	if err != nil || now.Kind == journal.Absent || now.ID != a.State.ID {
		return err // done already
	}
	for n := range besideTries {
		if err = disk.RenameNew(dir, name, dir, beside(name, n+1)); err != unix.EEXIST {
			return err
		}
	}
	return err
}

// asideAgain gives what was put aside its name back.
func (u *actor) asideAgain(dir int, name string, a *journal.Action) error {
	for n := range besideTries {
		as := name
		if n > 0 {
			as = beside(name, n)
		}
		now, err := disk.StateAt(dir, as, 0)
		switch {
		case err != nil:
			return err
		case now.ID == a.State.ID && as == name, now.Kind == journal.Absent && as != name: // nothing was, or it is another program's by now
			return nil
		case now.ID == a.State.ID:
			return disk.RenameNew(dir, as, dir, name)
		}
	}
	return errMissing
}

// link gives the file at another path of the roots a second name.
func (u *actor) link(dir int, name, other string) error {
	from, old, err := disk.ParentIn(u.roots, other)
	if err != nil {
		return err
	}
	defer unix.Close(from)
	defer disk.Widened(from, 0o100)()
	return disk.LinkAt(from, old, dir, name)
}

func tempName() string { return journal.TempPrefix + disk.RandomHex() }
