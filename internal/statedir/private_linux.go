package statedir

import (
	"fmt"
	"os"
	"path/filepath"

	"carrel/internal/dirlist"

	"golang.org/x/sys/unix"
)

// Private makes a directory that is one run's: private/ID, locked until it is dropped. What
// an earlier run has left, as it was killed, is removed first. A nil state has none.
func Private(s *Dir) (dir string, drop func() error, err error) {
	if s == nil {
		return "", nil, fmt.Errorf("a private directory for the run: %w", ErrNone)
	}
	all := filepath.Join(s.path, "private")
	if err := os.MkdirAll(all, 0o700); err != nil {
		return "", nil, fmt.Errorf("making the place of private directories: %w", err)
	}
	sweepPrivate(all)
	dir, lock, err := newPrivate(all)
	if err != nil {
		return "", nil, fmt.Errorf("making the private directory: %w", err)
	}
	return dir, func() error {
		defer unix.Close(lock)
		return dirlist.RemoveTree(dir)
	}, nil
}

// newPrivate makes one and locks it. Another run that starts at the same moment
// may take it for one that was left, and remove it.
func newPrivate(all string) (dir string, lock int, err error) {
	for range 5 {
		if dir, err = os.MkdirTemp(all, ""); err != nil {
			return "", -1, err
		}
		if lock, err = lockDir(dir); err != nil {
			continue
		}
		if _, err = os.Lstat(dir); err == nil {
			return dir, lock, nil
		}
		unix.Close(lock)
	}
	return "", -1, err
}

// sweepPrivate removes what belongs to no run any more.
func sweepPrivate(all string) {
	entries, err := os.ReadDir(all)
	if err != nil {
		return
	}
	for _, e := range entries {
		dir := filepath.Join(all, e.Name())
		if lock, err := lockDir(dir); err == nil {
			_ = dirlist.RemoveTree(dir)
			unix.Close(lock)
		}
	}
}

// lockDir takes a directory that no other process has.
func lockDir(dir string) (int, error) {
	fd, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return -1, err
	}
	if err := unix.Flock(fd, unix.LOCK_EX|unix.LOCK_NB); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}
