package writer

import (
	"slices"

	"carrel/internal/history/journal"
)

// named gives what the two names of a change mean, nil where that is nothing or the
// step writes to no file. What is made had no name before.
func (w *grants) named(c *Change) (is [2]*object) {
	if w.of == nil || c.Op == Make {
		return is
	}
	return w.tree.means(c)
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
func (w *grants) begins(c *Change) {
	is := w.named(c)
	if c.moves(is) {
		w.moving++
	}
	for _, o := range is {
		w.takesPart(o)
	}
	for _, g := range grantsOf(is) {
		if g.turn++; c.Op == Content {
			g.seen, g.left = nil, journal.State{} // until it is closed again
			delete(w.of, g)
			continue
		}
		g.busy++
	}
}

// takesPart makes a name that the step meets one of the file that it writes to by another:
// what it changes by this name is its own change too, and no edit of another program.
func (w *grants) takesPart(o *object) {
	if o == nil || o.grant() != nil {
		return
	}
	if known := w.known(o.id); known.grant() != nil {
		o.setGrant(known.grant())
		known.grant().named(o)
	}
}

// ends notes that a change of some objects is over.
func (w *grants) ends(c *Change, failed error, was [2]*object) {
	if c.moves(was) {
		w.moving = max(0, w.moving-1)
		w.moves++
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
		is := w.tree.means(c)
		made := is[0]
		if c.Copied {
			made = is[1]
		}
		if made != nil {
			w.watch(made)
		}
	case failed == nil && c.Op == Link:
		if is := w.tree.means(c); is[0] != nil && is[1] != nil {
			w.shares(is[0], is[1])
		}
	}
}

// shares makes a new name one of the file that the step writes to by another, or by a
// descriptor of a file that had none.
func (w *grants) shares(from, to *object) {
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
func (w *grants) renew(c *Change, g *grant) {
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

// unseen is a file that the step wrote to since it had a state, and of which the content
// was replaced before the watcher looked at it.
func unseen(was *journal.State) journal.State {
	st := *was
	st.Size, st.Mtime, st.Ctime, st.Sum = journal.UnknownSize, 0, 0, ""
	return st
}

// leftWith is what was seen when the file was closed, with the attributes of now: nobody
// looked at them then.
func (g *grant) leftWith(now *journal.State) journal.State {
	st := g.left
	st.Xattrs, st.Unread = now.Xattrs, now.Unread
	return st
}

// joins gives an object and the group of its file one grant.
func (w *grants) joins(o *object, g *group) {
	own := o.own
	o.group, o.own = g, nil
	g.touched, g.written = g.touched || o.touched, g.written || o.written
	switch {
	case own == nil || own == g.grant:
		return
	case g.grant == nil:
		g.grant = own
	default: // what is known of either is of one name
		delete(w.of, own)
		w.watch(o)
	}
}
