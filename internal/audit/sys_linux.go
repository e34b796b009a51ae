package audit

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// ErrTaken means that another process writes the log.
var ErrTaken = errors.New("another process writes it")

// noWait opens a named pipe, too, without waiting for who writes into it.
const noWait = unix.O_NONBLOCK

// openAt opens a regular file of this user's, which is no link.
func openAt(dir *os.File, name string, flag int) (*os.File, error) {
	path := filepath.Join(dir.Name(), name)
	fd, err := unix.Openat(int(dir.Fd()), name, flag|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0o600)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	f := os.NewFile(uintptr(fd), path)
	var st unix.Stat_t
	if err = unix.Fstat(fd, &st); err == nil {
		err = acceptable(&st)
	}
	if err != nil {
		f.Close()
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	return f, nil
}

func acceptable(st *unix.Stat_t) error {
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return errors.New("not a regular file")
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("owned by user %d, not by %d", st.Uid, os.Geteuid())
	}
	return nil
}

func renameAt(dir *os.File, from, to string) error {
	return os.NewSyscallError("renameat", unix.Renameat(int(dir.Fd()), from, int(dir.Fd()), to))
}

func unlinkAt(dir *os.File, name string) error {
	return os.NewSyscallError("unlinkat", unix.Unlinkat(int(dir.Fd()), name, 0))
}

// lockFile takes the lock of a file, which the kernel gives back with it.
func lockFile(f *os.File) error {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case unix.EINTR:
		case unix.EWOULDBLOCK:
			return ErrTaken
		default:
			return os.NewSyscallError("flock", err)
		}
	}
}
