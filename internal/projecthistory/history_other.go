//go:build !linux

package projecthistory

import (
	"errors"
	"io"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/history/steplog"
	"carrel/internal/policy"
)

// errHere is the answer on a system where nothing is kept.
var errHere = errors.New("carrel keeps histories on Linux only; not supported here")

// History has nothing to keep here.
type History struct {
	Project string
	Log     *history.Log
	Closed  []uint64
	Open    error

	Dir       string
	Elsewhere string
	OtherDisk bool
}

// Open cannot open anything here.
func Open(Request) (*History, error) { return nil, errHere }

// May refuses here.
func (*History) May(string, policy.UndoMode) error { return errHere }

// Find cannot find anything here.
func Find(Request) (*History, error) { return nil, errHere }

// SoFar has nothing to look at here.
func (*History) SoFar(*steplog.Step) error { return errHere }

// Close lets go of nothing.
func (*History) Close() {}

// Preview cannot look here.
func (*History) Preview(Request, history.Request) (*history.Preview, error) { return nil, errHere }

// Undo cannot change anything here.
func (*History) Undo(Request, history.Request) (*history.Preview, error) { return nil, errHere }

// Contents has none here.
func (*History) Contents(*steplog.Step, string) (io.ReadCloser, io.ReadCloser, error) {
	return nil, nil, errHere
}

// SeenBy has nothing to tell here.
func (*History) SeenBy(Sighted) {}

// Unnamed knows no paths here.
func (*History) Unnamed([]string) (map[string]bool, error) { return nil, errHere }

// Redacted has nothing to leave out here.
func (*History) Redacted(err error) error { return err }

// Tell has no changes here.
func (*History) Tell(*steplog.Step, []steplog.PathChange, api.Sight) ([]steplog.PathChange, []string, error) {
	return nil, nil, errHere
}
