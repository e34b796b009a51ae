package history

import (
	"cmp"
	"fmt"

	"golang.org/x/sys/unix"
)

// allowedPlan asks for every path.
func (u *undo) allowedPlan(roots []root, p *Plan) error {
	if u.req.Allow == nil {
		return nil
	}
	for i := range p.actions {
		a := &p.actions[i]
		op := Make
		switch a.Verb {
		case put, empty, mkdir, symlink, mknod, link, duplicate:
		case swap, rewrite:
			op = Content
		default:
			continue
		}
		at := cmp.Or(string(a.Path), a.last)
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
func (u *undo) sides(roots []root, a *action, limit int64) (now, then []byte, err error) {
	dir, name, err := u.entryIn(roots, a)
	if err == nil {
		now, err = readFile(dir, name, limit)
		unix.Close(dir)
	}
	if err != nil && !missing(err) {
		return nil, nil, err
	}
	if a.Object == (Object{}) {
		return now, nil, nil
	}
	objects, err := u.objectsOf(a.Object.Segment, false)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(objects)
	then, err = readFile(objects, objectName(a.Object.Number), limit)
	return now, then, err
}
