package undo

import (
	"errors"
	"fmt"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"
	"carrel/internal/history/writer"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// goOn finishes an undo that was interrupted, and what was to be done after it.
func goOn(s *store.Store, l *store.Log, st *steplog.Step, roots []string) (closed []uint64, err error) {
	if at := outside(st, roots); at != "" {
		return nil, fmt.Errorf("it changes %q, which is in no place that may be changed here", at)
	}
	w, err := writer.ReopenUndo(s, st, l)
	if err != nil {
		return nil, err
	}
	defer w.Drop()
	left := 0
	if st.Open() {
		if left, err = resume(s, w, st, l); err != nil {
			return nil, err
		}
		closed = append(closed, st.Number)
	}
	if len(st.Begin.Rest) == 0 || st.Open() && !st.Ready {
		return closed, nil
	}
	if left == 0 {
		var done bool
		if done, err = rest(s, w, st, roots); done || err != nil {
			return closed, err
		}
	}
	return closed, w.Conclude(st.Number, journal.End{Alone: true})
}

// outside gives a path of an undo that is in none of the roots.
func outside(st *steplog.Step, roots []string) string {
	in := func(path string) bool {
		return slices.ContainsFunc(roots, func(r string) bool { return pathname.Within(path, r) })
	}
	for _, r := range st.Begin.Roots {
		if !in(string(r)) {
			return string(r)
		}
	}
	for i := range st.Plan {
		a := &st.Plan[i]
		if at := string(a.Path); !in(at) && (at != "" || a.In == (journal.Object{})) { // what has no name in the tree is in the store
			return at
		}
	}
	return ""
}

// resume finishes one step of an undo: what was done of its plan is found done.
// What somebody changed meanwhile is left alone.
func resume(s *store.Store, w *writer.UndoWriter, st *steplog.Step, l *store.Log) (left int, err error) {
	if !st.Ready {
		return 0, w.Conclude(st.Number, journal.End{Aborted: true}) // nothing had been changed yet
	}
	if len(st.Begin.Of) != 1 || l.Step(st.Begin.Of[0]) == nil {
		return 0, errors.New("the step that it takes back is missing")
	}
	of := l.Step(st.Begin.Of[0])
	u := &resumer{actor: actor{Store: s, log: l, w: w, roots: w.Roots(), resumed: true, changes: make(map[journal.ID]bool)}, of: of}
	for i := range st.Plan {
		if a := &st.Plan[i]; a.Verb == journal.Rewrite {
			u.changes[a.State.ID] = true
		}
	}
	var paths []journal.Bytes
	for i := range st.Plan {
		a := &st.Plan[i]
		err := u.do(a)
		switch {
		case err == nil:
		case inTheWay(err) && st.TakesLater(i):
		case inTheWay(err):
			paths = append(paths, a.Path)
		default:
			return 0, fmt.Errorf("%q: %w", a.Path, err)
		}
	}
	if err := u.moveOn(st); err != nil {
		return 0, err
	}
	p := &writer.PlanRecords{Pre: st.Pres(), Posts: st.Posts(), Beyond: st.Beyond}
	if len(paths) > maxLeft {
		paths = paths[:maxLeft]
	}
	return len(paths), w.EndUndo(p, paths)
}

// expected reports whether what is moved is what a plan found. Names and content reach
// the disk in any order: a move may be lost of a file that was rewritten after it.
func (u *actor) expected(now, found *journal.State) bool {
	return journal.Same(now, found) || u.changes[now.ID] && now.ID == found.ID
}

// moveOn ends moves to the store that a loss of power left in directories which were
// moved by then: the old name, or what is on its way to another file system.
func (u *resumer) moveOn(st *steplog.Step) error {
	carried := steplog.Carriers(u.of.Posts())
	for i := range st.Plan {
		a := &st.Plan[i]
		at := carried(string(a.Path))
		if a.Verb != journal.Take || a.Temp == "" || a.Parks() || at == "" || at == string(a.Path) {
			continue
		}
		dir, name, err := disk.ParentIn(u.roots, at)
		if disk.Missing(err) {
			continue
		}
		if err == nil {
			restore := keepTimes(dir) // which are set already
			err = errors.Join(u.dropMoved(dir, a), u.dropTaken(dir, name, a))
			restore()
			unix.Close(dir)
		}
		if err != nil {
			return fmt.Errorf("%q: %w", at, err)
		}
	}
	return nil
}

// dropMoved ends the way of something to the store.
func (u *resumer) dropMoved(dir int, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	away := string(a.Temp)
	left, err := disk.StateAt(dir, away, 0)
	if err != nil || left.Kind == journal.Absent {
		return err
	}
	stored, err := disk.StateAt(objects, number, 0)
	if err == nil && stored.Kind == journal.Absent {
		err = copyAny(dir, away, objects, number, away)
	}
	if err != nil {
		return err
	}
	return clearAway(dir, away)
}

// dropTaken takes the old name away from what goes to the store, and is there or not.
func (u *resumer) dropTaken(dir int, name string, a *journal.Action) error {
	objects, number, err := u.object(a.Object)
	if err != nil {
		return err
	}
	defer unix.Close(objects)
	stored, err := disk.StateAt(objects, number, 0)
	if err != nil {
		return err
	}
	now, err := disk.StateAt(dir, name, 0)
	if err != nil || now.Kind == journal.Absent || now.ID != stored.ID && !u.expected(&now, &a.State) {
		return err
	}
	if stored.Kind == journal.Absent {
		_, err := u.moveOut(dir, name, objects, number, a)
		return err
	}
	return clearAway(dir, name)
}

const maxLeft = 1000 // paths that one record lists

// inTheWay says whether an error means that a path is not as it was when the undo
// was planned. Anything else is worth another try later.
func inTheWay(err error) bool {
	for _, e := range []error{disk.ErrChanged, errMissing, unix.EEXIST, unix.ENOENT, unix.ENOTDIR, unix.EISDIR, unix.ENOTEMPTY, unix.ELOOP} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// rest takes back the steps that an undo had still to do; done says that it did.
func rest(s *store.Store, w *writer.UndoWriter, st *steplog.Step, roots []string) (done bool, err error) {
	l, err := s.Read()
	if err != nil {
		return false, err
	}
	req := Request{Steps: st.Begin.Rest, Redo: st.Begin.Kind == journal.StepRedo, Mode: st.Begin.Mode, Roots: roots}
	for _, p := range st.Begin.Paths {
		req.Paths = append(req.Paths, string(p))
	}
	u, err := newUndo(s, l, req)
	if err != nil {
		return false, nil // somebody took them back in another way
	}
	u.w, u.roots = w, w.Roots()
	if _, err := u.preview(u.roots); err != nil || u.refused != nil {
		return false, err
	}
	return true, u.all()
}
