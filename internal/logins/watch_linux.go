package logins

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// loginEvents are those after which a file may have another content or name.
const loginEvents = unix.IN_CLOSE_WRITE | unix.IN_MOVED_TO | unix.IN_CREATE | unix.IN_DELETE | unix.IN_ONLYDIR | unix.IN_DONT_FOLLOW

// watchPause is what programs inside that change things all the time are slowed by.
const watchPause = 5 * time.Millisecond

// watchDirs tells when something in the directories changes. They are asked for
// anew at each event: what was renamed away is no longer the one that is meant.
// Without inotify(7) nothing is ever told.
func watchDirs(dirs func() []string) (changed <-chan struct{}, forget func()) {
	fd, err := unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
	if err != nil {
		return nil, func() {}
	}
	f := os.NewFile(uintptr(fd), "inotify")
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, func() {}
	}
	watched := make(map[int]bool)
	add := func() {
		now := make(map[int]bool)
		_ = raw.Control(func(fd uintptr) {
			for _, dir := range dirs() {
				if wd, err := unix.InotifyAddWatch(int(fd), dir, loginEvents); err == nil {
					now[wd] = true
				}
			}
			for wd := range watched {
				if !now[wd] { // what another has the name of now
					_, _ = unix.InotifyRmWatch(int(fd), uint32(wd))
				}
			}
		})
		watched = now
	}
	add()
	tell, done := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(done)
		buf := make([]byte, 4096)
		for {
			if _, err := f.Read(buf); err != nil {
				return
			}
			add()
			select {
			case tell <- struct{}{}:
			default:
			}
			time.Sleep(watchPause)
		}
	}()
	return tell, func() {
		f.Close()
		<-done
	}
}

// stampOf adds what tells one content of a file from another.
func stampOf(to []byte, st fs.FileInfo, err error) []byte {
	if err != nil {
		return append(to, "-;"...)
	}
	inode := uint64(0)
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		inode = sys.Ino
	}
	return fmt.Appendf(to, "%d %d %d;", inode, st.Size(), st.ModTime().UnixNano())
}
