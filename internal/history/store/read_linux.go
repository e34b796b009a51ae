package store

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

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
	counted, err := s.LastStamp()
	if err != nil {
		return nil, err
	}
	names, err := s.segments()
	if err != nil {
		return nil, fmt.Errorf("reading the history in %q: %w", s.path, err)
	}
	l := &Log{Log: steplog.New(counted)}
	gone, err := s.readDiscards()
	if err != nil {
		l.Damaged, l.Broken[discardsFile] = append(l.Damaged, err.Error()), true
	}
	l.Stamp, l.Number = gone.stamp, gone.number
	if known != nil {
		if known.journal, err = s.directory("journal"); err == nil {
			defer unix.Close(known.journal)
		}
	}
	for _, name := range names {
		l.Stamp = max(l.Stamp, journal.BegunAt(name))
		if gone.whole[name] || known != nil && known.take(s, l, name) {
			continue
		}
		if err := l.segment(s, name, known); err != nil && !errors.Is(err, os.ErrNotExist) { // it is discarded meanwhile
			l.Damaged, l.Broken[name] = append(l.Damaged, fmt.Sprintf("%s: %v", name, err)), true
		}
	}
	l.Settle(func(s *steplog.Step) bool { return gone.has(s.Segment, s.Number) })
	l.Counted = max(l.Counted, l.Stamp)
	return l, s.atLeast(l.Stamp, l.Number)
}

func (s *place) segments() ([]string, error) {
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

// ReadSegment reads one journal alone: the steps that one writer made, and not
// what became of them later.
func (s *Store) ReadSegment(name string) (*Log, error) {
	l := &Log{Log: steplog.New(0)}
	err := l.segment(s, name, nil)
	return l, err
}

// SegmentSize is how long a journal is.
func (s *place) SegmentSize(name string) (int64, error) {
	f, err := s.file("journal/"+name, os.O_RDONLY)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	is, err := stateOf(f)
	return is.Size, err
}

// Newest is the number that was given last in this store.
func (s *numbers) Newest() (n uint64) {
	_ = s.mappedCounters(func() { n = s.counters[1].Load() })
	return n
}

// segment reads one journal. What follows the last whole record is what a crash
// left, or zeros that a writer has mapped.
func (l *Log) segment(s *Store, name string, known *index) error {
	if !journal.ValidSegment(name) {
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
	closed := !s.isOpen(name)
	seg := steplog.NewSegment(&l.Log, name, disk.Locked(f), closed, renumbered)
	err = seg.Read(journal.NewReader(f, is.Size))
	if why := cutShort(f, seg); why != nil {
		seg.Damage(why.Error())
	}
	seg.End()
	if err == nil && known != nil && closed { // else the power may take some of it yet
		known.learn(seg, l, s, is)
	}
	return errors.Join(err, seg.Damaged)
}
