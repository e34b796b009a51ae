package history

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"carrel/internal/history/journal"
)

// segment is a journal that is being read.
type segment struct {
	log     *past
	name    string
	live    bool
	steps   map[uint64]*Step
	whole   int64 // bytes up to the end of the last record
	closed  bool  // its writer has closed it, so all of it was on the disk
	late    []readRecord
	damaged error
	stamp   uint64 // the last
	number  uint64 // the highest of a step

	renumbered renumber
}

// newSegment begins to read a journal into a log. live says that its writer still writes,
// closed that it has closed it.
func newSegment(l *past, name string, live, closed bool, renumbered renumber) *segment {
	return &segment{log: l, name: name, live: live, closed: closed, steps: make(map[uint64]*Step), renumbered: renumbered}
}

// read takes all records. What was read counts after an error, too.
func (s *segment) read(j *journal.Reader) error {
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
	st.present(r, s.renumbered)
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

// cut reports whether less of a journal is left than its writer closed: length bytes, or
// none that are known below 0.
func (s *segment) cut(length int64) error {
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

// entry is what an index says of the segment, nil where more of it may come.
func (s *segment) entry(is segmentState) []byte {
	steps := s.inOrder()
	if s.live || s.damaged != nil || slices.ContainsFunc(steps, func(st *Step) bool { return st.End == nil || st.End.Aborted && len(st.posts) > 0 }) {
		return nil
	}
	is.stamp, is.number = s.stamp, s.number
	for _, st := range steps {
		counts := st.Counts()
		st.counts, st.refs = &counts, refsOf(st)
	}
	return writeEntry(s.name, is, steps)
}

func (s *segment) inOrder() []*Step {
	return slices.SortedFunc(maps.Values(s.steps), func(a, b *Step) int { return int(a.from - b.from) })
}

// letGo drops what the steps changed: it is read again when it is asked for.
func (s *segment) letGo(later func(*Step) func() error) {
	for _, st := range s.steps {
		st.unread = later(st)
		st.pres, st.posts, st.beyond, st.between, st.plan, st.first, st.pre, st.post = nil, nil, nil, nil, nil, nil, nil, nil
	}
}
