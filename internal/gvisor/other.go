//go:build !linux

package gvisor

import "errors"

// Starts refuses: there is no gVisor here.
func Starts() error { return errors.ErrUnsupported }
