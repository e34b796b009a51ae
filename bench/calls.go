package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"
)

// callCount is how many calls of a kind one run makes.
const callCount = 2000

// callKinds are in the order of the loop: each needs what the ones before left.
var callKinds = []string{"open to create", "access W_OK", "open to read", "chmod", "rename", "unlink", "mkdir"}

// driveCalls is what runs inside: it makes dir anew and prints KIND=MICROSECONDS.
func driveCalls(w io.Writer, dir string) error {
	if err := errors.Join(os.RemoveAll(dir), os.Mkdir(dir, 0o755)); err != nil {
		return err
	}
	name := func(kind string, i int) string { return filepath.Join(dir, fmt.Sprintf("%s%d", kind, i)) }
	closed := func(f *os.File, err error) error {
		if err != nil {
			return err
		}
		return f.Close()
	}
	do := map[string]func(i int) error{
		"open to create": func(i int) error {
			return closed(os.OpenFile(name("f", i), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644))
		},
		"access W_OK":  func(i int) error { return writable(name("f", i)) },
		"open to read": func(i int) error { return closed(os.Open(name("f", i))) },
		"chmod":        func(i int) error { return os.Chmod(name("f", i), 0o600) },
		"rename":       func(i int) error { return os.Rename(name("f", i), name("g", i)) },
		"unlink":       func(i int) error { return os.Remove(name("g", i)) },
		"mkdir":        func(i int) error { return os.Mkdir(name("d", i), 0o755) },
	}
	for _, kind := range callKinds {
		start := time.Now()
		for i := range callCount {
			if err := do[kind](i); err != nil {
				return fmt.Errorf("%s, call %d: %w", kind, i, err)
			}
		}
		if _, err := fmt.Fprintf(w, "%s=%.3f\n", kind, float64(time.Since(start).Nanoseconds())/1000/callCount); err != nil {
			return err
		}
	}
	return os.RemoveAll(dir)
}
