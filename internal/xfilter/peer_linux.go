package xfilter

import (
	"errors"
	"net"

	"golang.org/x/sys/unix"
)

// peer gives the process that connected, by the kernel's word and as this
// process's namespace counts; 0 if it does not say. And it gives what app says of it,
// 0 where that process is no more: its number may be another's by then.
func peer(conn net.Conn, app func(pid int) uint64) (pid int, of uint64) {
	u, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, 0
	}
	raw, err := u.SyscallConn()
	if err != nil {
		return 0, 0
	}
	raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil && cred.Pid > 0 {
			pid = int(cred.Pid)
			of = lives(int(fd), func() uint64 { return app(pid) })
		}
	})
	return pid, of
}

// lives gives what f says if the process that connected was there all the time: one that
// has ended keeps its number until it is waited for.
func lives(fd int, f func() uint64) uint64 {
	pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	if errors.Is(err, unix.ENOPROTOOPT) { // before Linux 6.5: numbers are not used again that fast
		return f()
	}
	if err != nil {
		return 0
	}
	defer unix.Close(pidfd)
	said := f()
	if errors.Is(unix.PidfdSendSignal(pidfd, 0, nil, 0), unix.ESRCH) {
		return 0
	}
	return said
}
