package store

import (
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// Share is what somebody alone keeps of a store.
type Share struct {
	Objects int
	Bytes   int64 // as long as they are
	Disk    int64 // as much as is free without them

	several map[[2]uint64]uint64 // names that were counted, of files with several
}

// StepShare is what a step keeps with its undos and redos.
type StepShare struct {
	*steplog.Family
	Share
}

// Usage says where the bytes of a store are.
type Usage struct {
	Steps        []StepShare // oldest first
	Unreferenced Share       // nothing refers to it
	All          Share
	Journals     int64 // bytes of the disk
	Limits       Limits
}

// Disk is all that the store takes of the disk.
func (u *Usage) Disk() int64 { return u.All.Disk + u.Journals }

// stored is an object as it lies in the store.
type stored struct {
	kind   journal.Kind
	mode   uint32
	size   int64
	disk   int64 // that it takes, in bytes
	links  uint64
	device uint64
	inode  uint64
}

// add counts an object. A file with several names frees nothing before the last
// of them goes.
func (s *Share) add(is stored) {
	s.Objects++
	if is.kind == journal.File && is.links > 1 {
		if s.several == nil {
			s.several = make(map[[2]uint64]uint64)
		}
		key := [2]uint64{is.device, is.inode}
		s.several[key]++
		if s.several[key] < is.links {
			return
		}
		delete(s.several, key)
	}
	if is.kind != journal.Dir {
		s.Bytes += is.size
	}
	s.Disk += is.disk
}
