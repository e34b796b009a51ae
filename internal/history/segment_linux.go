package history

import (
	"errors"
	"fmt"
	"slices"

	"carrel/internal/history/journal"
)

// unique leaves one step of each number: two of one number are told apart by
// nobody.
func (l *Log) unique() {
	l.Steps = slices.CompactFunc(l.Steps, func(a, b *Step) bool {
		if a.Number != b.Number {
			return false
		}
		a.Damaged = fmt.Sprintf("segments %s and %s both have a step %d", a.Segment, b.Segment, a.Number)
		l.Damaged = append(l.Damaged, a.Damaged)
		l.broken[a.Segment], l.broken[b.Segment] = true, true
		return true
	})
}

// segment is a journal that is being read.
type segment struct {
	log     *Log
	name    string
	live    bool
	steps   map[uint64]*Step
	whole   int64 // bytes up to the end of the last record
	closed  bool  // its writer has closed it, so all of it was on the disk
	late    []readRecord
	damaged error
	stamp   uint64 // the last
	number  uint64 // the highest of a step
}

// readRecord is a record, and what is unreadable before it.
type readRecord struct {
	*journal.Record
	hole string
	from int64 // in the journal
	end  int64
}

// take takes the next record. What follows something unreadable has to wait for one
// that says that the place was on the disk once, and so is damaged: a loss of power
// leaves the end of a journal in parts.
func (s *segment) take(r readRecord) {
	if len(s.late) > 0 || r.hole != "" && !s.closed {
		s.late = append(s.late, r)
		if r.Safe > s.whole {
			s.closed = true // as far as this goes
			late := s.late
			s.late = nil
			for _, r := range late {
				s.take(r)
			}
			s.closed = false
		}
		return
	}
	if r.hole != "" {
		s.damage(r.hole)
	}
	s.add(r.Record, r.from, r.end)
	s.whole = r.end
}

// end drops what a loss of power left. Its numbers are not given again.
func (s *segment) end() {
	for _, r := range s.late {
		s.log.stamp, s.log.number = max(s.log.stamp, min(r.Stamp, journal.MaxNumber)), max(s.log.number, min(r.Step, journal.MaxNumber))
		s.log.torn[s.name] = s.whole
	}
	for _, st := range s.steps {
		st.whole = s.whole
	}
}

func (s *segment) add(r *journal.Record, from, to int64) {
	if err := r.Valid(); err != nil {
		s.damage(err.Error())
		return
	}
	s.stamp, s.number = max(s.stamp, r.Stamp), max(s.number, r.Step)
	s.log.stamp, s.log.number = max(s.log.stamp, s.stamp), max(s.log.number, s.number)
	st := s.steps[r.Step]
	switch {
	case st == nil && r.Begin == nil:
		return
	case st == nil:
		st = &Step{Number: r.Step, Segment: s.name, Live: s.live, stamp: r.Stamp, from: from, pre: make(map[string]int), post: make(map[string]int)}
		s.steps[r.Step] = st
		s.log.Steps = append(s.log.Steps, st)
	case r.Begin != nil:
		s.damage(fmt.Sprintf("step %d begins twice", r.Step))
		return
	}
	st.to = to
	st.present(r)
	st.add(r)
}

// damage marks what cannot be trusted any more: the steps that were open there.
func (s *segment) damage(why string) {
	s.damaged = errors.New(why)
	for _, st := range s.steps {
		if st.End == nil && st.Damaged == "" {
			st.Damaged = fmt.Sprintf("its journal %s is damaged: %s", s.name, why)
		}
	}
}
