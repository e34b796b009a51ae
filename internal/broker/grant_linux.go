package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// A descriptor can be opened once more through /proc, for writing, whatever it was
// granted for and whenever: the kernel does that by itself, for its mount can be
// written. What is left to say no is Landlock, which walks up from the file to a
// directory that may be written: in the mirror there is one above most roots (the
// private home, /tmp), in Config.Grants nothing is above them.

// apartDir pins by its own mount a directory that is pinned in the mirror. What it
// gives stays the worker's.
func (w *worker) apartDir(pin int) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(pin, &st); err != nil {
		return -1, err
	}
	if fd, ok := w.given.find(&st); ok {
		return fd, nil
	}
	fd, err := w.apart(pin, &st)
	if err == nil {
		w.given.keep(fd, &st)
	}
	return fd, err
}

// apart pins by its own mount what is pinned in the mirror.
func (w *worker) apart(pin int, st *unix.Stat_t) (int, error) {
	var err error
	for range apartTries { // somebody may move it on the way
		var at string
		if at, err = w.fdPath(pin); err != nil {
			return -1, err
		}
		var fd int
		if fd, err = w.grantable(at); err != nil {
			continue
		}
		if isFile(fd, st) {
			return fd, nil
		}
		unix.Close(fd)
		err = unix.ESTALE
	}
	var now unix.Stat_t
	if unix.Fstat(pin, &now) == nil && now.Nlink == 0 { // whatever is on the way to where it was
		err = unix.ENOENT
	}
	return -1, err
}

const apartTries = 3

// descend opens a path below a directory; one that is longer than the kernel takes
// at once is opened in parts.
func descend(dir int, name string) (int, error) {
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS}
	fd := -1
	for from := dir; ; from = fd {
		part := name
		if len(part) >= pathMax {
			cut := strings.LastIndexByte(part[:pathMax-1], '/')
			if cut <= 0 {
				return -1, unix.ENAMETOOLONG
			}
			part = part[:cut]
		}
		next, err := unix.Openat2(from, part, &how)
		if from != dir {
			unix.Close(from)
		}
		if err != nil {
			return -1, err
		}
		if fd, name = next, strings.TrimPrefix(name[len(part):], "/"); name == "" {
			return fd, nil
		}
	}
}

// openApart opens a file that is pinned in the mirror.
func (w *worker) openApart(pin int, st *unix.Stat_t, flags int) (int, error) {
	fd, err := w.apart(pin, st)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return openUnleased(w.b.self, strconv.Itoa(fd), flags, 0)
}

// granted are directories that were pinned by their own mounts of late.
type granted struct {
	known [8]grant
	next  int
}

type grant struct {
	dev, ino uint64
	fd       int // 0 for none
}

func (g *granted) find(st *unix.Stat_t) (int, bool) {
	for i := range g.known {
		if k := &g.known[i]; k.fd > 0 && k.ino == st.Ino && k.dev == st.Dev {
			return k.fd, true
		}
	}
	return -1, false
}

// keep takes fd over until others have taken its place.
func (g *granted) keep(fd int, st *unix.Stat_t) {
	k := &g.known[g.next]
	g.next = (g.next + 1) % len(g.known)
	if k.fd > 0 {
		unix.Close(k.fd)
	}
	*k = grant{st.Dev, st.Ino, fd}
}

func (g *granted) drop() {
	for _, k := range g.known {
		if k.fd > 0 {
			unix.Close(k.fd)
		}
	}
	*g = granted{}
}
