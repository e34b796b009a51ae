package steplog

import (
	"fmt"
	"slices"
	"time"
)

// Doomed finds the families of steps.
func (l *Log) Doomed(steps []uint64, all bool) ([]*Family, error) {
	families := l.Families()
	out := make(map[*Family]bool)
	for _, n := range steps {
		i := slices.IndexFunc(families, func(f *Family) bool {
			return slices.ContainsFunc(f.Steps, func(s *Step) bool { return s.Number == n })
		})
		if i < 0 {
			return nil, fmt.Errorf("step %d: there is none of this number", n)
		}
		out[families[i]] = true
	}
	families = slices.DeleteFunc(families, func(f *Family) bool { return !all && !out[f] })
	for _, f := range families {
		for _, s := range f.Steps {
			if s.Open() {
				return nil, fmt.Errorf("step %d is not over", s.Number)
			}
		}
	}
	return families, nil
}

// Drop takes families out of a log.
func (l *Log) Drop(families []*Family) {
	gone := make(map[*Step]bool)
	for _, f := range families {
		for _, s := range f.Steps {
			gone[s] = true
		}
	}
	l.hide(func(s *Step) bool { return gone[s] })
}

// Oldest is when the oldest step that is not discarded began, or now where none did.
func (l *Log) Oldest() time.Time {
	if len(l.Broken) > 0 {
		return time.Time{}
	}
	out := time.Now()
	for _, s := range l.Steps {
		if began := time.Unix(0, s.Begin.Time); began.Before(out) {
			out = began
		}
	}
	return out
}

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

// Number is that of the step that a family began with.
func (f *Family) Number() uint64 { return f.Steps[0].Number }
