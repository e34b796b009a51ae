package undo

import (
	"slices"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/history/writer"
)

// Conflict is a path that is not as the step left it.
type Conflict struct {
	Path     string
	Expected journal.State
	Found    journal.State
	Step     uint64 // the later step that changed it, 0 for somebody outside
	Why      string // where it is something else
}

// Unrestorable is a path that an undo cannot bring back, or not wholly.
type Unrestorable struct {
	Path, Why string
}

// Beside is what is in the way, and gets another name.
type Beside struct {
	Path, Name string // both whole
}

// Plan is what taking steps back comes to.
type Plan struct {
	Step         *steplog.Step // the newest of them
	Restored     []string      // will be as before: changed back, moved back, made again
	Removed      []string      // made by the steps, will go
	Unrestorable []Unrestorable
	LeftAlone    []Unrestorable // stays, although the steps made it
	Beside       []Beside       // is kept under another name

	records writer.PlanRecords
	parents map[string]journal.State // directories that something is changed in, as they were and where
	untimed map[journal.ID]bool      // of these, those with the time that they had before the steps
	skips   bool                     // there are conflicts: with Skip something stays
}

// incomplete reports whether something does not come back that should: the step can
// be taken back again then.
func (p *Plan) incomplete() bool {
	return slices.ContainsFunc(p.Unrestorable, func(u Unrestorable) bool { return u.Why != journal.Ignored })
}

// previewed stands for the segment of objects of a plan that is only told.
const previewed = "0000000000000000-preview"

// storeIn names the objects that a plan makes: in a segment, after the number that was
// used last there.
func (p *Plan) storeIn(segment string, after uint64) {
	store := func(objects ...*journal.Object) {
		for _, o := range objects {
			if o.Segment == previewed {
				*o = journal.Object{Segment: segment, Number: after + o.Number}
			}
		}
	}
	for i := range p.records.Actions {
		store(&p.records.Actions[i].Object, &p.records.Actions[i].To, &p.records.Actions[i].In)
	}
	for i := range p.records.Pre {
		b := &p.records.Pre[i]
		store(&b.Object, &b.Inode)
		if b.Within != nil {
			store(&b.Within.Object)
		}
	}
	for i := range p.records.Posts {
		store(&p.records.Posts[i].From)
	}
	for i := range p.records.Beyond {
		store(&p.records.Beyond[i].Link)
	}
}
