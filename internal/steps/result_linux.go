package steps

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/histories"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// Fill adds to a result what the steps changed that a run has written. Its journals are
// read for that: the more a run changed, the longer it takes.
func Fill(dir string, kept []Segment, r *api.Result) {
	if len(kept) == 0 {
		return
	}
	store, err := history.Open(dir)
	if err == nil {
		defer store.Close()
		for _, segment := range kept {
			if size, e := store.SegmentSize(segment.name); e != nil || size > histories.MaxCounted {
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

func stepOf(s *steplog.Step) api.Step {
	t := api.Step{Step: s.Number, Kind: s.Begin.Kind, Label: s.Begin.Label}
	for _, c := range s.Changes() {
		switch c.What {
		case steplog.Added:
			t.Added++
		case steplog.Removed:
			t.Removed++
		case steplog.Renamed:
			t.Renamed++
		default:
			t.Modified++
		}
		if c.Lost != "" && c.Lost != journal.Ignored { // that is as it was wanted
			t.NotKept = append(t.NotKept, api.NotKept{Path: c.Path, Why: c.Lost})
		}
	}
	for _, b := range s.Between() {
		t.Edited = append(t.Edited, string(b.Path))
	}
	return t
}
