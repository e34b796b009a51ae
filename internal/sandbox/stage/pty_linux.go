package stage

import (
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// newPty makes a pseudoterminal of the workspace's own: programs inside find its
// name, and nobody outside has one.
func (s *server) newPty(id uint64) {
	near, far, err := openPty()
	if err != nil {
		s.link.say(sandbox.Message{Kind: sandbox.MsgPty, ID: id, Code: errno(err)})
		return
	}
	s.link.say(sandbox.Message{Kind: sandbox.MsgPty, ID: id}, near, far)
	unix.Close(near)
	unix.Close(far)
}

func openPty() (near, far int, err error) {
	near, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	if err = unix.IoctlSetPointerInt(near, unix.TIOCSPTLCK, 0); err == nil {
		// The argument is the flags to open the far end with, and the result its number.
		n, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(near), unix.TIOCGPTPEER, unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC)
		if far = int(n); e != 0 {
			err = e
		}
	}
	if err != nil {
		unix.Close(near)
	}
	return near, far, err
}
