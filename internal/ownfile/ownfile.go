// Package ownfile opens files of this user's in a directory that is held open: what is
// there as a regular file, with one name, and by no link. So logs and settings that
// outlive their program are read and written where they are, whatever another user who
// can write beside them puts there. It keeps nothing and knows no format.
package ownfile

import (
	"errors"
	"io/fs"
	"os"
)

// Dir is a directory that is held open, with the methods that package safefile needs.
type Dir struct{ *os.File }

// OpenFile is [Open]: a new file has mode 0600.
func (d Dir) OpenFile(name string, flag int, _ fs.FileMode) (*os.File, error) {
	return Open(d.File, name, flag)
}

// Rename is [Rename].
func (d Dir) Rename(from, to string) error { return Rename(d.File, from, to) }

// Remove is [Remove].
func (d Dir) Remove(name string) error { return Remove(d.File, name) }

// There takes the result of [Open], and gives nil for a file that is not there.
func There(f *os.File, err error) (*os.File, error) {
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return f, err
}

// Same says whether two are one file, or neither is there.
func Same(a, b *os.File) bool {
	if a == nil || b == nil {
		return a == b
	}
	x, err1 := a.Stat()
	y, err2 := b.Stat()
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// Close closes those that are there.
func Close(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			f.Close()
		}
	}
}
