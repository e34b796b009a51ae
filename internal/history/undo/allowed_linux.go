package undo

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/writer"

	"golang.org/x/sys/unix"
)

// allowedPlan asks for every path, and finds out before anything is changed what cannot be.
func (u *undo) allowedPlan(roots []disk.Root, p *Plan) error {
	in := disk.DirWalk{Roots: roots, Open: func(path string) (int, string, error) { return disk.ParentIn(roots, path) }}
	defer in.Close()
	for i := range p.records.Actions {
		a := &p.records.Actions[i]
		if at := in.Immovable(cmp.Or(string(a.Path), a.Known.Last)); at != "" {
			return fmt.Errorf("nothing was changed: %q is immutable or append-only (chattr +i, +a)", at)
		}
		if u.req.Allow == nil {
			continue
		}
		op := writer.Make
		switch a.Verb {
		case journal.Put, journal.Empty, journal.MakeDir, journal.MakeSymlink, journal.MakeNode, journal.MakeLink, journal.Duplicate:
		case journal.Swap, journal.Rewrite:
			op = writer.Content
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
	objects, err := u.ObjectsOf(a.Object.Segment, false)
	if err != nil {
		return nil, nil, err
	}
	defer unix.Close(objects)
	then, err = readFile(objects, journal.ObjectName(a.Object.Number), limit)
	return now, then, err
}

// readFile reads a regular file of no more than limit bytes.
func readFile(dir int, name string, limit int64) ([]byte, error) {
	fd, err := disk.OpenAt(dir, name, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	defer f.Close()
	if st, err := disk.StateAt(fd, "", 0); err != nil || st.Kind != journal.File {
		return nil, errors.Join(err, errors.New("it is no file"))
	}
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(data)) > limit {
		return nil, fmt.Errorf("it is longer than %d bytes", limit)
	}
	return data, err
}
