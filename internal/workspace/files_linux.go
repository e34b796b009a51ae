package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// openNoFollow opens neither through a symlink nor waits for a FIFO's writer.
const openNoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

func ownedByUs(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Getuid()
}

func changeTime(info fs.FileInfo) time.Time {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return time.Unix(st.Ctim.Unix())
	}
	return info.ModTime()
}

// lockFile holds a file that is made where it is missing, and gives up after a time.
func lockFile(path string, wait time.Duration) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for end := time.Now().Add(wait); ; time.Sleep(5 * time.Millisecond) {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { f.Close() }, nil
		}
		switch busy := err == syscall.EWOULDBLOCK; {
		case busy && time.Now().After(end):
			err = fmt.Errorf("another carrel has held it for %s; is one stopped? %w", wait, err)
		case busy || err == syscall.EINTR:
			continue
		}
		f.Close()
		return nil, err
	}
}
