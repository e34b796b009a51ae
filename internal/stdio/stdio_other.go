//go:build !linux

package stdio

import "syscall"

// DieBy does nothing here: no command was run.
func DieBy(syscall.Signal) {}
