//go:build !linux

package hostfacts

import (
	"errors"

	"carrel/internal/sandbox"
)

// Facts knows nothing here.
type Facts struct{}

// New gives an empty one.
func New() *Facts { return &Facts{} }

// Resolve finds nothing here.
func (*Facts) Resolve(p string) (string, sandbox.Kind) { return p, sandbox.KindNone }

// Identity is not known here.
func (*Facts) Identity(string) (dev, ino uint64) { return 0, 0 }

// Pin holds nothing here.
func (*Facts) Pin(*Place) error { return nil }

// KernelMounts cannot look here.
func (*Facts) KernelMounts() ([]string, error) { return nil, errors.ErrUnsupported }

// Canonical is the path as it is.
func (*Facts) Canonical(p string) string { return p }

// Forget has nothing to forget.
func (*Facts) Forget(string) {}

// Readable cannot ask here.
func Readable(string) bool { return true }

// Searchable cannot ask here.
func Searchable(string) bool { return true }

// ForgetBelow does nothing here: nothing is remembered.
func (*Facts) ForgetBelow(string) {}
