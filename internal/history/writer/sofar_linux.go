package writer

import (
	"errors"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"
)

// SoFar looks at what an open step has come to by now, so that it can be told like
// one that is closed: its Posts are what is there at this moment. Nothing is written,
// and whoever writes the step goes on meanwhile. The step must not be used for an undo
// afterwards: its own end says what it left.
func SoFar(l *store.Log, st *steplog.Step) error {
	if !st.Open() || st.Undoes() {
		return nil
	}
	st.Read()
	if st.Damaged != "" {
		return errors.New(st.Damaged)
	}
	var paths []string
	for _, r := range st.Begin.Roots {
		paths = append(paths, string(r))
	}
	roots, err := disk.OpenThere(paths)
	if err != nil {
		return err
	}
	defer disk.CloseRoots(roots)
	t := newTree(paths)
	replay(t, roots, st)
	st.Recount()
	t.each(func(s *slot) {
		at := s.path()
		if at == "" || !s.noted() {
			return
		}
		now, gone, found := l.LeftBy(st, at)
		if !found {
			var e error
			if now, e = disk.LookIn(roots, gone); e != nil {
				err = errors.Join(err, e)
				return
			}
		}
		p := &journal.Post{Path: journal.Bytes(at), State: now}
		if s.is != nil && s.is.origin != "" && now.Kind != journal.Absent && (s.is.id == journal.ID{} || s.is.id == now.ID) {
			p.Origin = journal.Bytes(s.is.origin)
		}
		st.AddPost(p)
	})
	return err
}
