package broker

import (
	"strconv"

	"carrel/internal/broker/caller"

	"golang.org/x/sys/unix"
)

// target is the existing object that a call is about: a path, or a descriptor.
type target struct {
	dirfd  int32
	addr   uint64
	follow bool
	empty  bool   // AT_EMPTY_PATH: an empty path means dirfd itself
	byFD   bool   // dirfd itself, no path
	here   bool   // the working directory, no path
	path   string // "" to read it at addr
	change bool   // it is about to change: its directory is pinned too where that can be done
}

// object finds a target. alone: see findFD.
func (w *finder) object(t target) (o object, alone bool, err error) {
	if t.byFD {
		return w.findFD(t.dirfd)
	}
	path, err := w.targetText(t)
	if err != nil {
		return object{}, false, err
	}
	if path == "" && (t.empty || t.here) {
		if t.dirfd == unix.AT_FDCWD {
			o, err = w.stand(t.dirfd)
			return o, false, err
		}
		return w.findFD(t.dirfd)
	}
	if fd, ok := caller.Descriptor(path); ok && t.follow {
		return w.findFD(fd)
	}
	if w.away {
		return object{}, false, errNotMine
	}
	if t.change {
		if o, ok := w.findIn(t.dirfd, path, t.follow); ok {
			return o, false, nil
		}
	}
	o, err = w.find(t.dirfd, path, t.follow)
	return o, false, err
}

// outside finds what a path outside all roots means, or a path of a caller
// with another root: in the caller's own view, on the caller's own mounts.
// Continuing would let another thread change the text to the procfs name of a
// granted descriptor, whose mount can be written.
func (w *resolver) outside(t target) (object, error) {
	path, err := w.targetText(t)
	if err != nil {
		return object{}, err
	}
	dirfd, path := caller.ThroughProc(t.dirfd, path)
	fd := -1
	switch {
	case path != "":
		fd, err = w.openOutside(dirfd, path, t.follow)
	case t.empty || t.here:
		fd, err = w.ownDir(dirfd)
	default:
		err = unix.ENOENT
	}
	if err != nil {
		return object{}, err
	}
	return w.objectOf(fd)
}

// openOutside opens a path from the caller's own root or directory.
func (w *resolver) openOutside(dirfd int32, path string, follow bool) (int, error) {
	flags := uint64(unix.O_NOFOLLOW)
	if follow {
		flags = 0
	}
	if path[0] == '/' {
		return w.fromRoot(path, flags)
	}
	from, err := w.ownDir(dirfd)
	if err != nil {
		return -1, err
	}
	defer unix.Close(from)
	fd, err := w.open(from, path, flags, below)
	if err != unix.EXDEV || w.away {
		return fd, err
	}
	at, err := w.fdPath(from)
	if err != nil {
		return -1, err
	}
	return w.fromRoot(at+"/"+path, flags)
}

// fromRoot opens a path from the caller's own root.
func (w *resolver) fromRoot(path string, flags uint64) (int, error) {
	root, err := w.procs.Open(w.call.TID, "root", 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(root)
	return w.open(root, path, flags, inMirror)
}

// object is an existing file system object of the mirror, pinned.
type object struct {
	fd     int
	path   string
	stat   unix.Stat_t
	shared bool // fd is the worker's, see recent
	// dir is where it was found, by name; nil where that is not known. The kernel has
	// given path, so that a rename on the way shows: name is something else by then.
	dir  *directory
	name string
}

func (o *object) close() {
	if !o.shared {
		unix.Close(o.fd)
	}
}

// link is a path for calls that take no descriptor of this kind.
func (o *object) link() string { return "/proc/self/fd/" + strconv.Itoa(o.fd) }

// find resolves to an existing object; follow says what becomes of a symlink
// at the end. What is not in a root is not ours.
func (w *resolver) find(dirfd int32, path string, follow bool) (object, error) {
	if path == "" {
		return object{}, unix.ENOENT
	}
	dirfd, path = caller.ThroughProc(dirfd, path)
	flags := uint64(unix.O_NOFOLLOW)
	if follow {
		flags = 0
	}
	fd, err := w.lookup(dirfd, path, flags)
	if err == errRemoved {
		err = errNotMine // it is the directory itself
	}
	if err != nil {
		return object{}, err
	}
	return w.pinned(fd)
}

// findIn is find for a name in a directory that is pinned. It says false for all others:
// for what is in no root, for links that are to be followed, and where something is wrong.
func (w *resolver) findIn(dirfd int32, path string, follow bool) (object, bool) {
	if path == "" {
		return object{}, false
	}
	dirfd, path = caller.ThroughProc(dirfd, path)
	dir, name := split(path)
	if name == "." || name == ".." || name[len(name)-1] == '/' {
		return object{}, false
	}
	var d *directory
	var err error
	if dir == "" {
		d, err = w.base(dirfd)
	} else if d, err = w.directory(dirfd, dir); err == nil && !w.ours(join(d.path, name)) {
		return object{}, false
	}
	if err != nil {
		return object{}, false
	}
	fd, err := w.open(d.fd, name, unix.O_NOFOLLOW, below)
	if err != nil {
		return object{}, false
	}
	o, err := w.pinned(fd)
	if err != nil {
		return object{}, false
	}
	if follow && kindOf(o.stat.Mode) == KindSymlink {
		o.close()
		return object{}, false
	}
	o.dir, o.name = d, name
	return o, true
}

// stand is the caller's directory itself, which takes no right to search it.
func (w *resolver) stand(dirfd int32) (object, error) {
	base, err := w.baseOf(dirfd)
	if err != nil {
		return object{}, err
	}
	fd, err := unix.FcntlInt(uintptr(base.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return object{}, errNotMine
	}
	return w.pinned(fd)
}

// findFD is find for a descriptor of the caller: the same inode by the path
// that it has now, on the mirror. alone is the inode itself where no path leads
// to it any more.
func (w *finder) findFD(fd int32) (o object, alone bool, err error) {
	if o, ok := w.quick(fd); ok {
		return o, false, nil
	}
	at, err := w.callerFD(fd)
	if err != nil {
		return object{}, false, err
	}
	return w.mirrored(at)
}

// mirrored finds on the mirror what at is, a descriptor on another mount; it
// becomes the object's.
func (w *resolver) mirrored(at int) (o object, alone bool, err error) {
	o = object{fd: at}
	if err := unix.Fstat(at, &o.stat); err != nil {
		o.close()
		return object{}, false, err
	}
	for range 3 {
		if o.path, err = w.fdPath(at); err != nil || !w.ours(o.path) {
			return o, true, nil
		}
		n, err := w.named(o.path, unix.O_NOFOLLOW)
		if err != nil {
			continue
		}
		if isFile(n, &o.stat) {
			o.close()
			o.fd = n
			return o, false, nil
		}
		unix.Close(n)
	}
	return o, true, nil
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
