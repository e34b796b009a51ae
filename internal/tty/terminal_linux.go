package tty

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// TerminalName gives the device of the terminal among the standard descriptors,
// so that ttyname(3) finds it inside as /dev/console; "" without one.
func TerminalName() string {
	for fd := range 3 {
		if _, err := unix.IoctlGetTermios(fd, unix.TCGETS); err != nil {
			continue
		}
		if name, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd)); err == nil && strings.HasPrefix(name, "/dev/") {
			return name
		}
	}
	return ""
}

// KeepTerminals remembers the modes of the terminals among the standard
// descriptors; the function that it returns gives them back. A command holds
// their descriptors and owns their nodes: it could open them to other users.
func KeepTerminals() (restore func()) {
	var before [3]unix.Stat_t
	for fd := range 3 {
		_ = unix.Fstat(fd, &before[fd])
	}
	return func() {
		for fd, was := range before {
			var now unix.Stat_t
			if was.Mode&unix.S_IFMT == unix.S_IFCHR && unix.Fstat(fd, &now) == nil && now.Ino == was.Ino && now.Mode != was.Mode {
				_ = unix.Fchmod(fd, was.Mode&0o7777)
			}
		}
	}
}
