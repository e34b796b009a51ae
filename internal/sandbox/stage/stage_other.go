//go:build !linux

package stage

import "os"

// Main is never started on this system; see package session.
func Main() { os.Exit(125) }
