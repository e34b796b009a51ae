package writer

import (
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// named gives what the two names of a change mean, nil where that is nothing or the
// step writes to no file. What is made had no name before.
func (w *Writer) named(c *Change) (is [2]*object) {
	if w.grants.of == nil || c.Op == Make {
		return is
	}
	return w.find(c)
}

func (w *Writer) find(c *Change) (is [2]*object) {
	for i, path := range []string{c.Path, c.To} {
		if path == "" {
			continue
		}
		if s := w.tree.find(path); s != nil {
			is[i] = s.is
		}
	}
	return is
}

// grantsOf gives the different grants of some objects.
func grantsOf(is [2]*object) []*grant {
	var out []*grant
	for _, o := range is {
		if o == nil {
			continue
		}
		if g := o.grant(); g != nil && !slices.Contains(out, g) {
			out = append(out, g)
		}
	}
	return out
}

// moves reports whether a change of some objects gives other paths to what lies in them.
func (c *Change) moves(is [2]*object) bool {
	holds := func(o *object) bool { return o != nil && len(o.names) > 0 }
	return (c.Op == Rename || c.Op == Exchange) && (holds(is[0]) || holds(is[1]))
}

// begins notes that a change is on its way: what is seen until it is over may be of
// before it or of after it.
func (w *Writer) begins(c *Change) {
	is := w.named(c)
	if c.moves(is) {
		w.grants.moving++
	}
	for _, o := range is {
		w.takesPart(o)
	}
	for _, g := range grantsOf(is) {
		if g.turn++; c.Op == Content {
			g.seen, g.left = nil, journal.State{} // until it is closed again
			delete(w.grants.of, g)
			continue
		}
		g.busy++
	}
}

// takesPart makes a name that the step meets one of the file that it writes to by another:
// what it changes by this name is its own change too, and no edit of another program.
func (w *Writer) takesPart(o *object) {
	if o == nil || o.grant() != nil {
		return
	}
	if known := w.known(o.id); known.grant() != nil {
		o.setGrant(known.grant())
		known.grant().named(o)
	}
}

// ends notes that a change of some objects is over.
func (w *Writer) ends(c *Change, failed error, was [2]*object) {
	if c.moves(was) {
		w.grants.moving = max(0, w.grants.moving-1)
		w.grants.moves++
	}
	for _, g := range grantsOf(was) {
		if c.Op == Content {
			continue
		}
		if g.busy = max(0, g.busy-1); g.busy == 0 && g.closed() && g.same && failed == nil {
			w.renew(c, g)
		}
	}
	switch {
	case c.Op == Content && (c.Opens || len(grantsOf(was)) > 0), failed == nil && (c.Op == Make && c.Opens || c.Copied):
		is := w.find(c)
		made := is[0]
		if c.Copied {
			made = is[1]
		}
		if made != nil {
			w.watch(made)
		}
	case failed == nil && c.Op == Link:
		if is := w.find(c); is[0] != nil && is[1] != nil {
			w.shares(is[0], is[1])
		}
	}
}

// shares makes a new name one of the file that the step writes to by another, or by a
// descriptor of a file that had none.
func (w *Writer) shares(from, to *object) {
	g := from.grant()
	switch {
	case g == nil && from.origin != "" && !from.meta:
		w.watch(to)
	case g != nil:
		to.setGrant(g)
		g.named(to)
	}
}

// renew takes a change of the step's own over into what it left. It looks by the name that
// the change was of, where that is one of the file: others may be out of reach.
func (w *Writer) renew(c *Change, g *grant) {
	s := g.at()
	at, to := w.tree.find(c.Path), w.tree.find(c.To)
	of := func(s *slot) bool { return s != nil && s.is != nil && s.is.grant() == g }
	switch {
	case of(to):
		s = to
	case of(at):
		s = at
	}
	if s == nil {
		return
	}
	before := s.via
	switch s {
	case at:
		s.via = &via{dir: c.Dir, name: c.Name, pinned: c.Pinned}
	case to:
		s.via = &via{dir: c.ToDir, name: c.ToName}
	}
	st, err := w.glance(s)
	s.via = before
	switch {
	case err != nil || st.ID != g.left.ID || st.Size != g.left.Size:
	default:
		st.Sum = g.left.Sum // first: an assignment of both would take over st without it
		g.left = st
	}
}

// byTheStep gives what the calls of the step have left at a slot, of which now is what
// is there at the end: another program may have put that there meanwhile.
func (w *Writer) byTheStep(s *slot, now journal.State) journal.State {
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

// unseen is a file that the step wrote to since it had a state, and of which the content
// was replaced before the watcher looked at it.
func unseen(was *journal.State) journal.State {
	st := *was
	st.Size, st.Mtime, st.Ctime, st.Sum = journal.UnknownSize, 0, 0, ""
	return st
}

// unwritten gives the state in which the step found the file that is at a slot, nil where
// the step may have written to it.
func (w *Writer) unwritten(s *slot, st *journal.State) *journal.State {
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
func (w *Writer) editedSince(s *slot, st, found *journal.State) bool {
	touched := s.is.touched
	if g := w.groups[st.ID]; g != nil {
		touched = touched || g.touched
	}
	return st.Size != found.Size || st.Mtime != found.Mtime && !touched
}

// leftWith is what was seen when the file was closed, with the attributes of now: nobody
// looked at them then.
func (g *grant) leftWith(now *journal.State) journal.State {
	st := g.left
	st.Xattrs, st.Unread = now.Xattrs, now.Unread
	return st
}

// onlyNamesDiffer reports whether a file is as the step left it but for the time of change,
// which is another one since the step took away the name that it knew the file by. The
// store may have a link instead, so their number says nothing.
func onlyNamesDiffer(w *Writer, at string, now, left *journal.State) bool {
	if now.ID != left.ID || !w.sameContent(now, left) {
		return false
	}
	if len(left.Sum) == 0 {
		return true
	}
	seen := *now
	w.sum(at, &seen)
	return seen.Sum == left.Sum
}

// leftAt gives what the step left at a slot, of which st is what is there at the end.
func (w *Writer) leftAt(s *slot, at string, st journal.State) *journal.Post {
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
	case g.closed() && !disk.Unmoved(&st, &g.left) && !onlyNamesDiffer(w, at, &st, &g.left):
		p.State = g.leftWith(&st)
		return p
	case g.closed() && g.tick && len(g.left.Sum) > 0:
		if w.sum(at, &p.State); p.State.Sum != g.left.Sum { // only the content tells the two apart
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
		w.sum(at, &p.State)
	}
	return p
}
