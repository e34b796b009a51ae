package store

import (
	"os"

	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// Segment is what one writer writes: a journal, which is locked as long as it is open, and
// the directory of its objects.
type Segment struct {
	Name    string
	Journal *os.File
	Objects int // a descriptor that only pins
}

// NewSegment begins a segment for a run. The caller holds the store shared.
func (s *Store) NewSegment(run string) (*Segment, error) {
	if err := s.CatchUp(); err != nil {
		return nil, err
	}
	stamp, err := s.Stamp()
	if err != nil {
		return nil, err
	}
	return s.openSegment(journal.SegmentName(stamp, run), os.O_RDWR|os.O_CREATE|os.O_EXCL)
}

// ReopenSegment opens a segment whose writer was killed, for what is missing of it.
func (s *Store) ReopenSegment(name string) (*Segment, error) { return s.openSegment(name, os.O_RDWR) }

func (s *Store) openSegment(name string, flags int) (_ *Segment, err error) {
	if err := s.raiseFormat(); err != nil {
		return nil, err
	}
	g := &Segment{Name: name, Objects: -1}
	if g.Journal, err = s.file("journal/"+name, flags); err != nil {
		return nil, err
	}
	err = unix.Flock(int(g.Journal.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if err == nil && flags&os.O_CREATE != 0 {
		err = s.markOpen(name)
	}
	if err == nil {
		g.Objects, err = s.ObjectsOf(name, true)
	}
	if err != nil {
		g.Journal.Close()
		return nil, err
	}
	return g, nil
}
