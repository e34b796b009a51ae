package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// A descriptor can be opened once more through /proc, for writing, whatever it was
// granted for and whenever: the kernel does that by itself, for its mount can be
// written. What is left to say no is Landlock, which walks up from the file to a
// directory that may be written: in the mirror there is one above most roots (the
// private home, /tmp), in Config.Grants nothing is above them.

// apartDir pins by its own mount a directory that is pinned in the mirror. What it
// gives stays the directory's.
func (w *pinner) apartDir(d *directory) (int, error) {
	if d.grant >= 0 {
		return d.grant, nil
	}
	var st unix.Stat_t
	if err := unix.Fstat(d.fd, &st); err != nil {
		return -1, err
	}
	fd, err := w.apart(d.fd, &st)
	if err == nil {
		d.grant = fd
	}
	return fd, err
}

// apartPlace is apartDir for the directory of a place.
func (w *pinner) apartPlace(p *place) (int, error) {
	if p.pin == nil {
		return w.apartCopy(p.dir)
	}
	return w.apartDir(p.pin)
}

// apartCopy is apartDir for what somebody else has pinned.
func (w *pinner) apartCopy(pin int) (int, error) {
	fd, err := w.withRoom(func() (int, error) { return unix.FcntlInt(uintptr(pin), unix.F_DUPFD_CLOEXEC, 0) })
	if err != nil {
		return -1, err
	}
	d, err := w.enter(fd)
	if err != nil {
		return -1, err
	}
	return w.apartDir(d)
}

// apart pins by its own mount what is pinned in the mirror.
func (w *pinner) apart(pin int, st *unix.Stat_t) (int, error) {
	var err error
	for range apartTries { // somebody may move it on the way
		var at string
		if at, err = w.fdPath(pin); err != nil {
			return -1, err
		}
		var fd int
		if fd, err = w.withRoom(func() (int, error) { return w.grantable(at) }); err != nil {
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
		if len(part) >= caller.PathMax {
			cut := strings.LastIndexByte(part[:caller.PathMax-1], '/')
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
func (w *pinner) openApart(pin int, st *unix.Stat_t, flags int) (int, error) {
	fd, err := w.apart(pin, st)
	if err != nil {
		return -1, err
	}
	defer unix.Close(fd)
	return w.openUnleased(w.b.self, strconv.Itoa(fd), flags, 0)
}
