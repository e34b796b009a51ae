package tty

import (
	"golang.org/x/sys/unix"
)

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
