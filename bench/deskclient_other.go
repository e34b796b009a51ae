//go:build !linux

package main

import (
	"errors"
	"net"
	"os"
)

// sendWith is not needed here: there are no walls.
func sendWith(*net.UnixConn, []byte, []*os.File) error { return errors.ErrUnsupported }

// Read implements [io.Reader].
func (w *withFiles) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }
