package sandbox

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// PID is the stage's process id; it is its own until Close has returned.
func (w *Walls) PID() int { return w.pid }

// Handles are what a broker needs of walls that were built with roots.
type Handles struct {
	Listener     int // of the seccomp filter's notifications
	Mirror, View int // root directories: roots read-write, and as commands see it
	MountNS      uint64
}

// TakeBroker hands the broker's descriptors out, once; the caller closes them.
func (w *Walls) TakeBroker() (Handles, error) {
	fds := w.broker
	w.broker = nil
	if len(fds) != 3 {
		return Handles{}, fmt.Errorf("the stage gave %d descriptors for the broker, want 3", len(fds))
	}
	var st unix.Stat_t
	if err := unix.Stat(fmt.Sprintf("/proc/%d/ns/mnt", w.pid), &st); err != nil {
		return Handles{}, fmt.Errorf("reading the workspace's mount namespace: %w", err)
	}
	return Handles{fds[0], fds[1], fds[2], st.Ino}, nil
}
