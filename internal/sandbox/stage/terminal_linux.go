package stage

import (
	"carrel/internal/sandbox"

	"golang.org/x/sys/unix"
)

// reopenTerminals exchanges the standard descriptors that are the caller's
// terminal for ones of the same terminal on its mount inside. Through the mount
// that it was opened by outside, a command could change the node's mode, and with
// it who else on the machine reads what is typed. Who may not open it is not its
// owner, and may not change it either. With a broker that is what refuses.
func reopenTerminals() {
	var terminal unix.Stat_t
	if unix.Stat(sandbox.ConsolePath, &terminal) != nil || terminal.Mode&unix.S_IFMT != unix.S_IFCHR {
		return
	}
	for fd := range 3 {
		var st unix.Stat_t
		if unix.Fstat(fd, &st) != nil || st.Dev != terminal.Dev || st.Ino != terminal.Ino {
			continue
		}
		flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
		if err != nil {
			continue
		}
		again, err := unix.Open(sandbox.ConsolePath, flags&(unix.O_ACCMODE|unix.O_APPEND|unix.O_NONBLOCK)|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
		if err != nil {
			continue
		}
		_ = unix.Dup3(again, fd, 0)
		unix.Close(again)
	}
}
