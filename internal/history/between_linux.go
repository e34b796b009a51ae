package history

import "fmt"

// keepBetween keeps what another program has written to a file of the step since that
// closed it, if the change destroys it.
func (w *Writer) keepBetween(c *Change, s, to *slot) error {
	destroys := c.Op == Content || c.Op == Remove || c.Copied
	if err := w.meets(c, s, destroys); err != nil || to == nil {
		return err
	}
	return w.meets(c, to, c.Op == Rename)
}

// meets compares what is at a slot with what the step left there.
func (w *Writer) meets(c *Change, s *slot, destroys bool) error {
	if s.is == nil {
		return nil
	}
	if s.is.group == nil && len(w.groups) > 0 { // it may be a name of a file that the step knows
		if st, err := w.glance(s); err == nil && w.groups[st.ID] != nil {
			w.joinGroup(s.is, &st)
		}
	}
	if !s.is.grant().closed() || s.is.grant().busy > 0 {
		return nil
	}
	g := s.is.grant()
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
