package steplog

import (
	"slices"

	"carrel/internal/history/journal"
)

// Which objects the journals speak of, and which of them should be there.

// References calls do for every object that a step speaks of, whether it holds
// something at the moment or not; for some more than once.
func (s *Step) References(do func(journal.Object)) {
	each := func(o journal.Object) {
		if o != (journal.Object{}) {
			do(o)
		}
	}
	if s.Refs != nil {
		s.Refs.each(do)
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
	for i := range s.Plan {
		each(s.Plan[i].Object)
		each(s.Plan[i].To)
	}
}

// Anchors reports whether a step has put a link to a file into the store that lives on by
// other names.
func (s *changes) Anchors() bool {
	return slices.ContainsFunc(s.Pres(), func(p journal.Pre) bool { return p.Inode != journal.Object{} })
}

// AnchorsIn counts the paths of a step that refer to each such link of a segment.
func AnchorsIn(s *Step, segment string) map[uint64]int {
	out := make(map[uint64]int)
	for i := range s.Pres() {
		if p := &s.pres[i]; p.Inode.Segment == segment {
			out[p.Inode.Number]++
		}
	}
	return out
}

// Objects are all that any step speaks of.
func (l *Log) Objects() map[journal.Object]bool {
	out := make(map[journal.Object]bool)
	for _, s := range l.Steps {
		s.References(func(o journal.Object) { out[o] = true })
	}
	return out
}

// Holding is what an object should be.
type Holding struct {
	Kind journal.Kind
	Size int64 // of a file, in bytes; -1 for any
	Path string
	Step uint64 // that put it there
}

// Holdings follows all steps and says what should be in the store now. What a step
// has to do with that is not over, or was not done altogether, is not among it.
func (l *Log) Holdings() map[journal.Object]Holding {
	out := make(map[journal.Object]Holding)
	for _, s := range l.Steps {
		switch {
		case s.End == nil || len(s.End.Left) > 0:
			s.References(func(o journal.Object) { delete(out, o) })
		case len(s.Plan) > 0:
			s.moves(out)
		default:
			s.holds(out)
		}
	}
	return out
}

// holds adds what a step of a run has kept.
func (s *Step) holds(out map[journal.Object]Holding) {
	for i := range s.Pres() {
		p := &s.pres[i]
		h := Holding{Kind: journal.File, Size: p.State.Size, Path: string(p.Path), Step: s.Number}
		if p.Object != (journal.Object{}) {
			out[p.Object] = h
		}
		if p.Inode != (journal.Object{}) {
			h.Kind, h.Size = p.State.Kind, -1 // other names of it may have been written to
			out[p.Inode] = h
		}
	}
	for i := range s.between {
		if p := &s.between[i]; p.Object != (journal.Object{}) {
			out[p.Object] = Holding{Kind: journal.File, Size: p.State.Size, Path: string(p.Path), Step: s.Number}
		}
	}
}

// moves follows the plan of an undo.
func (s *Step) moves(out map[journal.Object]Holding) {
	for i := range s.Plan {
		a := &s.Plan[i]
		h := Holding{Kind: a.State.Kind, Size: a.State.Size, Path: string(a.Path), Step: s.Number}
		switch a.Verb {
		case journal.Take, journal.Swap:
			out[a.Object] = h
		case journal.Put:
			delete(out, a.Object)
		case journal.Rewrite:
			h.Size = -1
			out[a.To] = h
		}
	}
}

// Empty says whether a step changed nothing, not even in between.
func (s *Step) Empty() bool {
	if s.Refs != nil {
		return s.Refs.Empty
	}
	return len(s.Pres()) == 0 && len(s.Posts()) == 0 && len(s.Between()) == 0
}

// Referenced gives the numbers of a segment's objects that any step knows.
func (l *Log) Referenced(segment string) map[uint64]bool {
	known := make(map[uint64]bool)
	for _, st := range l.Steps {
		st.References(func(o journal.Object) {
			if o.Segment == segment {
				known[o.Number] = true
			}
		})
	}
	return known
}
