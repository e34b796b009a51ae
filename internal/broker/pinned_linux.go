package broker

import (
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// Opening what has been looked at, and nothing else; and handing it over.

// openSame opens the regular file that was looked at, and no other, if it still
// has its name when it is open: what another run has just replaced or removed may be
// what that run's history keeps.
func (w *pinner) openSame(p *place, flags int, l look) (int, error) {
	fd, err := w.openThere(p, flags)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Ino != l.Ino || st.Dev != l.Dev || st.Mode&unix.S_IFMT != unix.S_IFREG {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	if now, err := p.at(); err != nil || now.Ino != l.Ino || now.Dev != l.Dev {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	return fd, nil
}

// stillThere says for an object that is opened for writing by what pins it whether
// it has the path by which it was found.
func (w *thread) stillThere(o *object) error {
	at, err := w.fdPath(o.fd)
	if err == nil && at != o.path {
		err = unix.ESTALE
	}
	return err
}

func (w *pinner) openThere(p *place, flags int) (int, error) {
	if slices.Contains(w.b.config.Roots, p.path) { // a file that is a root itself
		pin, err := unix.Openat(p.dir, p.name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, err
		}
		defer unix.Close(pin)
		var st unix.Stat_t
		if err := unix.Fstat(pin, &st); err != nil {
			return -1, err
		}
		return w.openApart(pin, &st, flags)
	}
	dir, err := w.apartPlace(p)
	if err != nil {
		return -1, err
	}
	// Not O_NOFOLLOW: F_GETFL would show it.
	return w.openUnleased(dir, p.name, flags, unix.RESOLVE_NO_SYMLINKS|unix.RESOLVE_BENEATH)
}

// openUnleased opens a file with just these flags. A lease that somebody holds
// must not hold us: O_NONBLOCK, and the caller is told.
func (w *pinner) openUnleased(dir int, name string, flags int, resolve uint64) (int, error) {
	fd, err := w.withRoom(func() (int, error) {
		return unix.Openat2(dir, name, &unix.OpenHow{Flags: uint64(uint32(flags)) | unix.O_NONBLOCK | unix.O_CLOEXEC, Resolve: resolve})
	})
	if err == unix.EAGAIN {
		return -1, leasedFor(flags)
	}
	if err != nil {
		return -1, err
	}
	return asAsked(fd, flags)
}

// leasedFor says how long an open is tried again while somebody holds a lease. Who does
// not want to wait still has to get past one that the history holds for a moment.
func leasedFor(flags int) error {
	if flags&unix.O_NONBLOCK != 0 {
		return errLeasedBriefly
	}
	return errLeased
}

// asAsked takes back the O_NONBLOCK that kept us from waiting, where the caller
// did not ask for it. It closes fd where that fails.
func asAsked(fd, flags int) (int, error) {
	if flags&unix.O_NONBLOCK != 0 {
		return fd, nil
	}
	if _, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, flags&^creating); err != nil {
		unix.Close(fd)
		return -1, err
	}
	return fd, nil
}

// openPinned opens what is pinned and nothing else. Nobody waits here, neither
// for a lease nor for a terminal's carrier.
func (w *thread) openPinned(pin int, at string, st *unix.Stat_t, flags int) (int, error) {
	kind := kindOf(st.Mode)
	wait := flags&unix.O_NONBLOCK == 0 && kind != KindDir
	with := flags&^(creating|unix.O_NOFOLLOW) | unix.O_CLOEXEC | unix.O_NOCTTY
	if wait {
		with |= unix.O_NONBLOCK
	}
	fd, err := -1, error(unix.ESTALE)
	if flags&unix.O_NOFOLLOW != 0 && !w.away && st.Mode&unix.S_IFMT != unix.S_IFIFO && st.Rdev != devTTY {
		fd, err = w.openSeen(at, st, with|unix.O_NOFOLLOW) // F_GETFL shows it
	}
	if err != nil {
		fd, err = unix.Openat(w.b.self, strconv.Itoa(pin), with, 0)
	}
	if err == unix.EAGAIN && kind == KindFile {
		return -1, leasedFor(flags)
	}
	if err != nil || !wait {
		return fd, err
	}
	return asAsked(fd, flags)
}

// openSeen opens by its path in the view what must be the same as was looked at,
// else ESTALE.
func (w *thread) openSeen(path string, like *unix.Stat_t, flags int) (int, error) {
	fd, err := w.seen(path, unix.OpenHow{Flags: uint64(uint32(flags)) | unix.O_CLOEXEC, Resolve: inMirror | unix.RESOLVE_NO_SYMLINKS})
	if err != nil {
		return -1, err
	}
	if !isFile(fd, like) {
		unix.Close(fd)
		return -1, unix.ESTALE
	}
	return fd, nil
}

// readOnly opens the same file on the view's read-only mount: a descriptor of
// the mirror could be opened again through procfs, for writing.
func (w *thread) readOnly(path string, like, flags int) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(like, &st); err != nil {
		return -1, err
	}
	fd, err := w.openSeen(path, &st, flags&^(creating|unix.O_ACCMODE)|unix.O_RDONLY|unix.O_NONBLOCK)
	if err != nil {
		return -1, err
	}
	return asAsked(fd, flags)
}

// readNew is readOnly for a file that was just made with a mode that its own
// maker may not read: the open that makes a file has what it asked for all the
// same.
func (w *thread) readNew(path string, fd, flags int) (int, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return -1, err
	}
	if err := unix.Fchmod(fd, st.Mode&0o7777|unix.S_IRUSR); err != nil {
		return -1, err
	}
	ro, err := w.readOnly(path, fd, flags)
	if e := unix.Fchmod(fd, st.Mode&0o7777); e != nil && err == nil {
		unix.Close(ro)
		return -1, e
	}
	return ro, err
}

// cut empties a file. A descriptor with access mode 3, for ioctl only, was
// granted as one for reading and writing, but can do neither.
func cut(fd, flags int) error {
	if flags&unix.O_ACCMODE == unix.O_ACCMODE {
		own, err := unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(own)
		fd = own
	}
	return unix.Ftruncate(fd, 0)
}

// give puts a descriptor into the caller, and closes ours.
func (w *thread) give(fd, flags int) (int64, error) {
	n, err := w.trap.AddFD(w.call.ID, fd, flags&unix.O_CLOEXEC)
	unix.Close(fd)
	return int64(n), err
}
