package session

import (
	"fmt"
	"os"

	"carrel/internal/named"

	"golang.org/x/sys/unix"
)

// belongs writes down with which process the place of the workspace with an id goes, before
// anything else is in it.
func belongs(place *named.Place, id string, req DeskRequest) error {
	owner := 0
	if req.Passing {
		owner = req.Owner
	}
	return place.BelongTo(id, owner)
}

// leaveNothing removes the place of a workspace that goes with its owner, where that has
// ended. One that was stopped before leaves it to the owner, or to the next start.
func leaveNothing(place *named.Place, state string, req DeskRequest) {
	if !req.Passing || !place.OwnerEnded() {
		return
	}
	if err := place.Remove(state); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
	}
}

// sweepPassed removes what owners and supervisors that were killed together have left.
func sweepPassed(state string) {
	if err := named.SweepEnded(state); err != nil {
		fmt.Fprintf(os.Stderr, "removing what ended workspaces have left: %v\n", err)
	}
}

// owner is a process with which the workspace ends, however that ends. It is held by a
// descriptor: its number may become another's. There is none where it is nil.
type owner struct {
	pid  int
	file *os.File
}

// holdOwner takes hold of one, nil for 0, and has ended called when it does.
func holdOwner(pid int, ended func()) (*owner, error) {
	if pid == 0 {
		return nil, nil
	}
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("process %d, with which the workspace is to end: %w", pid, err)
	}
	o := &owner{pid, os.NewFile(uintptr(fd), "owner")}
	raw, err := o.file.SyscallConn()
	if err != nil {
		o.close()
		return nil, err
	}
	go func() {
		gone := false
		_ = raw.Read(func(fd uintptr) bool {
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
			gone = n > 0 && err == nil
			return gone || err != nil && err != unix.EINTR
		})
		if gone {
			ended()
		}
	}()
	return o, nil
}

// is says whether a process is the owner, and is still there.
func (o *owner) is(pid int) bool {
	if o == nil || pid != o.pid {
		return false
	}
	raw, err := o.file.SyscallConn()
	if err != nil {
		return false
	}
	alive := false
	err = raw.Control(func(fd uintptr) {
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		alive = n == 0 && err == nil
	})
	return alive && err == nil
}

func (o *owner) close() {
	if o != nil {
		o.file.Close()
	}
}
