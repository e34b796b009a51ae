//go:build !linux

package stdio

import "syscall"

// Relay is nothing here.
type Relay struct{}

// DieBy does nothing here: no command was run.
func DieBy(syscall.Signal) {}
