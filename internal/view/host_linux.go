package view

import (
	"os"
	"syscall"
)

func supported() error { return nil }

// openForRead opens without following a last link and without waiting for the
// other end of a FIFO; a directory only when asked for.
func openForRead(p string, dir bool) (*os.File, error) {
	flags := os.O_RDONLY | syscall.O_NOFOLLOW | syscall.O_NONBLOCK | syscall.O_CLOEXEC
	if dir {
		flags |= syscall.O_DIRECTORY
	}
	return os.OpenFile(p, flags, 0)
}
