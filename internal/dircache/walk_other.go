//go:build !linux

package dircache

import (
	"errors"
	"time"
)

// Begin is not supported here.
func Begin(string, string, []byte, time.Time) (*Walk, error) {
	_ = newWalk("", nil, nil, time.Time{})
	return nil, errors.ErrUnsupported
}

// Close does nothing.
func (w *Walk) Close() {}

// List is not supported here.
func (w *Walk) List(string, **Dir, []byte, func(string, bool) bool) (*Dir, error) {
	return nil, errors.ErrUnsupported
}

// Names is not supported here.
func Names(int, []byte, func(string, byte)) error { return errors.ErrUnsupported }
