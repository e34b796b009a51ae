package spool

import (
	"errors"

	"golang.org/x/sys/unix"
)

// noRoom are the errors that a log lives with: they say something of the disk
// and nothing of the log.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EIO)
}
