package history

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// Which objects the journals speak of, and which of them should be there.

// Family is a step of a run with the undos and redos of it. They share objects:
// what one keeps is what another has taken, so that they can only go together.
type Family struct {
	Steps []*Step // by number; the first is the run's, but for what is left of a damaged journal
}

// Families groups all steps, by their first one.
func (l *Log) Families() []*Family {
	var out []*Family
	of := make(map[uint64]*Family)
	for _, s := range l.Steps {
		f := family(of, s)
		if f == nil {
			f = &Family{}
			out = append(out, f)
		}
		f.Steps, of[s.Number] = append(f.Steps, s), f
	}
	return out
}

func family(of map[uint64]*Family, s *Step) *Family {
	for _, n := range s.Begin.Of {
		if f := of[n]; f != nil {
			return f
		}
	}
	return nil
}

// references calls do for every object that a step speaks of, whether it holds
// something at the moment or not; for some more than once.
func (s *Step) references(do func(Object)) {
	each := func(o Object) {
		if o != (Object{}) {
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
	return slices.ContainsFunc(s.Pres(), func(p Pre) bool { return p.Inode != Object{} })
}

// objects are all that any step speaks of.
func (l *Log) objects() map[Object]bool {
	out := make(map[Object]bool)
	for _, s := range l.Steps {
		s.references(func(o Object) { out[o] = true })
	}
	return out
}

func (o Object) compare(p Object) int {
	return cmp.Or(cmp.Compare(o.Segment, p.Segment), cmp.Compare(o.Number, p.Number))
}

// File is where an object lies in the history.
func (o Object) File() string { return "objects/" + o.Segment + "/" + objectName(o.Number) }

func objectName(n uint64) string { return strconv.FormatUint(n, 16) }

// holding is what an object should be.
type holding struct {
	kind Kind
	size int64 // of a file, in bytes; -1 for any
	path string
	step uint64 // that put it there
}

// holdings follows all steps and says what should be in the store now. What a step
// has to do with that is not over, or was not done altogether, is not among it.
func (l *Log) holdings() map[Object]holding {
	out := make(map[Object]holding)
	for _, s := range l.Steps {
		switch {
		case s.End == nil || len(s.End.Left) > 0:
			s.references(func(o Object) { delete(out, o) })
		case len(s.plan) > 0:
			s.moves(out)
		default:
			s.holds(out)
		}
	}
	return out
}

// holds adds what a step of a run has kept.
func (s *Step) holds(out map[Object]holding) {
	for i := range s.Pres() {
		p := &s.pres[i]
		h := holding{kind: File, size: p.State.Size, path: string(p.Path), step: s.Number}
		if p.Object != (Object{}) {
			out[p.Object] = h
		}
		if p.Inode != (Object{}) {
			h.kind, h.size = p.State.Kind, -1 // other names of it may have been written to
			out[p.Inode] = h
		}
	}
	for i := range s.between {
		if p := &s.between[i]; p.Object != (Object{}) {
			out[p.Object] = holding{kind: File, size: p.State.Size, path: string(p.Path), step: s.Number}
		}
	}
}

// moves follows the plan of an undo.
func (s *Step) moves(out map[Object]holding) {
	for i := range s.plan {
		a := &s.plan[i]
		h := holding{kind: a.State.Kind, size: a.State.Size, path: string(a.Path), step: s.Number}
		switch a.Verb {
		case take, swap:
			out[a.Object] = h
		case put:
			delete(out, a.Object)
		case rewrite:
			h.size = -1
			out[a.To] = h
		}
	}
}

// Number is that of the step that a family began with.
func (f *Family) Number() uint64 { return f.Steps[0].Number }

// empty says whether a step changed nothing, not even in between.
func (s *Step) empty() bool {
	if s.refs != nil {
		return s.refs.empty
	}
	return len(s.Pres()) == 0 && len(s.Posts()) == 0 && len(s.Between()) == 0
}

// segmentName is that of a new segment: in the order of their beginnings.
func segmentName(stamp uint64, run string) string { return fmt.Sprintf("%016x-%s", stamp, run) }

// begunAt is the stamp in a segment's name, 0 for none.
func begunAt(segment string) uint64 {
	if !validSegment(segment) {
		return 0
	}
	n, err := strconv.ParseUint(segment[:16], 16, 64)
	if err != nil || n > maxNumber {
		return 0
	}
	return n
}
