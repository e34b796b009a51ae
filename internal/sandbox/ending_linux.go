package sandbox

import (
	"fmt"
	"syscall"

	"golang.org/x/sys/unix"
)

// Reap waits for the end of a child of this process and says how it has ended.
func Reap(pid int) string {
	for {
		var status unix.WaitStatus
		_, err := unix.Wait4(pid, &status, 0, nil)
		switch {
		case err == unix.EINTR:
		case err != nil:
			return err.Error()
		case status.Signaled():
			return fmt.Sprintf("signal %d, %s", status.Signal(), syscall.Signal(status.Signal()))
		default:
			return fmt.Sprintf("exit status %d", status.ExitStatus())
		}
	}
}
