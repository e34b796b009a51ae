//go:build !unix

package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"
)

// private has no owner to ask here.
func private(fs.FileInfo, string) error { return nil }

// lock holds a file that only one writer can create. A killed one leaves it
// behind; the error after the wait names it.
func (s *store) lock() error {
	for start := time.Now(); ; time.Sleep(3 * time.Millisecond) {
		f, err := s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE|os.O_EXCL, fileMode)
		if err == nil {
			s.unlock = func() { f.Close(); _ = s.root.Remove(lockName) }
			return nil
		}
		if !errors.Is(err, fs.ErrExist) || time.Since(start) > lockWait {
			if errors.Is(err, fs.ErrExist) {
				err = errLocked
			}
			return fmt.Errorf("locking %q: %w", s.dir, err)
		}
	}
}
