package store

import "time"

// Removal says what was removed from a store, or would be.
type Removal struct {
	Steps []uint64 // that are no longer listed, with undos and redos
	Freed Share
	// Oldest is when the oldest step that stays began, or now where none does. It is
	// the zero time where a journal cannot be read, and so the steps are not known.
	Oldest time.Time
	Kept   int64 // bytes of the disk that the store takes afterwards
	// Over is how much of Kept is beyond the budget: the newest step, and what
	// others keep, may not go.
	Over int64
	// Left are things in the store that are none of ours, or could not be removed.
	Left []string
}
