package broker

import (
	"errors"
	"strings"

	"carrel/internal/broker/caller"

	"golang.org/x/sys/unix"
)

// place is a name in a pinned directory of the mirror.
type place struct {
	dir  int
	pin  *directory // nil where a walk has found dir, which is the walk's
	name string     // as given, with trailing slashes
	path string     // canonical, without
}

// in says which directory a place is in, if inode numbers tell it from all others.
func (w *pinner) in(p *place) Inode {
	if p.pin == nil || !w.spelled(p.pin) {
		return Inode{}
	}
	return Inode{Dev: p.pin.dev, Ino: p.pin.ino}
}

const (
	inMirror = unix.RESOLVE_IN_ROOT | unix.RESOLVE_NO_MAGICLINKS
	below    = unix.RESOLVE_BENEATH | unix.RESOLVE_NO_MAGICLINKS
)

// open opens a path of the mirror or of what the caller sees, as a path only.
// Without one of the two bounds an absolute link would lead to the supervisor's
// own root.
func (w *pinner) open(dir int, path string, flags, resolve uint64) (int, error) {
	if resolve&(unix.RESOLVE_BENEATH|unix.RESOLVE_IN_ROOT) == 0 {
		return -1, unix.EINVAL
	}
	for {
		fd, err := w.withRoom(func() (int, error) {
			return unix.Openat2(dir, path, &unix.OpenHow{Flags: flags | unix.O_PATH | unix.O_CLOEXEC, Resolve: resolve})
		})
		if err != unix.EAGAIN && err != unix.EINTR { // EAGAIN: a rename raced with ".."
			return fd, err
		}
		if !w.trap.Valid(w.call.ID) {
			return -1, unix.EINTR
		}
	}
}

// baseOf gives the mirror's own of a caller's directory argument.
// What the mirror does not show the same is not ours to change; in a removed
// directory nothing can be made, and the kernel says so.
func (w *pinner) baseOf(dirfd int32) (*directory, error) {
	d, err := w.base(dirfd)
	if err == errRemoved {
		err = errNotMine
	}
	return d, err
}

func (w *pinner) base(dirfd int32) (*directory, error) {
	if d := w.dirs.begun(dirfd, ""); d != nil {
		return d, nil
	}
	d, err := w.findBase(dirfd)
	if err == nil {
		w.dirs.begins = append(w.dirs.begins, begin{dirfd: dirfd, dir: d})
	}
	return d, err
}

func (w *pinner) findBase(dirfd int32) (*directory, error) {
	link := caller.Link(dirfd)
	var st unix.Statx_t
	const wanted = unix.STATX_TYPE | unix.STATX_NLINK | unix.STATX_INO | unix.STATX_MNT_ID
	where := func() (at string, err error) {
		err = w.procs.Use(w.call.TID, func(dir int) (e error) {
			at, e = w.readLink(dir, link)
			return e
		})
		return at, err
	}
	err := w.procs.Use(w.call.TID, func(dir int) error { return unix.Statx(dir, link, unix.AT_NO_AUTOMOUNT, wanted, &st) })
	if err == unix.EACCES && dirfd != unix.AT_FDCWD {
		own, e := w.callerFD(dirfd) // which knows another way
		if e != nil {
			return nil, notMine(e)
		}
		defer unix.Close(own)
		where = func() (string, error) { return w.fdPath(own) }
		err = unix.Statx(own, "", unix.AT_EMPTY_PATH, wanted, &st)
	}
	switch {
	case err == unix.ENOENT:
		return nil, unix.EBADF
	case err != nil:
		return nil, notMine(err)
	}
	if st.Mode&unix.S_IFMT != unix.S_IFDIR {
		return nil, unix.ENOTDIR
	}
	// An inode that is pinned is used for no other directory, so that neither a rename
	// nor a second directory of the same name misleads.
	theirs := inodeOf(&st)
	if d := w.dirs.find(func(k *directory) bool {
		return k.callers == theirs.mount && k.ino == theirs.ino && k.dev == theirs.dev && k.callers != 0
	}); d != nil {
		return d, nil
	}
	for range 3 { // the directory may be renamed between two looks
		at, err := where()
		if err != nil || at[0] != '/' {
			return nil, notMine(err)
		}
		var d *directory
		fd, err := w.named(at, unix.O_DIRECTORY)
		if err == nil {
			d, err = w.enter(fd)
		}
		if scarce(err) {
			return nil, err
		}
		if err == nil && d.ino == theirs.ino && d.dev == theirs.dev {
			d.callers = theirs.mount
			return d, nil
		}
	}
	if st.Nlink == 0 {
		return nil, errRemoved
	}
	return nil, errNotMine
}

// notMine is the answer to a call whose object could not be found for a reason: that it is not the
// broker's, but for a want of descriptors or memory, which says nothing of the object.
func notMine(reason error) error {
	if scarce(reason) {
		return reason
	}
	return errNotMine
}

func scarce(err error) bool {
	return err == unix.EMFILE || err == unix.ENFILE || err == unix.ENOMEM
}

// errRemoved is a directory that has been removed, whoever stands in it.
var errRemoved = errors.New("the directory has been removed")

// resolve finds the directory that holds the last component of a path, as the
// caller sees it. What is not there is answered and not continued: it could
// appear meanwhile, and then be read-only.
func (w *resolver) resolve(dirfd int32, path string) (place, error) {
	if path == "" {
		return place{}, unix.ENOENT
	}
	dirfd, path = caller.ThroughProc(dirfd, path)
	dir, name := split(path)
	d, err := w.directory(dirfd, dir)
	if err == errRemoved {
		err = w.inRemoved(dirfd, &place{name: name})
	}
	if err != nil {
		return place{}, err
	}
	return place{dir: d.fd, pin: d, name: name, path: join(d.path, strings.TrimRight(name, "/"))}, nil
}

// lookup opens a path of the caller in the mirror: at once where that can be
// done, else step by step.
func (w *resolver) lookup(dirfd int32, path string, flags uint64) (int, error) {
	fd, err := w.atOnce(dirfd, path, flags)
	if err != nil {
		return w.walk(dirfd, path, flags)
	}
	return fd, nil
}

// atOnce is lookup where no link of procfs is on the way: ".." and absolute
// links lead through the mirror's root as they lead through the caller's.
func (w *pinner) atOnce(dirfd int32, path string, flags uint64) (int, error) {
	if path[0] == '/' {
		return w.open(w.b.config.Mirror, path, flags, inMirror)
	}
	dir, err := w.baseOf(dirfd)
	if err != nil {
		return -1, err
	}
	fd, err := w.open(dir.fd, path, flags, below)
	if err != unix.EXDEV {
		return fd, err
	}
	if err := w.locate(dir); err != nil {
		return -1, err
	}
	return w.open(w.b.config.Mirror, dir.path+"/"+path, flags, inMirror)
}

// split cuts a path into directory and last component; slashes at the end stay
// with the name, whose meaning they change.
func split(path string) (dir, name string) {
	end := len(strings.TrimRight(path, "/"))
	if end == 0 {
		return "/", "."
	}
	i := strings.LastIndexByte(path[:end], '/')
	switch {
	case i < 0:
		return "", path
	case i == 0:
		return "/", path[1:]
	}
	return path[:i], path[i+1:]
}

func join(dir, name string) string {
	switch name {
	case "", ".":
		return dir
	case "..":
		if i := strings.LastIndexByte(dir, '/'); i > 0 {
			return dir[:i]
		}
		return "/"
	}
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}

// name resolves a path argument of the call to a place in a root.
func (w *resolver) name(dirfd int32, addr uint64, buf int) (place, error) {
	path, err := w.memory.Text(addr, buf)
	if err != nil {
		return place{}, err
	}
	p, err := w.resolve(dirfd, path)
	if err != nil {
		return place{}, err
	}
	if !w.ours(p.path) {
		return place{}, errNotMine
	}
	return p, nil
}

// directory finds what a path of the caller names, which has to be a directory: the one
// that the argument means itself for "". Its place is looked at.
func (w *resolver) directory(dirfd int32, text string) (*directory, error) {
	if text == "" {
		d, err := w.base(dirfd)
		if err == nil && w.locate(d) != nil {
			err = errNotMine
		}
		return d, err
	}
	if d := w.dirs.begun(dirfd, text); d != nil {
		return d, nil
	}
	d := w.straight(dirfd, text)
	if d == nil {
		fd, err := w.lookup(dirfd, text, unix.O_DIRECTORY)
		if err != nil {
			return nil, err
		}
		if d, err = w.enter(fd); err != nil || w.locate(d) != nil {
			return nil, notMine(err)
		}
	}
	w.dirs.begins = append(w.dirs.begins, begin{dirfd, text, d})
	return d, nil
}
