//go:build !linux

package hostfacts

// FileProgram is for Linux only: elsewhere our own program does it.
func FileProgram(string) (at string, ok bool) { return "", false }
