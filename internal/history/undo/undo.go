package undo

import (
	"fmt"

	"carrel/internal/history/journal"
	"carrel/internal/history/writer"
)

// Request is one undo or redo.
type Request struct {
	Steps []uint64 // as the user counts them, newest first
	Redo  bool     // Steps are undos that are to be taken back
	Paths []string // only these and what is below them; nil for all
	Mode  journal.Mode
	Roots []string // the places that may be changed, canonical
	// Allow is asked before anything is done, in the order in which that is done; an
	// error refuses all.
	Allow func(r *Restoration) error
	// Progress is told how many of all actions are done; nil for nobody.
	Progress func(done, all int)
}

// Restoration is one path that an undo is about to make (Make) or to give its
// content back (Content).
type Restoration struct {
	Op    writer.Op
	Path  string
	State *journal.State // what it will be
	Open  bool           // see [journal.Begin] of the step that is taken back
	// Contents reads the file that is there now, nil for none, and what will be there;
	// an error for more than limit bytes.
	Contents func(limit int64) (now, then []byte, err error)
}

// Preview is what a request would do.
type Preview struct {
	Steps     []uint64 // newest first
	*Plan              // of all of them together
	Conflicts []Conflict
	Refused   error // why nothing would be done; nil if it would. See [ConflictError] and [UnrestorableError].
}

// UnrestorableError refuses an undo that could not bring some content back.
type UnrestorableError struct{ Paths []Unrestorable }

func (e *UnrestorableError) Error() string {
	if len(e.Paths) == 1 {
		return fmt.Sprintf("%q cannot be restored: %s", e.Paths[0].Path, e.Paths[0].Why)
	}
	return fmt.Sprintf("%d paths cannot be restored, the first is %q: %s", len(e.Paths), e.Paths[0].Path, e.Paths[0].Why)
}

// ConflictError refuses an undo.
type ConflictError struct{ Conflicts []Conflict }

func (e *ConflictError) Error() string {
	if len(e.Conflicts) == 1 {
		return fmt.Sprintf("%q is not as the step left it", e.Conflicts[0].Path)
	}
	return fmt.Sprintf("%d paths are not as the steps left them, the first is %q", len(e.Conflicts), e.Conflicts[0].Path)
}
