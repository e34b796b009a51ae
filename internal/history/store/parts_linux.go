package store

import (
	"os"
	"sync/atomic"
)

// place is the directory of a store. What it has are files of known names.
type place struct {
	path string
	fd   int
}

// objects are the preimages in it.
type objects struct{ *place }

// formatFile says what wrote a store.
type formatFile struct {
	*place
	former bool // it is that of a version before
}

// locks keep writers and undos apart.
type locks struct{ lock *os.File }

// numbers are counted by all writers together.
type numbers struct {
	counters *[5]atomic.Uint64 // stamp, step, what is kept in bytes, steps that are gone, boot
	mapped   []byte
}

// settings hold from when they are set.
type settings struct {
	limits  Limits
	ignored func(path string) bool // nil: nothing is
}
