package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// dirPath is fdPath for a directory of the mirror. Asking for the working
// directory takes less than half of what procfs does; it stays in one of bases,
// where the next call is likely to be.
func (w *worker) dirPath(fd int, base bool) (string, error) {
	if w.cwd != fd || !base {
		w.cwd = -1
		if unix.Fchdir(fd) != nil {
			return w.fdPath(fd) // one that may not be searched
		}
		if base {
			w.cwd = fd
		}
	}
	n, err := unix.Getcwd(w.link[:])
	if err == nil {
		// The mirror is mounted nowhere: its root is not ours.
		if at, ok := strings.CutPrefix(string(w.link[:n-1]), "(unreachable)"); ok {
			return at, nil
		}
	}
	return w.fdPath(fd)
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
