package spool

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// openAt opens a regular file of this user's that has one name, and never
// follows a link or waits for a FIFO.
func openAt(dir *os.File, name string, flag int) (*os.File, error) {
	fd, err := unix.Openat(int(dir.Fd()), name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, pathError("open", dir, name, err)
	}
	f := os.NewFile(uintptr(fd), name)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = acceptable(&st)
	}
	if err != nil {
		f.Close()
		return nil, pathError("open", dir, name, err)
	}
	return f, nil
}

// acceptable takes no name at all for a good one: somebody may rename over the
// file while it is looked at.
func acceptable(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("owned by user %d, not by %d", st.Uid, os.Geteuid())
	case st.Nlink > 1:
		return fmt.Errorf("has %d links, want 1", st.Nlink)
	}
	return nil
}

func renameAt(dir *os.File, from, to string) error {
	return os.NewSyscallError("renameat", unix.Renameat(int(dir.Fd()), from, int(dir.Fd()), to))
}

func unlinkAt(dir *os.File, name string) error {
	return os.NewSyscallError("unlinkat", unix.Unlinkat(int(dir.Fd()), name, 0))
}

// tryLock reports whether the file's lock was to be had. The kernel gives it
// back when the file is closed or the process dies.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return false, nil
		default:
			return err == nil, os.NewSyscallError("flock", err)
		}
	}
}

// noRoom are the errors that a log lives with: they say something of the disk
// and nothing of the log.
func noRoom(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, unix.EIO)
}
