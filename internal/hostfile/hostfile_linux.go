package hostfile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// NoFollow opens neither through a symlink nor waits for a FIFO's writer.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// OwnedByUs says whether a file belongs to the user that this process runs as.
func OwnedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

// ChangeTime is when the kernel changed the content or the status of a file last; no
// program can set it back.
func ChangeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

// Lock holds a file that is made where it is missing, and gives up after a time.
func Lock(path string, wait time.Duration) (unlock func(), err error) {
	return lock(path, wait, syscall.LOCK_EX)
}

// Share holds a file together with others that share it, and keeps [Lock] out.
func Share(path string, wait time.Duration) (unlock func(), err error) {
	return lock(path, wait, syscall.LOCK_SH)
}

func lock(path string, wait time.Duration, how int) (unlock func(), err error) {
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if err != nil {
			return nil, err
		}
		err = syscall.Flock(int(f.Fd()), how|syscall.LOCK_NB)
		if err == nil && named(f, path) {
			return func() { f.Close() }, nil
		}
		f.Close()
		switch busy := err == syscall.EWOULDBLOCK; {
		case busy && time.Now().After(end):
			return nil, fmt.Errorf("another carrel has held it for %s; is one stopped? %w", wait, err)
		case err != nil && !busy && err != syscall.EINTR:
			return nil, err
		}
	}
}

// named says whether a file still has its name: the process that held it before may have removed it.
func named(f *os.File, path string) bool {
	mine, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(mine, now)
}
