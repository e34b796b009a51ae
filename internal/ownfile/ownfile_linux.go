package ownfile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// Open opens name in dir with the flags of os.OpenFile, a new one with mode 0600. It
// follows no link and waits for no named pipe. The error is an *os.PathError.
func Open(dir *os.File, name string, flag int) (*os.File, error) {
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

// Rename gives a file of dir another name there, in the place of what has it.
func Rename(dir *os.File, from, to string) error {
	return os.NewSyscallError("renameat", unix.Renameat(int(dir.Fd()), from, int(dir.Fd()), to))
}

// Remove removes a file of dir.
func Remove(dir *os.File, name string) error {
	return os.NewSyscallError("unlinkat", unix.Unlinkat(int(dir.Fd()), name, 0))
}

// TryLock reports whether the file's lock was to be had. The kernel gives it
// back when the file is closed or the process dies.
func TryLock(f *os.File) (bool, error) {
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
