package history

import "carrel/internal/history/store"

type (
	// Log is what the journals of a history say, as steps.
	Log = store.Log
	// Limits bound what a history keeps, and what is copied to be kept.
	Limits = store.Limits
	// Size is what a history keeps.
	Size = store.Size
	// Share is what some steps alone keep.
	Share = store.Share
	// Usage says where the bytes of a history are.
	Usage = store.Usage
	// Removal says what was removed from a history, or would be.
	Removal = store.Removal
	// Verified is what a look at the whole history found.
	Verified = store.Verified
	// Fault is one thing that such a look found wrong.
	Fault = store.Fault
	// Unexported is something that an export does not hold.
	Unexported = store.Unexported
	// FormatError is an ErrFormat with what was found.
	FormatError = store.FormatError
)

// Why a history cannot be used now, or at all.
var (
	ErrBusy    = store.ErrBusy
	ErrFormat  = store.ErrFormat
	ErrChanged = store.ErrChanged
)

// DefaultLimits hold where the configuration sets no others.
func DefaultLimits() Limits { return store.DefaultLimits() }

// LowWater is what is left of something that exceeded a limit.
func LowWater(limit int64) int64 { return store.LowWater(limit) }
