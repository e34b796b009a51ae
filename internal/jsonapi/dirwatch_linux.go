package jsonapi

import (
	"fmt"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// dirWatch watches directories by inotify(7), not what is below them. A nil one watches
// nothing.
type dirWatch struct {
	fd   *os.File
	done sync.WaitGroup
	held map[string]int // watched, with their numbers
}

// watched are the changes that may be somebody's.
const watched = unix.IN_CLOSE_WRITE | unix.IN_MODIFY | unix.IN_MOVED_FROM | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE | unix.IN_ATTRIB

func newDirWatch(changed func()) (*dirWatch, error) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching directories: %w", err)
	}
	w := &dirWatch{fd: os.NewFile(uintptr(fd), "inotify"), held: map[string]int{}}
	w.done.Go(func() {
		buf := make([]byte, 16<<10)
		for {
			if _, err := w.fd.Read(buf); err != nil {
				return
			}
			changed()
		}
	})
	return w, nil
}

// want watches these directories and no others. What cannot be watched is left out: the
// end of the next command is a reason to look as well.
func (w *dirWatch) want(dirs []string) {
	if w == nil {
		return
	}
	raw, err := w.fd.SyscallConn()
	if err != nil {
		return
	}
	keep := map[string]int{}
	_ = raw.Control(func(fd uintptr) {
		for _, dir := range dirs {
			if n, err := unix.InotifyAddWatch(int(fd), dir, watched|unix.IN_ONLYDIR|unix.IN_DONT_FOLLOW); err == nil {
				keep[dir] = n
			}
		}
		still := map[int]bool{}
		for _, n := range keep {
			still[n] = true
		}
		for dir, n := range w.held {
			if _, ok := keep[dir]; !ok && !still[n] {
				_, _ = unix.InotifyRmWatch(int(fd), uint32(n))
			}
		}
	})
	w.held = keep
}

func (w *dirWatch) close() {
	if w == nil {
		return
	}
	w.fd.Close()
	w.done.Wait()
}
