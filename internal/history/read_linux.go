package history

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Bounds of what is read.
const (
	maxSegment  = 4 << 30 // bytes of one journal
	maxSegments = 1 << 16
)

// Read reads all journals.
func (s *Store) Read() (*Log, error) { return s.readAll(nil) }

// readAll reads the journals of which nothing is known yet.
func (s *Store) readAll(known *index) (*Log, error) {
	counted, err := s.counted()
	if err != nil {
		return nil, err
	}
	names, err := s.segments()
	if err != nil {
		return nil, fmt.Errorf("reading the history in %q: %w", s.path, err)
	}
	l := &Log{counted: counted, broken: make(map[string]bool), torn: make(map[string]int64)}
	gone, err := s.readDiscards()
	if err != nil {
		l.Damaged, l.broken[discardsFile] = append(l.Damaged, err.Error()), true
	}
	l.stamp, l.number = gone.stamp, gone.number
	if known != nil {
		if known.journal, err = s.directory("journal"); err == nil {
			defer unix.Close(known.journal)
		}
	}
	for _, name := range names {
		l.stamp = max(l.stamp, begunAt(name))
		if gone.whole[name] || known != nil && known.take(s, l, name) {
			continue
		}
		if err := l.segment(s, name, known); err != nil && !errors.Is(err, os.ErrNotExist) { // it is discarded meanwhile
			l.Damaged, l.broken[name] = append(l.Damaged, fmt.Sprintf("%s: %v", name, err)), true
		}
	}
	slices.SortStableFunc(l.Steps, func(a, b *Step) int { return cmp.Compare(a.Number, b.Number) })
	l.aborted()
	l.unique()
	l.link()
	l.hide(func(s *Step) bool { return gone.has(s.Segment, s.Number) })
	l.counted = max(l.counted, l.stamp)
	return l, s.atLeast(l.stamp, l.number)
}

func (s *Store) segments() ([]string, error) {
	d, err := s.file("journal", unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	names, err := d.Readdirnames(maxSegments + 1)
	if len(names) > maxSegments {
		return nil, fmt.Errorf("%q holds more than %d files", filepath.Join(s.path, "journal"), maxSegments)
	}
	if len(names) == 0 {
		return nil, nil // an empty directory is io.EOF
	}
	slices.Sort(names)
	return names, err
}

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

// ReadSegment reads one journal alone: the steps that one writer made, and not
// what became of them later.
func (s *Store) ReadSegment(name string) (*Log, error) {
	l := &Log{torn: make(map[string]int64)}
	err := l.segment(s, name, nil)
	return l, err
}

// SegmentSize is how long a journal is.
func (s *Store) SegmentSize(name string) (int64, error) {
	f, err := s.file("journal/"+name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	is, err := stateOf(f)
	return is.size, err
}

// Newest is the number that was given last in this store.
func (s *Store) Newest() (n uint64) {
	_ = s.mappedCounters(func() { n = s.counters[1].Load() })
	return n
}

// segment reads one journal. What follows the last whole record is what a crash
// left, or zeros that a writer has mapped.
func (l *Log) segment(s *Store, name string, known *index) error {
	if !validSegment(name) {
		return errors.New("no name of a segment")
	}
	f, err := s.file("journal/"+name, os.O_RDONLY)
	if err != nil {
		return err
	}
	defer f.Close()
	is, err := stateOf(f)
	if err != nil {
		return err
	}
	seg := segment{log: l, name: name, live: writing(f), closed: !s.isOpen(name), steps: make(map[uint64]*Step)}
	j := &journal{from: f, left: is.size}
	for {
		from := j.at
		r, skipped, err := j.next()
		if r == nil || err != nil {
			if why := seg.cut(f); why != nil {
				seg.damage(why.Error())
			}
			seg.end()
			if err == nil && known != nil && seg.closed { // else the power may take some of it yet
				known.learn(&seg, l, s, is)
			}
			return errors.Join(err, seg.damaged)
		}
		hole := ""
		if skipped {
			hole = fmt.Sprintf("unreadable before byte %d", j.at)
		}
		seg.take(readRecord{r, hole, from, j.at})
	}
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
	*Record
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
		s.log.stamp, s.log.number = max(s.log.stamp, min(r.Stamp, maxNumber)), max(s.log.number, min(r.Step, maxNumber))
		s.log.torn[s.name] = s.whole
	}
	for _, st := range s.steps {
		st.whole = s.whole
	}
}

func (s *segment) add(r *Record, from, to int64) {
	if err := r.valid(); err != nil {
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
