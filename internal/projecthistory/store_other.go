//go:build !linux

package projecthistory

import (
	"io"

	"carrel/internal/histories"
	"carrel/internal/history"
)

// Verify has nothing to look at here.
func (*History) Verify() (*history.Verified, error) { return nil, errHere }

// Export has nothing to write here.
func (*History) Export(uint64, io.Writer) ([]history.Unexported, int, error) { return nil, 0, errHere }

// Usage has nothing to count here.
func (*History) Usage(Request) (*history.Usage, error) { return nil, errHere }

// Collect has nothing to remove here.
func (*History) Collect(Request, bool) (*history.Removal, error) { return nil, errHere }

// Discard has nothing to remove here.
func (*History) Discard([]uint64, bool, bool) (*history.Removal, error) { return nil, errHere }

// Left knows none here.
func (*History) Left() string { return "" }

// UsageOfAll has nothing to look at here.
func UsageOfAll(Request, bool) (*histories.Usage, error) { return nil, errHere }
