//go:build !linux

package sandbox

// Stage is never started on this system.
type Stage struct{}
