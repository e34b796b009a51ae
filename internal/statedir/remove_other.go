//go:build !linux

package statedir

import "errors"

var errHere = errors.New("not supported on this system")

// ErrUsed means that a run, or a command of the history, uses what was to be removed.
var ErrUsed = errors.New("a workspace of this project runs, or its history is open")

// Hold holds nothing here.
func (*Dir) Hold(string) (func(), error) { return nil, errHere }

// Remove removes nothing here.
func (*Dir) Remove(string) error { return errHere }

// RemoveAll removes nothing here.
func (*Dir) RemoveAll() error { return errHere }

// FinishRemovals removes nothing here.
func (*Dir) FinishRemovals() {}

// Sweep removes nothing here.
func (*Dir) Sweep() (int, error) { return 0, nil }

func historiesElsewhere(string, string) []string { return nil }

func sizeOf(string, string) int64 { return 0 }
