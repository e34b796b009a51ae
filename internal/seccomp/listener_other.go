//go:build !linux

package seccomp

import (
	"fmt"
	"runtime"
	"syscall"
)

// Listener is not possible here: seccomp is a part of Linux.
type Listener struct{}

// NewListener is not possible here: seccomp is a part of Linux.
func NewListener(int) (*Listener, error) { return nil, errHere() }

// Receive returns an error: see NewListener.
func (l *Listener) Receive(*Notification) error { return errHere() }

// Answer returns an error: see NewListener.
func (l *Listener) Answer(uint64, int64, syscall.Errno) error { return errHere() }

// Continue returns an error: see NewListener.
func (l *Listener) Continue(uint64) error { return errHere() }

// Valid says no: see NewListener.
func (l *Listener) Valid(uint64) bool { return false }

// AddFD returns an error: see NewListener.
func (l *Listener) AddFD(uint64, int, int) (int, error) { return -1, errHere() }

// Close does nothing: see NewListener.
func (l *Listener) Close() {}

func errHere() error {
	return fmt.Errorf("opening a seccomp listener: seccomp needs Linux, this is %s", runtime.GOOS)
}
