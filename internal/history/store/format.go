package store

import (
	"errors"
	"fmt"
)

// Why a history cannot be used now, or at all.
var (
	ErrBusy    = errors.New("a workspace of this project is running")
	ErrFormat  = errors.New("another version wrote this history")
	ErrChanged = errors.New("somebody else changed the history meanwhile; look again")
)

// format is what the file of that name says: who wrote a history.
const format = "carrel history 2\n"

// former is the previous format, which this version reads. A writer raises it first,
// because an older version would misread the new records.
const former = "carrel history 1\n"

// FormatError is an ErrFormat with what was found.
type FormatError struct {
	Dir   string // of the history
	Found string // what its file format says
}

// Known is the format that this version writes.
func (e *FormatError) Known() string { return format }

func (e *FormatError) Error() string {
	return fmt.Sprintf("%v: the format in %s is %q, known is %q", ErrFormat, e.Dir, e.Found, format)
}

// Unwrap implements the errors package's.
func (e *FormatError) Unwrap() error { return ErrFormat }
