//go:build !linux

package ownfile

import (
	"errors"
	"os"
	"path/filepath"
)

// Open is not supported here.
func Open(dir *os.File, name string, _ int) (*os.File, error) {
	return nil, &os.PathError{Op: "open", Path: filepath.Join(dir.Name(), name), Err: errors.ErrUnsupported}
}

// Rename is not supported here.
func Rename(*os.File, string, string) error { return errors.ErrUnsupported }

// Remove is not supported here.
func Remove(*os.File, string) error { return errors.ErrUnsupported }

// TryLock is not supported here.
func TryLock(*os.File) (bool, error) { return false, errors.ErrUnsupported }
