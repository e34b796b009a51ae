//go:build !unix

package config

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// lockFile holds a file that only one caller can create. A killed program
// leaves it behind; the error after the wait names it.
func lockFile(name string) (unlock func(), err error) {
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err == nil {
			return func() { f.Close(); os.Remove(name) }, nil
		}
		if !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
		if time.Since(start) > lockWait {
			return nil, errLocked
		}
	}
}
