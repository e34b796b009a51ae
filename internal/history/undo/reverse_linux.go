package undo

import (
	"fmt"
	"maps"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// reverse takes back the first done actions of a plan. part says that the next
// one did not work, and may have left something.
func (u *reverser) reverse(p *Plan, done int, part bool) error {
	before := met{make(map[string]*journal.State, len(p.records.Pre)), make(map[journal.ID]*journal.State, len(p.records.Pre))}
	for i := range p.records.Pre {
		st := &p.records.Pre[i].State
		before.at[string(p.records.Pre[i].Path)], before.of[st.ID] = st, st
	}
	if part {
		if err := u.reversePart(&p.records.Actions[done], before); err != nil {
			return fmt.Errorf("taking back what was restored of %q: %w", p.records.Actions[done].Path, err)
		}
	}
	for i := done - 1; i >= 0; i-- {
		err := u.editedMeanwhile(&p.records.Actions[i])
		if err == nil {
			err = u.reverseOne(&p.records.Actions[i], before)
		}
		if err != nil {
			return fmt.Errorf("taking back what was restored of %q: %w", p.records.Actions[i].Path, err)
		}
	}
	return u.reverseParents(p)
}

// met are the states that a plan found, by path and by inode: something may get its
// metadata at another path than the one at which it was found.
type met struct {
	at map[string]*journal.State
	of map[journal.ID]*journal.State
}

// reversePart takes back an action that did not work.
func (u *reverser) reversePart(a *journal.Action, before met) error {
	switch a.Verb {
	case journal.Rewrite:
		return u.reverseOne(a, before)
	case journal.Take, journal.Put, journal.Swap, journal.Drop:
	default:
		return nil
	}
	dir, name, err := disk.ParentIn(u.roots, string(a.Path))
	if disk.Missing(err) || name == "" && err == nil {
		return nil
	}
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	defer disk.Widened(dir, 0o300)()
	if a.Verb != journal.Drop {
		return u.partly(dir, name, a)
	}
	for _, at := range []int{u.w.ObjectsFD(), dir} {
		now, err := disk.StateAt(at, string(a.Temp), 0)
		if err == nil && now.Kind != journal.Absent {
			err = putBack(at, string(a.Temp), dir, name)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// reverseParents gives directories their times back, after all that was done in
// them.
func (u *reverser) reverseParents(p *Plan) error {
	for _, at := range slices.Backward(slices.Sorted(maps.Keys(p.parents))) {
		st := p.parents[at]
		if st.Kind != journal.Dir {
			continue
		}
		dir, name, err := disk.ParentIn(u.roots, at)
		if err != nil {
			return fmt.Errorf("taking back the times of %q: %w", at, err)
		}
		err = disk.SetMeta(dir, name, &st)
		unix.Close(dir)
		if err != nil {
			return fmt.Errorf("taking back the times of %q: %w", at, err)
		}
	}
	return nil
}

func (u *reverser) reverseOne(a *journal.Action, before met) error {
	dir, name, err := u.entry(a)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	defer disk.Widened(dir, 0o300)()
	switch a.Verb {
	case journal.Rewrite:
		return u.unwrite(dir, name, a)
	case journal.Take, journal.Put, journal.Swap:
		return u.reverseMove(dir, name, a)
	case journal.Drop:
		return u.undrop(dir, name, a)
	case journal.Empty, journal.MakeSymlink, journal.MakeNode, journal.MakeLink, journal.Duplicate:
		return u.discard(dir, name, a)
	case journal.MakeDir:
		err := disk.UnlinkAt(dir, name, unix.AT_REMOVEDIR)
		if err == unix.ENOTEMPTY && u.allSpared(string(a.Path)) {
			return nil // it was there already, see make
		}
		return err
	case journal.RemoveDir:
		err := disk.MkdirAt(dir, name, 0o700)
		if err != nil && err != unix.EEXIST { // it was not empty, and stayed
			return err
		}
		return disk.SetMeta(dir, name, &a.State)
	case journal.SetMeta:
		now, err := disk.StateAt(dir, name, 0)
		if err != nil {
			return err
		}
		st := before.of[now.ID]
		switch at := before.at[string(a.Path)]; {
		case a.In != (journal.Object{}):
			st = &a.Known.Was
		case at != nil && (st == nil || at.ID == now.ID):
			st = at
		case st == nil:
			st = &a.State // of a directory that only had to stay as it was
		}
		if st.Kind == a.State.Kind {
			return disk.SetMeta(dir, name, st)
		}
	case journal.Aside:
		return u.asideAgain(dir, name, a)
	}
	return nil
}

func (u *reverser) reverseMove(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	switch a.Verb {
	case journal.Take:
		there, err := disk.StateAt(objects, number, 0)
		if err != nil {
			return err
		}
		if there.Kind != journal.Absent {
			return u.moveIn(objects, number, dir, name, a, &there)
		}
		if parked, err := u.fromPark(dir, name, a); parked || err != nil {
			return err
		}
		if a.State.Kind == journal.Absent {
			return nil
		}
		return errMissing
	case journal.Put:
		back := *a
		back.State.Kind = journal.Absent // whatever it is
		if a.State.Kind == journal.Dir {
			back.State.Kind = journal.Dir
		}
		_, err := u.moveOut(dir, name, objects, number, &back)
		return err
	}
	now, err := disk.StateAt(dir, name, 0)
	if err != nil {
		return err
	}
	err = disk.Exchange(objects, number, dir, name)
	if err == unix.EXDEV {
		back := *a
		back.State = now
		err = swapApart(dir, name, objects, number, &back)
	}
	return err
}

// unwrite gives a file of several names what was kept of it before it was
// rewritten, if it was.
func (u *reverser) unwrite(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.To)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	kept, err := disk.StateAt(objects, number, disk.WithXattrs)
	if err != nil || kept.Kind == journal.Absent {
		return err
	}
	if err := u.rewrite(dir, name, &journal.Action{Path: a.Path, In: a.In, Object: a.To, To: a.To, State: journal.State{Kind: journal.File, ID: a.State.ID, Size: -1}}); err != nil {
		return err
	}
	return disk.SetMeta(dir, name, &kept)
}

// undrop gives a file a name again that was dropped, as it had another one then, or a
// link in the store.
func (u *reverser) undrop(dir int, name string, a *journal.Action) error {
	var from int
	var old string
	var err error
	if a.To != (journal.Object{}) {
		from, old, err = u.object(a.To)
	} else {
		from, old, err = disk.ParentIn(u.roots, string(a.State.Target))
	}
	if err != nil {
		return err
	}
	defer unix.Close(from)
	defer disk.Widened(from, 0o100)()
	now, err := disk.StateAt(from, old, 0)
	if err == nil && now.ID != a.State.ID {
		err = disk.ErrChanged
	}
	if err != nil {
		return err
	}
	return disk.LinkAt(from, old, dir, name)
}
