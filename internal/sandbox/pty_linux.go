package sandbox

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// OpenPty makes a pseudoterminal and gives its two ends.
func OpenPty() (near, far int, err error) {
	near, err = unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, -1, err
	}
	if err = unix.IoctlSetPointerInt(near, unix.TIOCSPTLCK, 0); err == nil {
		const flags = unix.O_RDWR | unix.O_NOCTTY | unix.O_CLOEXEC
		n, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(near), unix.TIOCGPTPEER, flags) // gives the far end
		switch far = int(n); e {
		case 0:
		case unix.ENOTTY: // gVisor's kernel has no such call
			var number int
			if number, err = unix.IoctlGetInt(near, unix.TIOCGPTN); err == nil {
				far, err = unix.Open("/dev/pts/"+strconv.Itoa(number), flags, 0)
			}
		default:
			err = e
		}
	}
	if err != nil {
		unix.Close(near)
	}
	return near, far, err
}
