//go:build !linux

package guestinit

// Main does nothing: it is the first program of a Linux machine alone.
func Main() {}
