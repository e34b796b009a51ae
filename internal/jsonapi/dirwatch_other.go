//go:build !linux

package jsonapi

import "errors"

// dirWatch is for Linux.
type dirWatch struct{}

func newDirWatch(func()) (*dirWatch, error) {
	return nil, errors.New("watching directories is not supported here")
}

func (*dirWatch) want([]string) {}
func (*dirWatch) close()        {}
