package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dirPath is fdPath for a directory that stays pinned. Asking for the working directory
// takes less than half of what procfs does; the thread stays there, as the next
// call is likely to ask again.
func (w *worker) dirPath(d *directory) (string, error) {
	if w.dirs.in != d {
		if !w.fs.Own() || unix.Fchdir(d.fd) != nil {
			return w.fdPath(d.fd) // one that may not be searched, or all threads would go there
		}
		w.dirs.in = d
	}
	n, err := unix.Getcwd(w.link[:])
	if err == nil {
		// A mirror is mounted nowhere: its root is not ours, unless there are no mounts of
		// the workspace's own.
		at, ok := strings.CutPrefix(string(w.link[:n-1]), "(unreachable)")
		if ok != w.b.ownRoot {
			return at, nil
		}
	}
	return w.fdPath(d.fd)
}

// fdPath reads where one of our own descriptors is now.
func (w *worker) fdPath(fd int) (string, error) {
	return w.readLink(w.b.self, strconv.Itoa(fd))
}

// readLink reads where a symlink leads.
func (w *worker) readLink(dir int, name string) (string, error) {
	n, err := unix.Readlinkat(dir, name, w.link[:])
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", unix.ENOENT
	case n == len(w.link):
		return "", unix.ENAMETOOLONG
	}
	return string(w.link[:n]), nil
}

// isFile says whether a descriptor is of what was looked at.
func isFile(fd int, st *unix.Stat_t) bool {
	var now unix.Stat_t
	return unix.Fstat(fd, &now) == nil && now.Ino == st.Ino && now.Dev == st.Dev
}

func sameFile(a, b int) bool {
	var st unix.Stat_t
	return unix.Fstat(a, &st) == nil && isFile(b, &st)
}
