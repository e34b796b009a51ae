//go:build !linux

package guestagent

import "errors"

// Main refuses: it runs inside a Linux machine.
func Main([]string) error { return errors.ErrUnsupported }
