//go:build !linux

package tty

// Relay is nothing here.
type Relay struct{}
