package store

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// KeptAsLeft reports whether what a later step found, and kept, has the content that a
// step left.
func (s *objects) KeptAsLeft(later *journal.Pre, left *journal.State) bool {
	if !journal.Interchangeable(&later.State, left) || !journal.AgreeXattrs(&later.State, left) ||
		later.Object == (journal.Object{}) || later.Lost != "" {
		return false
	}
	if sum := later.State.Sum; len(sum) == len(left.Sum) { // the object may have been given away by now
		return sum == left.Sum
	}
	objects, err := s.ObjectsOf(later.Object.Segment, false)
	if err != nil {
		return false
	}
	defer unix.Close(objects)
	kept, err := disk.StateAt(objects, journal.ObjectName(later.Object.Number), 0)
	return err == nil && kept.Size == left.Size && s.HasSum(later.Object, left.Sum)
}

// HasSum reports whether an object has a SHA-256.
func (s *objects) HasSum(o journal.Object, sum journal.Bytes) bool {
	dir, err := s.ObjectsOf(o.Segment, false)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	fd, err := disk.OpenToCopy(dir, journal.ObjectName(o.Number)) // it may be the file itself, with the mode that it had
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	st, err := disk.StateAt(fd, "", 0)
	return err == nil && disk.SumOf(fd, &st, sum) == sum
}
