package undo

import (
	"errors"
	"fmt"
	"path"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// editedMeanwhile keeps a copy beside of what an undo has restored and another program
// has written to, or replaced, since: the undo is about to take it back. What it restores
// has the time that it had before the step.
func (u *reverser) editedMeanwhile(a *journal.Action) error {
	switch a.Verb {
	case journal.Put, journal.Swap, journal.Rewrite, journal.Empty, journal.Duplicate:
	default:
		return nil
	}
	dir, name, err := u.entry(a)
	if err != nil {
		return err
	}
	defer unix.Close(dir)
	now, err := disk.StateAt(dir, name, 0)
	if err != nil || now.Kind != journal.File || u.began == 0 || now.Mtime < u.began-int64(disk.ClockTick) || now.Mtime == a.State.Mtime {
		return err
	}
	was, moved := u.placed[string(a.Path)]
	switch {
	case moved && now.Mtime == was, !moved && (a.Verb == journal.Put || a.Verb == journal.Swap):
		return nil
	case !moved && now.Size == max(a.Holds-1, 0): // the undo wrote it, and has not given it its time yet
		return nil
	}
	for try := 1; try <= besideTries; try++ {
		as := beside(name, try)
		err := copyAny(dir, name, dir, as, journal.TempPrefix+as[:min(len(as), maxName-len(journal.TempPrefix))])
		switch {
		case errors.Is(err, unix.EEXIST):
			continue
		case err != nil:
			return fmt.Errorf("keeping what was written to it meanwhile: %w", err)
		}
		u.besides = append(u.besides, pathname.Join(path.Dir(string(a.Path)), as))
		return nil
	}
	return fmt.Errorf("keeping what was written to it meanwhile: every name is taken, up to %q", beside(name, besideTries))
}

// places notes what the undo puts at a path.
func (u *actor) places(a *journal.Action, st *journal.State) {
	if u.placed == nil {
		u.placed = make(map[string]int64)
	}
	u.placed[string(a.Path)] = st.Mtime
}

// withBesides adds to an error what editedMeanwhile has kept.
func (u *reverser) withBesides(err error) error {
	if len(u.besides) == 0 {
		return err
	}
	return fmt.Errorf("%w; what was edited since it was restored is kept as %q", err, u.besides)
}

// starts notes when the first change of an undo is made.
func (u *reverser) starts() {
	if u.began == 0 {
		u.began = time.Now().UnixNano()
	}
}
