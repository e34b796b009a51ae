package history

import (
	"cmp"
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// allowedPlan asks for every path, and finds out before anything is changed what cannot be.
func (u *undo) allowedPlan(roots []disk.Root, p *Plan) error {
	in := disk.DirWalk{Roots: roots, Open: func(path string) (int, string, error) { return disk.ParentIn(roots, path) }}
	defer in.Close()
	for i := range p.actions {
		a := &p.actions[i]
		if at := in.Immovable(cmp.Or(string(a.Path), a.Known.Last)); at != "" {
			return fmt.Errorf("nothing was changed: %q is immutable or append-only (chattr +i, +a)", at)
		}
		if u.req.Allow == nil {
			continue
		}
		op := Make
		switch a.Verb {
		case journal.Put, journal.Empty, journal.MakeDir, journal.MakeSymlink, journal.MakeNode, journal.MakeLink, journal.Duplicate:
		case journal.Swap, journal.Rewrite:
			op = Content
		default:
			continue
		}
		at := cmp.Or(string(a.Path), a.Known.Last)
		r := &Restoration{Op: op, Path: at, State: &a.State, Open: p.Step.Begin.Open, Contents: func(limit int64) (now, then []byte, err error) {
			return u.sides(roots, a, limit)
		}}
		if err := u.req.Allow(r); err != nil {
			return fmt.Errorf("restoring %q: %w", at, err)
		}
	}
	return nil
}

// sides reads the file that an action is about, and the object that it puts there.
func (u *undo) sides(roots []disk.Root, a *journal.Action, limit int64) (now, then []byte, err error) {
	dir, name, err := u.entryIn(roots, a)
	if err == nil {
		now, err = readFile(dir, name, limit)
		unix.Close(dir)
	}
	if err != nil && !disk.Missing(err) {
		return nil, nil, err
	}
	if a.Object == (journal.Object{}) {
		return now, nil, nil
	}
	objects, err := u.objectsOf(a.Object.Segment, false)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(objects)
	then, err = readFile(objects, journal.ObjectName(a.Object.Number), limit)
	return now, then, err
}
