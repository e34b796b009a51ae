//go:build !linux

package quickexec

// Early does nothing here.
func Early() (status int, done bool) { return 0, false }

// Taken has nothing here.
func Taken() (Result, bool) { return Result{}, false }
