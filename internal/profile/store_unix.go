//go:build unix

package profile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// private refuses what another user owns, or can change by its mode.
func private(st fs.FileInfo, name string) error {
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && int(sys.Uid) != os.Getuid() {
		return fmt.Errorf("%q belongs to another user (uid %d): profiles are read from your own files only", name, sys.Uid)
	}
	if mode := st.Mode().Perm(); mode&0o022 != 0 {
		return fmt.Errorf("%q can be changed by others (mode %#o)\nhint: chmod go-w %s", name, mode, name)
	}
	return nil
}

// lock takes an advisory lock on a file of the directory; it ends with the
// process. The file stays: removing it would let two writers hold two locks of
// one name.
func (s *store) lock() error {
	f, err := s.root.OpenFile(lockName, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return fmt.Errorf("locking %q: %w", s.dir, plain(err))
	}
	if st, err := s.root.Lstat(lockName); err != nil || !st.Mode().IsRegular() {
		f.Close()
		return fmt.Errorf("locking %q: %s in it is no regular file", s.dir, lockName)
	}
	for start := time.Now(); ; time.Sleep(3 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			s.unlock = func() { f.Close() }
			return nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			break
		}
		if time.Since(start) > lockWait {
			err = errLocked
			break
		}
	}
	f.Close()
	return fmt.Errorf("locking %q: %w", s.dir, err)
}
