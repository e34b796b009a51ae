package writer

import (
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// strangers finds what other programs have done since the step did something, and keeps what
// a change would destroy of it.
type strangers struct {
	preimages
	began int64 // when the open step did, in nanoseconds since 1970
}

// keepBetween keeps what another program has written to a file of the step since that
// closed it, or has put where the step knows of nothing or left something else, if the
// change destroys it, or makes it the step's.
func (w *strangers) keepBetween(c *Change, s, to *slot) error {
	if s == to {
		return nil // renamed to itself
	}
	moves := c.Op == Rename || c.Op == Exchange || c.Op == Link
	err := w.meets(s, c.Op == Content || c.Op == Remove || c.Copied, moves)
	if err != nil || to == nil {
		return err
	}
	return w.meets(to, c.Op == Rename, c.Op == Exchange)
}

// meets compares what is at a slot with what the step left there. What is known of a file
// is known by its inode, whatever it is called by now.
func (w *strangers) meets(s *slot, destroys, moves bool) error {
	s.foreign = false
	if !destroys && !moves && s.is.grant() == nil {
		return w.meetsAnotherName(s)
	}
	look := w.glance
	if s.is != nil && s.is.origin != "" && !s.is.meta { // what follows wants to know all of it
		look = w.look
	}
	st, err := look(s)
	if err != nil || st.Kind == journal.Absent {
		return err
	}
	known := w.known(st.ID)
	if moved, err := w.follow(s, known, &st); err != nil {
		return err
	} else if moved && st.Kind != journal.File && st.Kind != journal.Symlink {
		return nil
	}
	if st.Kind != journal.File && st.Kind != journal.Symlink { // nothing is in it that a change of its name destroys
		if s.foreign = known == nil && s.pending == 0 && !s.unknown() && s.is.id != (journal.ID{}) && !w.isInode(s.is.id, st.ID); s.foreign {
			s.other = &object{at: s, meta: true, content: true, id: st.ID, left: &st}
		}
		return nil
	}
	if known != nil && known.at != s && st.Links > 1 && w.groups[st.ID] == nil && s.is != nil && s.is.origin != "" && s.is.id == (journal.ID{}) {
		w.joinGroup(known, &st) // what is kept of the file is what it held when it had no other name
	}
	if w.groups[st.ID] != nil && s.is != nil && (s.is.id == (journal.ID{}) || w.isInode(s.is.id, st.ID)) { // a name of a file that the step knows by others
		w.joinGroup(s.is, &st)
		known = s.is
	}
	switch {
	case s.pending > 0: // what is there may be the work of another call
		s.foreign = false
	case s.unknown():
		s.foreign = true
	case s.is.id == (journal.ID{}) && s.is.origin != "":
		if known == s.is {
			break
		}
		if known == nil || st.Links > 1 {
			return nil // as the step found it
		}
		if err := w.brought(s); err != nil { // another program gave a file of the step this name
			return err
		}
		s.foreign = true
	default:
		s.foreign = s.is.id != (journal.ID{}) && !w.isInode(s.is.id, st.ID) && (known == nil || known.origin != "")
	}
	if known == nil && w.layered && s.is.grant() != nil {
		s.foreign = false // a name of several is a file of its own once it was written to
	}
	if s.foreign && w.raced && (known != nil || st.ID.Birth == 0 || st.ID.Birth >= w.began) {
		s.foreign = false
	}
	switch {
	case s.foreign && (known == nil || !known.judged()):
		return w.meetsStranger(s, &st, destroys || moves)
	case known == nil:
		known = s.is
	}
	return w.meetsEdit(known, s, &st, destroys || moves && s.foreign)
}

// meetsAnotherName looks at a file whose metadata is about to change by a name that the
// step has not used yet, while it wrote to the file by another.
func (w *strangers) meetsAnotherName(s *slot) error {
	if w.grants.of == nil {
		return nil
	}
	st, err := w.glance(s)
	if err != nil || st.Kind != journal.File || st.Links < 2 {
		return nil // what follows looks again, and says what is wrong
	}
	known := w.known(st.ID)
	if known.grant() == nil {
		return nil
	}
	return w.meetsEdit(known, s, &st, false)
}

// brought notes that nothing was at a slot when the step began, as far as that can be
// known: what is there now was somewhere else.
func (w *strangers) brought(s *slot) error {
	err := w.pre(nil, s.origin(), s, &journal.State{}, false)
	if err == nil {
		s.is, s.kept, s.used = nil, true, true
	}
	return err
}

// meetsStranger keeps what another program has put at a slot.
func (w *strangers) meetsStranger(s *slot, st *journal.State, destroys bool) error {
	o := s.other
	switch {
	case !destroys:
		return nil
	case o != nil && o.left != nil && w.sameContent(st, o.left):
		return nil
	case w.ignored != nil && w.ignored(s.path()):
		return nil
	case o == nil || !w.isInode(o.id, st.ID):
		o = &object{at: s, id: st.ID, meta: true, content: true} // the same one when it is asked about again
		s.other = o
	}
	known := s.is
	s.is = o // so that others wait until it is kept
	err := w.storeBetween(o, s, st)
	if s.is == o {
		s.is = known
	}
	if err == nil {
		o.left = st
		w.knows(o, st.ID)
	}
	return err
}

// judged reports whether it is known what a file held last by the step's doing.
func (o *object) judged() bool {
	switch {
	case o.grant() != nil || o.left != nil:
		return true
	case o.found == nil:
		return false
	}
	return o.found.Kind == journal.Symlink || o.content && !o.written && o.group == nil
}

// meetsEdit keeps what another program has written to a file that the step knows, since
// that left it.
func (w *strangers) meetsEdit(o *object, s *slot, st *journal.State, destroys bool) error {
	if o == nil {
		return nil
	}
	g := o.grant()
	switch {
	case g != nil && (!g.closed() || g.busy > 0):
		return nil
	case g != nil:
		g.same = disk.Unmoved(st, &g.left) || w.rereads(s, st, g)
		if g.same || !destroys || g.kept != nil && w.sameContent(st, g.kept) {
			return nil
		}
	case !destroys || s.pending > 0 || !o.judged() || w.heldIn(o, st):
		return nil
	}
	if w.ignored != nil && w.ignored(s.path()) {
		return nil
	}
	busy := s.is
	if busy == nil || busy.passed {
		busy = o
	}
	err := w.storeBetween(busy, s, st)
	if err == nil && g != nil {
		g.kept = st
	} else if err == nil {
		o.left = st
	}
	return err
}

// heldIn reports whether a file that the step does not write to by a descriptor is as it
// left it, or as it was when its content was kept.
func (w *strangers) heldIn(o *object, st *journal.State) bool {
	was := o.left
	if was == nil {
		was = o.found
	}
	return w.isInode(was.ID, st.ID) && was.Size == st.Size && (was.Mtime == st.Mtime || o.timed)
}

// remember notes what a change has just made at a slot, and what it left there.
func (w *strangers) remember(c *Change, s *slot) {
	dir, name := c.Dir, c.Name
	if c.To != "" {
		dir, name = c.ToDir, c.ToName
	}
	s.via = &via{dir: dir, name: name}
	defer func() { s.via = nil }()
	st, err := w.glance(s)
	if err != nil {
		return // its inode is not known, and nothing is compared with it
	}
	known := w.known(st.ID)
	if st.Kind == journal.Absent || known != nil && known.at != nil && c.Op == Make {
		w.raced = true
		return
	}
	if s.is.id = st.ID; known == nil || c.Op != Link {
		w.knows(s.is, st.ID)
	}
	if c.Op != Link {
		s.is.left = &st
	}
}

// arrived checks that a rename has put what it met at its new name. Where calls of the step
// race for a name, their ends are told in another order than the kernel made them in. Then
// the tree cannot say which inode a name has.
func (w *strangers) arrived(c *Change, foreign bool, s *slot) {
	if foreign || s.is == nil || s.is.id == (journal.ID{}) || w.raced {
		return
	}
	s.via = &via{dir: c.ToDir, name: c.ToName}
	defer func() { s.via = nil }()
	st, err := w.glance(s)
	w.raced = err == nil && !w.isInode(st.ID, s.is.id) && w.known(st.ID) != s.is
}

// refresh looks again at what a call without a descriptor has written to.
func (w *strangers) refresh(c *Change, s *slot) {
	if s.is == nil || s.is.grant() != nil {
		return
	}
	known := w.known(s.is.id)
	if known == nil || known.left == nil {
		return
	}
	s.via = &via{dir: c.Dir, name: c.Name, pinned: c.Pinned}
	defer func() { s.via = nil }()
	if st, err := w.glance(s); err == nil && w.isInode(st.ID, known.id) {
		known.left = &st
	}
}

// unknown says whether the step knows of nothing at a slot.
func (s *slot) unknown() bool { return s.is == nil || s.is.passed }

// adopt makes what another program had put at a slot the step's own, as that writes to it
// or gives it another name. What it held is kept.
func (s *slot) adopt() *object {
	if s.foreign && s.other != nil && s.other.left != nil {
		if was := s.is; was != nil && was.at == s && was.id != (journal.ID{}) {
			was.displaced = s
		}
		s.gone()
		s.is, s.other, s.foreign = s.other, nil, false
	}
	return s.is
}

// rereads reports whether a file that has other times than the step left has the
// content that it left: names that came and went, or a write of the same, are no edit.
// Where the content cannot be compared, its size and the time of its last write decide:
// the time of change alone is moved by the step's own calls on other names too.
func (w *strangers) rereads(s *slot, st *journal.State, g *grant) bool {
	if st.ID != g.left.ID || st.Size != g.left.Size {
		return false
	}
	sum, now := g.left.Sum, journal.Bytes("")
	if len(sum) > 0 {
		at, err := w.reach(s, s.path())
		if err != nil {
			return false
		}
		now = disk.SumAt(at.dir, at.name, st, sum)
		at.close()
	}
	if len(now) > 0 && now != sum || len(now) == 0 && st.Mtime != g.left.Mtime {
		return false
	}
	g.left = *st
	g.left.Sum = sum
	return true
}

func (w *strangers) storeBetween(o *object, s *slot, st *journal.State) error {
	at := s.path()
	p := &journal.Pre{Path: journal.Bytes(at)}
	if st.Kind == journal.File && st.Size > 0 {
		number, err := w.storeNew(o, s, at, st, false)
		switch {
		case err == nil:
			p.Object = journal.Object{Segment: w.segment, Number: number}
		case lost(err) != "" && !o.mayLose:
			return &LostError{Path: at, Why: lost(err), object: o}
		case lost(err) != "":
			p.Lost = lost(err)
		default:
			return fmt.Errorf("keeping %q: %w", at, err)
		}
	}
	p.State, w.lost = *st, w.lost || p.Lost != ""
	err := w.write(&journal.Record{Between: p})
	if err != nil && p.Object != (journal.Object{}) {
		_ = disk.UnlinkAt(w.objects, journal.ObjectName(p.Object.Number), 0)
	}
	return err
}
