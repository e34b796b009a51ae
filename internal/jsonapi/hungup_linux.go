package jsonapi

import (
	"os"

	"golang.org/x/sys/unix"
)

// HungUp is closed when nobody reads any more what is written to a pipe or a socket. Of
// other files it never is.
func HungUp(f *os.File) <-chan struct{} {
	gone := make(chan struct{})
	go func() {
		fds := []unix.PollFd{{Fd: int32(f.Fd())}} // errors and the end are always told
		for {
			n, err := unix.Poll(fds, -1)
			if err == unix.EINTR {
				continue
			}
			if err == nil && n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0 {
				close(gone)
			}
			return
		}
	}()
	return gone
}
