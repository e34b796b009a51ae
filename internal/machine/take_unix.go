//go:build unix

package machine

import (
	"errors"
	"io"
	"os"

	"carrel/internal/advice"

	"golang.org/x/sys/unix"
)

// Take refuses a second run in one machine: its processes could reach what the first one serves.
// dir is the project's in the state directory.
func (m *Machine) Take(dir string) (io.Closer, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(dir+"/machine", os.O_CREATE|os.O_RDWR|unix.O_NOFOLLOW, 0o600)
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
