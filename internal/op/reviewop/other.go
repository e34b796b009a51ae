//go:build !linux

package reviewop

import (
	"context"
	"errors"
)

var errHere = errors.New("layers are not supported on this system")

// List needs Linux.
func (r *Reviews) List() ([]Layer, error) { return nil, errHere }

// Difference needs Linux.
type Difference struct {
	ID      string
	Changes []Change
}

// Diff needs Linux.
func (r *Reviews) Diff(string, []string) (*Difference, error) { return nil, errHere }

// Contents needs Linux.
func (d *Difference) Contents(int, int64) (was, now []byte, err error) { return nil, nil, errHere }

// Detail needs Linux.
func (d *Difference) Detail(int) string { return "" }

// Close needs Linux.
func (d *Difference) Close() {}

// Drop needs Linux.
func (r *Reviews) Drop(string) error { return errHere }

// Apply needs Linux.
func (r *Reviews) Apply(context.Context, *ApplyRequest) (*Applied, error) { return nil, errHere }
