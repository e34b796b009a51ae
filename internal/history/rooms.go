package history

import (
	"carrel/internal/history/journal"
	"carrel/internal/history/store"
	"carrel/internal/history/undo"
	"carrel/internal/history/writer"
)

// What a history keeps, see package store.
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

// What a writer is told, see package writer.
type (
	// Change is one change about to be made.
	Change = writer.Change
	// Op is what a change does to a path.
	Op = writer.Op
	// Granted are the files that steps have opened for writing.
	Granted = writer.Granted
)

// The kinds of changes.
const (
	Content  = writer.Content  // the content of a path may change
	Meta     = writer.Meta     // mode, owner, times, attributes
	Make     = writer.Make     // a new name
	Link     = writer.Link     // a second name
	Remove   = writer.Remove   // the name goes
	Rename   = writer.Rename   // one path becomes another
	Exchange = writer.Exchange // two paths change places
)

// What an undo is asked for, and says; see package undo.
type (
	// Request is one undo or redo.
	Request = undo.Request
	// Restoration is one path that an undo is about to make or to give its content back.
	Restoration = undo.Restoration
	// Preview is what a request would do.
	Preview = undo.Preview
	// Conflict is a path that is not as the step left it.
	Conflict = undo.Conflict
	// Beside is what is in the way of an undo, and gets another name.
	Beside = undo.Beside
	// ConflictError refuses an undo for what is in its way.
	ConflictError = undo.ConflictError
	// UnrestorableError refuses an undo that could not bring some content back.
	UnrestorableError = undo.UnrestorableError
)

// Argv copies a command line for a step. Of a long one it is the beginning.
func Argv(argv []string) []journal.Bytes { return writer.Argv(argv) }

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
