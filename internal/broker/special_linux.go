package broker

import (
	"encoding/binary"
	"path"
	"unsafe"

	"golang.org/x/sys/unix"
)

// bind gives a Unix socket its name. The kernel keeps the text of it for
// getsockname(2), so the text that the caller gave has to be resolved a second
// time, in the mirror; meanwhile nothing else of the workspace changes, and
// afterwards the socket must be where it was decided that it would be. A text
// with links on the way is not worth that: it is bound in the pinned directory,
// by its last component.
func bind(w *worker, sock int32, addr, size uint64) (int64, error) {
	var buf [110]byte // struct sockaddr_un of linux/un.h
	if size < 3 || size > uint64(len(buf)) {
		return 0, errNotMine
	}
	if err := w.memory.ReadExact(addr, buf[:size]); err != nil {
		return 0, err
	}
	if binary.NativeEndian.Uint16(buf[:2]) != unix.AF_UNIX || buf[2] == 0 {
		return 0, errNotMine
	}
	text := cString(buf[2:size])
	p, err := w.resolve(unix.AT_FDCWD, text)
	if err != nil {
		return 0, err
	}
	if !w.ours(p.path) {
		return 0, errNotMine
	}
	if l, err := p.at(); err == nil && l.Kind != KindNone {
		return 0, unix.EADDRINUSE
	}
	own, err := w.b.borrow(w.call.TID, sock)
	if err == unix.ENOBUFS {
		return 0, err
	}
	if err != nil {
		return 0, unix.EBADF
	}
	defer w.b.giveBack(own)
	ch := Change{Op: OpBind, Path: p.path, Dir: p.dir, Name: p.name, In: w.in(&p), ToDir: -1}
	return 0, w.change(&ch, func() error { return bindAt(w, own, &p, text) })
}

func bindAt(w *worker, socket int, p *place, text string) error {
	from, err := w.b.config.Mirror, error(nil)
	direct := path.Clean(text) == p.path
	if text[0] != '/' {
		var base *directory
		if base, err = w.baseOf(unix.AT_FDCWD); err == nil {
			from, err = base.fd, w.locate(base)
		}
		direct = err == nil && path.Clean(base.path+"/"+text) == p.path
	}
	if direct && w.b.config.Bind != nil {
		err := w.b.config.Bind(socket, from, text, w.b.umasks.Of(w.call.TID))
		if err != unix.ENOSYS {
			if l, e := p.at(); err == nil && (e != nil || l.Kind != KindOther) {
				return unix.EIO // it is elsewhere: nobody may use it
			}
			return err
		}
	}
	w.dirs.in = nil
	return w.withUmask(func() error { return w.fs.BindAt(socket, p.dir, p.name) })
}

func cString(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// Requests of ioctl that change an inode or another file (linux/fs.h).
const (
	fsSetFlags   = 0x40086602
	fsSetFlags32 = 0x40046602
	fsSetXattr   = 0x401c5820
	fiClone      = 0x40049409
	fiCloneRange = 0x4020940d
	fiDedupe     = 0xc0189436
	ext4MoveExt  = 0xc028660f

	casefold = 0x40000000 // FS_CASEFOLD_FL
)

// ioctl carries out changes of inode flags. Cloning, deduplicating and moving
// extents need a descriptor open for writing, and that was granted by us: they
// are writes, and the kernel's.
func ioctl(w *worker, fd int32, request uint32, arg uint64) (int64, error) {
	size := 0
	switch request {
	case fiClone, fiCloneRange, fiDedupe, ext4MoveExt:
		return 0, errNotMine
	case fsSetFlags, fsSetFlags32:
		size = 4
	case fsSetXattr:
		size = 28
	default:
		return 0, unix.EPERM // verity, encryption, generations
	}
	var buf [28]byte
	if err := w.memory.ReadExact(arg, buf[:size]); err != nil {
		return 0, err
	}
	flags := binary.NativeEndian.Uint32(buf[:])
	switch {
	case request == fsSetXattr && flags&^xflags != 0:
		return 0, unix.EOPNOTSUPP
	case request != fsSetXattr && flags&casefold != 0:
		return 0, unix.EPERM // names would be compared in another way than they were decided
	}
	return target{dirfd: fd, byFD: true}.alter(w, OpIoctl, func(o *object) error {
		if k := kindOf(o.stat.Mode); k != KindFile && k != KindDir {
			return unix.ENOTTY
		}
		file, err := unix.Open(o.link(), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		if err == unix.EACCES {
			file, err = unix.Open(o.link(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		}
		giveBack := func(fd int) { unix.Close(fd) }
		if err == unix.EACCES || err == unix.EISDIR {
			file, err = w.b.borrow(w.call.TID, fd) // open already, whatever the mode is now
			giveBack = w.b.giveBack
		}
		if err != nil {
			return err
		}
		defer giveBack(file)
		if !sameFile(file, o.fd) {
			return unix.EBADF // another has taken its number since
		}
		if _, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(file), uintptr(request), uintptr(unsafe.Pointer(&buf[0]))); e != 0 {
			return e
		}
		return nil
	})
}

// estranged notes that from now on a caller may have a root or mounts of its
// own. What such a caller names is not what we would find: its calls are
// continued, and meet the mounts that it inherited, read-only; but see groups.
func estranged(w *worker, c *Call) (int64, error) {
	w.b.foreign.Store(true)
	return 0, errNotMine
}

func umask(w *worker, c *Call) (int64, error) {
	w.b.umasks.Changing(c.TID, int(c.Args[0]))
	return 0, errNotMine
}
