//go:build unix

package config

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// lockFile takes an advisory lock that ends with the process, so that a killed
// one leaves nothing to clean up but an empty file. That file stays: removing
// it would let two callers hold two locks of one name.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for start := time.Now(); ; time.Sleep(5 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		if time.Since(start) > lockWait {
			err = errLocked
			break
		}
	}
	f.Close()
	return nil, err
}
