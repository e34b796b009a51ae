package writer

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// End closes the step: what it left is looked at and written down. See Sync. No
// change may be on its way. What still has somebody who can write to it without
// asking is kept for the next step, which begins at once then. The number is that
// of the step that is open afterwards, 0 for none: after an error the same as
// before, and what is never closed here is closed by [CloseStep].
func (w *Writer) End(exit int, next *journal.Begin) (uint64, error) {
	return w.EndWith(exit, next, w.StillWritten())
}

// EndWith is End where the next step keeps only some of what is still written:
// the others are kept by another writer, see Keep.
func (w *Writer) EndWith(exit int, next *journal.Begin, written []Written) (uint64, error) {
	before := w.step
	if next != nil && len(written) > 0 {
		w.left = make(map[string]journal.Post, len(written))
		for _, f := range written {
			w.left[f.Path] = journal.Post{}
		}
	}
	if open, err := w.end(exit); err != nil || next == nil || len(written) == 0 {
		return open, err
	}
	number, err := w.Begin(*next)
	if err != nil {
		return 0, err
	}
	return number, w.keepWritten(written, before)
}

func (w *Writer) end(exit int) (uint64, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == 0 {
		return 0, nil
	}
	w.seen = time.Time{}
	c := closing{knowledge: &w.knowledge, granted: w.granted, left: w.left, sums: sums{roots: w.roots}}
	err := c.strays(c.strayed())
	if err == nil {
		err = c.post()
	}
	if err == nil {
		err = c.beyond()
	}
	if err == nil {
		err = w.write(&journal.Record{End: &journal.End{Time: time.Now().UnixNano(), Exit: exit}})
	}
	if err != nil {
		w.unused = nil // some of it may be in use: the history's gc finds the rest
		return w.step, err
	}
	w.step, w.tree, w.groups, w.inodes = 0, nil, nil, nil
	w.leaveDir()
	w.grants.forget()
	return 0, nil
}

// closing looks at what a step has touched and writes down what it left, once all its
// changes are over.
type closing struct {
	*knowledge
	granted *Granted                // nil: no program opens unseen what a step before opened for writing
	left    map[string]journal.Post // by the step, of files that a process still writes to
	sums    sums
}

// post writes down what the step left.
func (w *closing) post() error {
	var err error
	in := disk.DirWalk{Roots: w.roots, Open: func(path string) (int, string, error) { return disk.ParentIn(w.roots, path) }}
	defer in.Close()
	w.tree.each(func(s *slot) {
		if err != nil || !s.noted() {
			return
		}
		if !s.changed() && !stirred(s, &in) {
			err = w.withdraw(s)
		} else {
			err = w.postOf(s, &in)
		}
	})
	return err
}

func (w *closing) postOf(s *slot, in *disk.DirWalk) error {
	at := s.path()
	if at == "" {
		return nil
	}
	st, err := lookThrough(in, at)
	if errors.Is(err, unix.EXDEV) {
		return nil // it was not kept either
	}
	if err != nil {
		return err
	}
	st = w.byTheStep(s, st)
	if o := s.is; st.Unread && o != nil && o.hidden != nil && o.hidden.ID == st.ID {
		st.Xattrs, st.Unread = o.hidden.Xattrs, false
	}
	return w.writePost(s, w.leftAt(s, at, st))
}

func (w *closing) writePost(s *slot, p *journal.Post) error {
	st := p.State
	if s.is != nil && s.is.opened && st.Kind == journal.File {
		w.granted.add(st.ID)
	}
	if s.is != nil && s.is.origin != "" && st.Kind != journal.Absent && (s.is.id == journal.ID{} || s.is.id == st.ID) {
		p.Origin = journal.Bytes(s.is.origin)
	}
	p.Timed = s.is != nil && s.is.timed && st.Kind == journal.Dir
	if _, ok := w.left[string(p.Path)]; ok {
		w.left[string(p.Path)] = *p
	}
	return w.write(&journal.Record{Post: p})
}

// Close ends the segment. A step that is still open stays so: the next command
// finds it interrupted.
func (w *Writer) Close() error {
	defer w.Abandon()
	if w.step != 0 || w.unfinished {
		w.file = nil
		return w.log.Close()
	}
	if w.unsynced { // else nothing would say that it is to be read again after a loss of power
		if err := w.Sync(); err != nil {
			w.file = nil
			return errors.Join(err, w.log.Close())
		}
	}
	w.store.MarkClosed(w.segment)
	err := w.seal()
	if err == nil {
		w.store.IndexSegment(w.segment)
	}
	return err
}

// lookThrough is look when no change is on its way.
func lookThrough(in *disk.DirWalk, at string) (st journal.State, err error) {
	dir, name, err := in.Parent(at)
	if disk.Missing(err) {
		return journal.State{}, nil
	}
	if err == nil {
		st, err = disk.LookAt(dir, name)
	}
	if err != nil {
		return st, fmt.Errorf("looking at %q: %w", at, err)
	}
	return st, nil
}

// byTheStep gives what the calls of the step have left at a slot, of which now is what
// is there at the end: another program may have put that there meanwhile.
func (w *closing) byTheStep(s *slot, now journal.State) journal.State {
	o := s.is
	if o == nil {
		return journal.State{}
	}
	if known := w.known(now.ID); o.id == (journal.ID{}) || w.isInode(o.id, now.ID) || known != nil && known.origin == "" {
		return now
	}
	switch g := o.grant(); { // it was replaced or removed
	case g.closed():
		return g.left
	case g != nil && g.seen != nil:
		return *g.seen
	case g != nil && g.made != nil:
		return unseen(g.made)
	}
	for _, known := range []*object{o, w.known(o.id)} {
		switch {
		case known == nil:
		case known.left != nil:
			return *known.left
		case known.found != nil && o.grant() != nil:
			return unseen(known.found)
		case known.found != nil:
			return *known.found
		}
	}
	return now
}

// leftAt gives what the step left at a slot, of which st is what is there at the end.
func (w *closing) leftAt(s *slot, at string, st journal.State) *journal.Post {
	p := &journal.Post{Path: journal.Bytes(at), State: st}
	var g *grant
	if s.is != nil {
		g = s.is.grant()
	}
	if found := w.unwritten(s, &st); found != nil {
		p.Unwritten = true
		if w.editedSince(s, &st, found) {
			p.State.Size, p.State.Mtime, p.State.Ctime, p.State.Sum = found.Size, found.Mtime, found.Ctime, found.Sum
			return p
		}
	}
	switch {
	case g.closed() && !disk.Unmoved(&st, &g.left) && !w.onlyNamesDiffer(at, &st, &g.left):
		p.State = g.leftWith(&st)
		return p
	case g.closed() && g.tick && len(g.left.Sum) > 0:
		if w.sums.add(at, &p.State); p.State.Sum != g.left.Sum { // only the content tells the two apart
			p.State, p.State.Ctime = g.leftWith(&st), 0
		}
		return p
	case g.closed():
		p.State.Sum = g.left.Sum
	case g != nil:
		p.Late = st.Kind == journal.File && (g.late || g.seen != nil)
	case st.Kind == journal.File && s.is != nil && s.is.left != nil && w.isInode(s.is.left.ID, st.ID) && !w.sameContent(&st, s.is.left):
		xattrs, unread := st.Xattrs, st.Unread
		p.State = *s.is.left
		p.State.Xattrs, p.State.Unread = xattrs, unread
		return p
	}
	if len(p.State.Sum) == 0 {
		w.sums.add(at, &p.State)
	}
	return p
}

// unwritten gives the state in which the step found the file that is at a slot, nil where
// the step may have written to it.
func (w *closing) unwritten(s *slot, st *journal.State) *journal.State {
	o, g := s.is, w.groups[st.ID]
	wrote := func(o *object) bool { return o.grant() != nil || o.written }
	switch {
	case st.Kind != journal.File || o == nil || wrote(o):
		return nil
	case g == nil && (o.origin == "" || o.found == nil || o.found.ID != st.ID):
		return nil
	case g == nil:
		return o.found
	case len(g.members) == 0 || g.written || slices.ContainsFunc(g.members, wrote):
		return nil
	}
	return &g.state
}

// editedSince reports whether another program has written to a file that the step found
// with a state, and did not write to.
func (w *closing) editedSince(s *slot, st, found *journal.State) bool {
	touched := s.is.touched
	if g := w.groups[st.ID]; g != nil {
		touched = touched || g.touched
	}
	return st.Size != found.Size || st.Mtime != found.Mtime && !touched
}

// onlyNamesDiffer reports whether a file is as the step left it but for the time of change,
// which is another one since the step took away the name that it knew the file by. The
// store may have a link instead, so their number says nothing.
func (w *closing) onlyNamesDiffer(at string, now, left *journal.State) bool {
	if now.ID != left.ID || !w.sameContent(now, left) {
		return false
	}
	if len(left.Sum) == 0 {
		return true
	}
	seen := *now
	w.sums.add(at, &seen)
	return seen.Sum == left.Sum
}
