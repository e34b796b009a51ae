package history

import (
	"slices"

	"carrel/internal/history/journal"
)

// Which objects the journals speak of, and which of them should be there.

// references calls do for every object that a step speaks of, whether it holds
// something at the moment or not; for some more than once.
func (s *Step) references(do func(journal.Object)) {
	each := func(o journal.Object) {
		if o != (journal.Object{}) {
			do(o)
		}
	}
	if s.refs != nil {
		s.refs.each(do)
		return
	}
	for i := range s.Pres() {
		each(s.pres[i].Object)
		each(s.pres[i].Inode)
		if in := s.pres[i].Within; in != nil {
			each(in.Object)
		}
	}
	for i := range s.between {
		each(s.between[i].Object)
	}
	for i := range s.plan {
		each(s.plan[i].Object)
		each(s.plan[i].To)
	}
}

// anchors reports whether a step has put a link to a file into the store that lives on by
// other names.
func (s *Step) anchors() bool {
	return slices.ContainsFunc(s.Pres(), func(p journal.Pre) bool { return p.Inode != journal.Object{} })
}

// objects are all that any step speaks of.
func (l *past) objects() map[journal.Object]bool {
	out := make(map[journal.Object]bool)
	for _, s := range l.Steps {
		s.references(func(o journal.Object) { out[o] = true })
	}
	return out
}

// holding is what an object should be.
type holding struct {
	kind journal.Kind
	size int64 // of a file, in bytes; -1 for any
	path string
	step uint64 // that put it there
}

// holdings follows all steps and says what should be in the store now. What a step
// has to do with that is not over, or was not done altogether, is not among it.
func (l *past) holdings() map[journal.Object]holding {
	out := make(map[journal.Object]holding)
	for _, s := range l.Steps {
		switch {
		case s.End == nil || len(s.End.Left) > 0:
			s.references(func(o journal.Object) { delete(out, o) })
		case len(s.plan) > 0:
			s.moves(out)
		default:
			s.holds(out)
		}
	}
	return out
}

// holds adds what a step of a run has kept.
func (s *Step) holds(out map[journal.Object]holding) {
	for i := range s.Pres() {
		p := &s.pres[i]
		h := holding{kind: journal.File, size: p.State.Size, path: string(p.Path), step: s.Number}
		if p.Object != (journal.Object{}) {
			out[p.Object] = h
		}
		if p.Inode != (journal.Object{}) {
			h.kind, h.size = p.State.Kind, -1 // other names of it may have been written to
			out[p.Inode] = h
		}
	}
	for i := range s.between {
		if p := &s.between[i]; p.Object != (journal.Object{}) {
			out[p.Object] = holding{kind: journal.File, size: p.State.Size, path: string(p.Path), step: s.Number}
		}
	}
}

// moves follows the plan of an undo.
func (s *Step) moves(out map[journal.Object]holding) {
	for i := range s.plan {
		a := &s.plan[i]
		h := holding{kind: a.State.Kind, size: a.State.Size, path: string(a.Path), step: s.Number}
		switch a.Verb {
		case journal.Take, journal.Swap:
			out[a.Object] = h
		case journal.Put:
			delete(out, a.Object)
		case journal.Rewrite:
			h.size = -1
			out[a.To] = h
		}
	}
}

// empty says whether a step changed nothing, not even in between.
func (s *Step) empty() bool {
	if s.refs != nil {
		return s.refs.empty
	}
	return len(s.Pres()) == 0 && len(s.Posts()) == 0 && len(s.Between()) == 0
}

// referenced gives the numbers of a segment's objects that any step knows.
func (l *past) referenced(segment string) map[uint64]bool {
	known := make(map[uint64]bool)
	for _, st := range l.Steps {
		st.references(func(o journal.Object) {
			if o.Segment == segment {
				known[o.Number] = true
			}
		})
	}
	return known
}
