package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/history"
)

// tellStep writes down that a step begins or is closed; the lock is held.
func (k *keeper) tellStep(operation string, step uint64) {
	if k.audited != nil && step != 0 {
		k.audited(operation, step, k.app, k.beginning())
	}
}

// segments are what a run and its jobs have written, when all are closed.
func (k *keeper) segments() []segment {
	if k == nil {
		return nil
	}
	return append(k.segment(), k.jobs.ended...)
}

func (k *keeper) segment() []segment {
	out := k.former
	if k.writer != nil && len(k.all) > 0 {
		out = append(out, segment{k.writer.Segment(), k.writer.Lost()})
	}
	return out
}

// Lost says whether the run destroyed something that could not be kept.
func (p *Prepared) Lost() bool {
	return slices.ContainsFunc(p.kept, func(s segment) bool { return s.lost })
}

// maxCountedJournal is how long a journal may be for a run to count at its end what
// it changed: all of it is in memory then. It has about a million changes.
var maxCountedJournal int64 = 256 << 20

// Steps fills in what the steps of a run that is over changed. Its own journal is
// read for that, and only when somebody wants to know: the more a run changed,
// the longer it takes.
func (p *Prepared) Steps(r *api.Result) {
	if len(p.kept) == 0 {
		return
	}
	store, err := history.Open(p.historyAt)
	if err == nil {
		defer store.Close()
		for _, segment := range p.kept {
			if size, e := store.SegmentSize(segment.name); e != nil || size > maxCountedJournal {
				r.Notes = append(r.Notes, "this run changed more than is counted at its end; `carrel history` lists it")
				continue
			}
			log, e := store.ReadSegment(segment.name)
			err = errors.Join(err, e)
			for _, s := range log.Steps {
				if t := stepOf(s); t.Added+t.Modified+t.Renamed+t.Removed+len(t.Edited) > 0 {
					t.Newest = s.Number == store.Newest()
					r.Steps = append(r.Steps, t)
				}
			}
		}
		slices.SortFunc(r.Steps, func(a, b api.Step) int { return cmp.Compare(a.Step, b.Step) })
	}
	if err != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("what this run changed cannot be told: %v", err))
	}
}

func stepOf(s *history.Step) api.Step {
	t := api.Step{Step: s.Number, Kind: s.Begin.Kind, Label: s.Begin.Label}
	for _, c := range s.Changes() {
		switch c.What {
		case history.Added:
			t.Added++
		case history.Removed:
			t.Removed++
		case history.Renamed:
			t.Renamed++
		default:
			t.Modified++
		}
		if c.Lost != "" && c.Lost != history.Ignored { // that is as it was wanted
			t.NotKept = append(t.NotKept, api.NotKept{Path: c.Path, Why: c.Lost})
		}
	}
	for _, b := range s.Between() {
		t.Edited = append(t.Edited, string(b.Path))
	}
	return t
}
