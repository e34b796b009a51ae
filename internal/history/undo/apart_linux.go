package undo

import (
	"errors"
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/writer"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// Where the store is on another file system than a root, what is moved between
// them is copied: to a name of its own first, so that neither end ever has a part
// of it under the name that counts, and what is copied can still be compared with
// what somebody may have changed meanwhile.

// tempOf is the name of an object that is being copied.
func tempOf(o journal.Object) string { return journal.TempPrefix + journal.ObjectName(o.Number) }

// moveOut moves a name of a tree to the store, where nothing of its name may be. moved is
// false where it could only be copied there, of what was compared before, or parked.
func (u *actor) moveOut(dir int, name string, objects int, number string, a *journal.Action) (moved bool, err error) {
	err = renameAway(dir, name, objects, number)
	if err != unix.EXDEV || len(a.Temp) == 0 {
		return err == nil, err
	}
	away := string(a.Temp)
	if a.Parks() {
		return false, u.park(dir, name, a)
	}
	if err := disk.RenameNew(dir, name, dir, away); err != nil {
		return false, err
	}
	now, err := disk.StateAt(dir, away, 0)
	if err == nil && a.State.Kind != journal.Absent && !u.expected(&now, &a.State) {
		err = disk.ErrChanged
	}
	if err == nil {
		err = copyAny(dir, away, objects, number, away)
	}
	if err != nil {
		return false, errors.Join(err, putBack(dir, away, dir, name))
	}
	if u.parted == nil {
		u.parted = make(map[journal.ID]bool)
	}
	u.parted[now.ID] = now.Kind == journal.File && now.Links > 1
	return false, disk.UnlinkAt(dir, away, 0)
}

// park moves what must stay what it is to its root, under a name of its own.
func (u *actor) park(dir int, name string, a *journal.Action) error {
	r, err := u.rootDir(a)
	if err != nil {
		return err
	}
	defer keepTimes(r)() // which has no part in this
	away := string(a.Temp)
	if err := renameAway(dir, name, r, away); err != nil || a.State.Kind != journal.File {
		return err
	}
	now, err := disk.StateAt(r, away, 0)
	if err == nil && u.expected(&now, &a.State) {
		return nil
	}
	return errors.Join(disk.ErrChanged, err, putBack(r, away, dir, name))
}

// renameAway is disk.RenameNew to another directory, also of a directory that its mode
// keeps from being changed: its ".." is another one then.
func renameAway(dir int, name string, to int, as string) error {
	err := disk.RenameNew(dir, name, to, as)
	if err != unix.EACCES {
		return err
	}
	pin, e := unix.Openat(dir, name, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if e != nil {
		return err
	}
	defer unix.Close(pin)
	defer disk.Widened(pin, 0o200)()
	return disk.RenameNew(dir, name, to, as)
}

// taken finds out how far moveOut came.
func (u *actor) taken(dir int, name string, a *journal.Action, stored bool) (done bool, err error) {
	if len(a.Temp) > 0 {
		if r, err := u.rootDir(a); err == nil && a.Parks() {
			if now, err := disk.StateAt(r, string(a.Temp), 0); err != nil || now.Kind != journal.Absent {
				return true, err
			}
		}
		away, err := disk.StateAt(dir, string(a.Temp), 0)
		switch {
		case err != nil:
			return false, err
		case away.Kind != journal.Absent && stored:
			return true, disk.UnlinkAt(dir, string(a.Temp), 0)
		case away.Kind != journal.Absent:
			if err := putBack(dir, string(a.Temp), dir, name); err != nil {
				return false, err
			}
		}
	}
	now, err := disk.StateAt(dir, name, 0)
	if err == nil && stored && a.State.Kind != journal.Absent && now.ID == a.State.ID {
		return false, u.forgetCopy(dir, a)
	}
	return stored || now.ID != a.State.ID, err // done, and put where it belongs
}

// forgetCopy removes the copy of what is in its place again: a loss of power took
// that back on its file system, and not on the store's.
func (u *actor) forgetCopy(dir int, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	if apart, err := mountedApart(dir, objects); err != nil || !apart {
		return err
	}
	return disk.UnlinkAt(objects, number, 0)
}

// rootDir gives the root that an action is in.
func (u *actor) rootDir(a *journal.Action) (int, error) {
	for i := range u.roots {
		if pathname.Within(string(a.Path), u.roots[i].Path) {
			return u.roots[i].FD, nil
		}
	}
	return -1, disk.ErrChanged
}

// fromPark puts back what had to stay in its root.
func (u *actor) fromPark(dir int, name string, a *journal.Action) (parked bool, err error) {
	if !a.Parks() || len(a.Temp) == 0 {
		return false, nil
	}
	r, err := u.rootDir(a)
	if err != nil {
		return false, err
	}
	now, err := disk.StateAt(r, string(a.Temp), 0)
	if err != nil || now.Kind == journal.Absent {
		return false, err
	}
	defer keepTimes(r)()
	if err := renameAway(r, string(a.Temp), dir, name); err != unix.EEXIST {
		return true, err
	}
	return true, disk.ErrChanged
}

// moveIn moves an object to a name of a tree, which is free.
func (u *actor) moveIn(objects int, number string, dir int, name string, a *journal.Action, what *journal.State) error {
	err := renameAway(objects, number, dir, name)
	if err != unix.EXDEV || len(a.Temp) == 0 {
		return err
	}
	away := string(a.Temp)
	if u.resumed {
		if err := clearAway(dir, away); err != nil {
			return err
		}
		if now, err := disk.StateAt(dir, name, 0); err != nil {
			return err
		} else if now.Kind != journal.Absent {
			if !journal.Like(&now, what) && !(now.Kind == journal.File && now.Size == what.Size && now.Mtime == a.State.Mtime) { // has its time already
				return disk.ErrChanged
			}
			return disk.UnlinkAt(objects, number, 0)
		}
	}
	if err := copyAny(objects, number, dir, name, away); err != nil {
		return disk.Cause(err) // the store is only read
	}
	return disk.UnlinkAt(objects, number, 0)
}

// swapApart is swap between two file systems: both are copied first, and the
// copies take their places.
func swapApart(dir int, name string, objects int, number string, a *journal.Action) error {
	away := string(a.Temp)
	if err := copyFile(dir, name, objects, away, away+"-"); err != nil {
		return err
	}
	err := copyFile(objects, number, dir, away, away+"-")
	if err == nil {
		err = disk.Exchange(dir, away, dir, name)
	}
	if err != nil {
		_ = disk.UnlinkAt(dir, away, 0)
		_ = disk.UnlinkAt(objects, away, 0)
		return err
	}
	if was, err := disk.StateAt(dir, away, 0); err != nil || !journal.Same(&was, &a.State) {
		err = errors.Join(err, disk.ErrChanged, disk.Exchange(dir, away, dir, name))
		_ = disk.UnlinkAt(dir, away, 0)
		_ = disk.UnlinkAt(objects, away, 0)
		return err
	}
	return finishSwap(dir, objects, number, away)
}

// finishSwap removes what was copied, when the copy has its place on the disk.
func finishSwap(dir int, objects int, number, away string) error {
	if err := disk.SyncNames(dir); err != nil {
		return err
	}
	if err := disk.RenameOver(objects, away, objects, number); err != nil && err != unix.ENOENT {
		return err
	}
	if err := disk.SyncNames(objects); err != nil {
		return err
	}
	return disk.UnlinkAt(dir, away, 0)
}

// resumeSwap finishes what swapApart began, or takes its copies away.
func resumeSwap(dir int, name string, objects int, number string, a *journal.Action) error {
	away := string(a.Temp)
	beside, err := disk.StateAt(dir, away, 0)
	if err != nil {
		return err
	}
	if beside.Kind != journal.Absent && beside.ID == a.State.ID {
		return finishSwap(dir, objects, number, away)
	}
	for _, at := range []int{dir, objects} {
		for _, n := range []string{away, away + "-"} {
			if err := clearAway(at, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// partly takes back what there is of a move that did not work.
func (u *reverser) partly(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	away := string(a.Temp)
	beside, err := disk.StateAt(dir, away, 0)
	if err != nil {
		return err
	}
	stored, err := disk.StateAt(objects, number, 0)
	if err != nil {
		return err
	}
	switch {
	case a.Verb == journal.Take && beside.Kind != journal.Absent:
		if err := putBack(dir, away, dir, name); err != nil || stored.Kind == journal.Absent {
			return err
		}
		return disk.UnlinkAt(objects, number, 0)
	case a.Verb == journal.Take && stored.Kind != journal.Absent:
		return u.moveIn(objects, number, dir, name, a, &stored)
	case a.Verb == journal.Put && a.Parks(): // by one rename: nothing of it is there
		return nil
	case a.Verb == journal.Put:
		return u.partlyPut(dir, name, away, &beside, &stored)
	case a.Verb == journal.Swap && beside.Kind != journal.Absent && beside.ID == a.State.ID:
		return partlySwapped(dir, name, objects, number, away)
	case a.Verb == journal.Swap && journal.Same(&stored, &a.State):
		return disk.Exchange(objects, number, dir, name)
	}
	return nil
}

func (u *reverser) partlyPut(dir int, name, away string, beside, stored *journal.State) error {
	if beside.Kind != journal.Absent {
		return disk.UnlinkAt(dir, away, 0)
	}
	now, err := disk.StateAt(dir, name, 0)
	if err != nil || stored.Kind == journal.Absent || now.Kind == journal.Absent || !journal.Like(&now, stored) {
		return err
	}
	return disk.UnlinkAt(dir, name, 0)
}

func partlySwapped(dir int, name string, objects int, number, away string) error {
	if err := disk.Exchange(dir, away, dir, name); err != nil {
		return err
	}
	copied, err := disk.StateAt(objects, away, 0)
	if err == nil && copied.Kind != journal.Absent {
		err = disk.UnlinkAt(objects, away, 0)
	} else if err == nil { // it has taken the object's place
		if err = copyFile(dir, away, objects, away, away+"-"); err == nil {
			err = disk.RenameOver(objects, away, objects, number)
		}
	}
	if err != nil {
		return err
	}
	return disk.UnlinkAt(dir, away, 0)
}

// copyAny copies what is no directory, with its metadata, to a name that is free.
func copyAny(dir int, name string, to int, as, temp string) error {
	st, err := disk.StateAt(dir, name, disk.WithXattrs)
	if err != nil {
		return err
	}
	if st.Kind == journal.File {
		return copyFile(dir, name, to, as, temp)
	}
	if err := clearAway(to, temp); err != nil {
		return err
	}
	switch st.Kind {
	case journal.Symlink:
		err = disk.SymlinkAt(string(st.Target), to, temp)
	case journal.FIFO:
		err = disk.MknodAt(to, temp, unix.S_IFIFO|0o600)
	case journal.Socket:
		err = disk.MknodAt(to, temp, unix.S_IFSOCK|0o600)
	default:
		return fmt.Errorf("a %s cannot be moved to another file system", st.Kind)
	}
	return settle(to, temp, as, &st, err)
}

// copyFile copies a regular file with its metadata to a name that is free.
func copyFile(dir int, name string, to int, as, temp string) error {
	fd, err := disk.OpenToCopy(dir, name)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	st, err := disk.StateAt(fd, "", disk.WithXattrs)
	if err != nil {
		return err
	}
	if st.Kind != journal.File {
		return disk.ErrChanged
	}
	if err := clearAway(to, temp); err != nil {
		return err
	}
	return settle(to, temp, as, &st, writer.Copy(fd, to, temp))
}

// clearAway removes a copy that was interrupted.
func clearAway(to int, temp string) error {
	if err := disk.UnlinkAt(to, temp, 0); err != unix.ENOENT {
		return err
	}
	return nil
}

// settle gives a copy its metadata and its name. It is on the disk afterwards: what
// it was copied from will go.
func settle(to int, temp, as string, st *journal.State, err error) error {
	if err == nil {
		err = setMetaSynced(to, temp, st)
	}
	if err == nil {
		if err = disk.RenameNew(to, temp, to, as); err == nil {
			return disk.SyncNames(to)
		}
	}
	_ = disk.UnlinkAt(to, temp, 0)
	return err
}

// setMetaSynced is setMeta of something new, which is on the disk afterwards.
func setMetaSynced(dir int, name string, st *journal.State) error {
	if st.Kind != journal.File {
		return disk.SetMeta(dir, name, st)
	}
	fd, err := disk.OpenAt(dir, name, unix.O_RDONLY) // before its mode forbids it
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	if err := disk.SetMeta(dir, name, st); err != nil {
		return err
	}
	return disk.SyncFile(fd)
}

// crosses reports whether what is at a path is on another mount than the store, which
// can only have a copy of it.
func (p *looker) crosses(path string) bool {
	dir, _, err := disk.ParentIn(p.roots, path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	apart, err := mountedApart(dir, p.store.FD())
	return err == nil && apart
}

// mountedApart reports whether nothing can be moved from one directory to another: what is
// on one file system can be mounted twice.
func mountedApart(dir, store int) (bool, error) {
	here, at, err := disk.MountedAt(dir, "", 0)
	if err != nil {
		return false, err
	}
	kept, in, err := disk.MountedAt(store, "", 0)
	if at == 0 || in == 0 {
		at, in = here.ID.Dev, kept.ID.Dev
	}
	return at != in, err
}
