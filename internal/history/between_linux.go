package history

import "fmt"

// keepBetween keeps what another program has written to a file of the step since that
// closed it, or has put where the step knows of nothing, if the change destroys it.
func (w *Writer) keepBetween(c *Change, s, to *slot) error {
	destroys := c.Op == Content || c.Op == Remove || c.Copied
	moves := c.Op == Rename || c.Op == Exchange || c.Op == Link
	if err := w.meets(c, s, destroys || moves && s.unknown()); err != nil || to == nil {
		return err
	}
	return w.meets(c, to, c.Op == Rename || c.Op == Exchange && to.unknown())
}

// meets compares what is at a slot with what the step left there.
func (w *Writer) meets(c *Change, s *slot, destroys bool) error {
	if s.unknown() || s.is.origin == "" && s.is.id != (ID{}) && s.is.grant() == nil {
		if !destroys || s.pending > 0 {
			return nil
		}
		return w.meetsStranger(c, s)
	}
	if s.is.group == nil && len(w.groups) > 0 { // it may be a name of a file that the step knows
		if st, err := w.glance(s); err == nil && w.groups[st.ID] != nil {
			w.joinGroup(s.is, &st)
		}
	}
	g := s.is.grant()
	if g == nil && s.is.content && s.is.origin != "" && destroys && s.pending == 0 {
		return w.meetsKept(c, s)
	}
	if !g.closed() || g.busy > 0 {
		return nil
	}
	st, err := w.glance(s)
	if err != nil {
		return err
	}
	g.same = unmoved(&st, &g.left) || w.rereads(s, &st, g)
	switch {
	case g.same, !destroys, st.Kind == Absent, g.kept != nil && unmoved(&st, g.kept):
		return nil
	case st.Links > 1 && c.Op != Content: // another name keeps it
		return nil
	case w.ignored != nil && w.ignored(s.path()):
		return nil
	}
	if err = w.storeBetween(s.is, s, &st); err == nil {
		g.kept = &st
	}
	return err
}

// meetsStranger keeps what is at a slot where the step knows of nothing, has made
// something else that is no file, or has brought what it met so before: another program
// has put it there, or written to it.
func (w *Writer) meetsStranger(c *Change, s *slot) error {
	st, err := w.glance(s)
	if err != nil {
		return err
	}
	o := s.other
	if s.is != nil && s.is.found != nil {
		o = s.is
	}
	switch {
	case st.Kind != File && st.Kind != Symlink, s.is != nil && s.is.found == nil && s.is.id == st.ID:
		return nil
	case st.Links > 1 && c.Op == Remove: // another name keeps it
		return nil
	case o != nil && o.found != nil && unmoved(&st, o.found):
		return nil
	case w.ignored != nil && w.ignored(s.path()):
		return nil
	case o == nil:
		o = &object{at: s, meta: true, content: true}
		s.other = o
	}
	known := s.is
	if s.unknown() {
		s.is = o // so that others wait until it is kept
	}
	err = w.storeBetween(o, s, &st)
	if s.is == o {
		s.is = known
	}
	if err == nil {
		o.id, o.found = st.ID, &st
	}
	return err
}

// meetsKept keeps what another program has written to a file, or put in its place, since
// the step kept what it held: that did not go then, and the step has not written to it.
func (w *Writer) meetsKept(c *Change, s *slot) error {
	o := s.is
	if o.group != nil || o.written || o.found == nil {
		return nil
	}
	st, err := w.glance(s)
	if err != nil {
		return err
	}
	was := o.found
	if o.edited != nil {
		was = o.edited
	}
	switch {
	case st.Kind != File && st.Kind != Symlink, st.Links > 1 && c.Op == Remove:
		return nil
	case st.ID == was.ID && st.Size == was.Size && (st.Mtime == was.Mtime || o.timed):
		return nil
	case w.ignored != nil && w.ignored(s.path()):
		return nil
	}
	if err = w.storeBetween(o, s, &st); err == nil {
		o.edited = &st
	}
	return err
}

// unknown says whether the step knows of nothing at a slot.
func (s *slot) unknown() bool { return s.is == nil || s.is.passed }

// adopt makes what another program had put at a slot the step's own, as that writes to it
// or gives it another name. What it held is kept.
func (s *slot) adopt() *object {
	if s.unknown() && s.other != nil && s.other.found != nil {
		s.is, s.other = s.other, nil
	}
	return s.is
}

// ofStranger gives what is known of a file that was adopted, nothing of any other.
func (o *object) ofStranger() (ID, *State) {
	if o.origin != "" {
		return ID{}, nil
	}
	return o.id, o.found
}

// rereads reports whether a file that has other times than the step left has the
// content that it left: names that came and went, or a write of the same, are no edit.
func (w *Writer) rereads(s *slot, st *State, g *grant) bool {
	if len(g.left.Sum) == 0 || st.ID != g.left.ID || st.Size != g.left.Size {
		return false
	}
	at, err := w.reach(s, s.path())
	if err != nil {
		return false
	}
	defer at.close()
	if sumAt(at.dir, at.name, st) != g.left.Sum {
		return false
	}
	sum := g.left.Sum
	g.left = *st
	g.left.Sum = sum
	return true
}

func (w *Writer) storeBetween(o *object, s *slot, st *State) error {
	at := s.path()
	p := &Pre{Path: Bytes(at)}
	if st.Kind == File && st.Size > 0 {
		number, err := w.storeNew(o, s, at, st, false)
		switch {
		case err == nil:
			p.Object = Object{w.segment, number}
		case lost(err) != "" && !o.mayLose:
			return &LostError{Path: at, Why: lost(err), object: o}
		case lost(err) != "":
			p.Lost = lost(err)
		default:
			return fmt.Errorf("keeping %q: %w", at, err)
		}
	}
	p.State, w.lost = *st, w.lost || p.Lost != ""
	err := w.write(&Record{Between: p})
	if err != nil && p.Object != (Object{}) {
		_ = unlinkAt(w.objects, objectName(p.Object.Number), 0)
	}
	return err
}
