//go:build unix

package machine

import (
	"errors"
	"io"
	"os"

	"carrel/internal/advice"

	"golang.org/x/sys/unix"
)

// take locks a file as long as this process has it open.
func take(path string) (io.Closer, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, &advice.Error{Err: errors.New("another command uses the machine of this project"),
			Hint: "wait for its end: a machine has one at a time"}
	}
	return f, nil
}
