package steplog

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"carrel/internal/history/journal"
)

// Segment is a journal that is being read.
type Segment struct {
	log     *Log
	name    string
	Live    bool
	steps   map[uint64]*Step
	whole   int64 // bytes up to the end of the last record
	closed  bool  // its writer has closed it, so all of it was on the disk
	late    []readRecord
	Damaged error
	stamp   uint64 // the last
	number  uint64 // the highest of a step

	renumbered Renumber
}

// NewSegment begins to read a journal into a log. live says that its writer still writes,
// closed that it has closed it.
func NewSegment(l *Log, name string, live, closed bool, renumbered Renumber) *Segment {
	return &Segment{log: l, name: name, Live: live, closed: closed, steps: make(map[uint64]*Step), renumbered: renumbered}
}

// Read takes all records. What was read counts after an error, too.
func (s *Segment) Read(j *journal.Reader) error {
	for {
		from := j.Offset()
		r, skipped, err := j.Next()
		if r == nil || err != nil {
			return err
		}
		hole := ""
		if skipped {
			hole = fmt.Sprintf("unreadable before byte %d", j.Offset())
		}
		s.take(readRecord{r, hole, from, j.Offset()})
	}
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
func (s *Segment) take(r readRecord) {
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
		s.Damage(r.hole)
	}
	s.add(r.Record, r.from, r.end)
	s.whole = r.end
}

// End drops what a loss of power left. Its numbers are not given again.
func (s *Segment) End() {
	for _, r := range s.late {
		s.log.Stamp, s.log.Number = max(s.log.Stamp, min(r.Stamp, journal.MaxNumber)), max(s.log.Number, min(r.Step, journal.MaxNumber))
		s.log.Torn[s.name] = s.whole
	}
	for _, st := range s.steps {
		st.Whole = s.whole
	}
}

func (s *Segment) add(r *journal.Record, from, to int64) {
	if err := r.Valid(); err != nil {
		s.Damage(err.Error())
		return
	}
	s.stamp, s.number = max(s.stamp, r.Stamp), max(s.number, r.Step)
	s.log.Stamp, s.log.Number = max(s.log.Stamp, s.stamp), max(s.log.Number, s.number)
	st := s.steps[r.Step]
	switch {
	case st == nil && r.Begin == nil:
		return
	case st == nil:
		st = &Step{Number: r.Step, Segment: s.name, Live: s.Live, Stamp: r.Stamp, from: from, changes: noChanges()}
		s.steps[r.Step] = st
		s.log.Steps = append(s.log.Steps, st)
	case r.Begin != nil:
		s.Damage(fmt.Sprintf("step %d begins twice", r.Step))
		return
	}
	st.to = to
	st.present(r, s.renumbered)
	st.add(r)
}

// Damage marks what cannot be trusted any more: the steps that were open there.
func (s *Segment) Damage(why string) {
	s.Damaged = errors.New(why)
	for _, st := range s.steps {
		if st.End == nil && st.Damaged == "" {
			st.Damaged = fmt.Sprintf("its journal %s is damaged: %s", s.name, why)
		}
	}
}

// Cut reports whether less of a journal is left than its writer closed: length bytes, or
// none that are known below 0.
func (s *Segment) Cut(length int64) error {
	if s.whole < length {
		return fmt.Errorf("it was cut short: %d of %d bytes are left", s.whole, length)
	}
	for _, step := range s.steps {
		if step.End == nil {
			return errors.New("it was cut short: its writer had closed it, and the end of a step is missing")
		}
	}
	return nil
}

// Entry is what an index says of the segment, nil where more of it may come.
func (s *Segment) Entry(is SegmentState) []byte {
	steps := s.inOrder()
	if s.Live || s.Damaged != nil || slices.ContainsFunc(steps, func(st *Step) bool { return st.End == nil || st.End.Aborted && len(st.posts) > 0 }) {
		return nil
	}
	is.Stamp, is.Number = s.stamp, s.number
	for _, st := range steps {
		counts := st.Counts()
		st.counts, st.Refs = &counts, refsOf(st)
	}
	return WriteEntry(s.name, is, steps)
}

func (s *Segment) inOrder() []*Step {
	return slices.SortedFunc(maps.Values(s.steps), func(a, b *Step) int { return int(a.from - b.from) })
}

// LetGo drops what the steps changed: it is read again when it is asked for.
func (s *Segment) LetGo(later func(*Step) func() error) {
	for _, st := range s.steps {
		st.Unread = later(st)
		st.pres, st.posts, st.Beyond, st.between, st.Plan, st.First, st.pre, st.post = nil, nil, nil, nil, nil, nil, nil, nil
	}
}
