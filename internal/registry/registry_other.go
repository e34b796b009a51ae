//go:build !linux

package registry

// Alive says no: nothing runs here.
func (Process) Alive() bool { return false }
