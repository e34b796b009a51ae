package broker

import (
	"unsafe"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// alter carries out a change of metadata. A descriptor of something that is in
// no root is served too, on the caller's own mount of it: continuing would let
// another thread put a granted descriptor in its place.
func (t target) alter(w *worker, op string, do func(o *object) error) (int64, error) {
	return t.alterBy(w, Change{Op: op}, do)
}

func (t target) alterBy(w *worker, ch Change, do func(o *object) error) (int64, error) {
	if t.byFD && w.procs.OnlyPath(w.call.TID, t.dirfd) {
		return 0, unix.EBADF
	}
	t.change = true
	o, alone, err := w.object(t)
	elsewhere := err == errNotMine
	if elsewhere {
		o, err = w.outside(t)
	}
	if err != nil {
		return 0, err
	}
	defer o.close()
	if (elsewhere || alone && !w.ours(o.path)) && w.b.unheld(o.path) {
		return 0, unix.EPERM
	}
	if elsewhere || alone && !w.ours(o.path) {
		if !w.trap.Valid(w.call.ID) {
			return 0, errAnswered
		}
		if w.b.hostDevice(&o) || w.b.hostPipe(&o) {
			return 0, unix.EPERM
		}
		return 0, do(&o)
	}
	ch.Path, ch.Kind, ch.Dir, ch.ToDir, ch.Pinned = o.path, kindOf(o.stat.Mode), -1, -1, o.fd
	if o.dir != nil {
		ch.Dir, ch.Name = o.dir.fd, o.name
	}
	ch.Was = Seen{
		Dev: o.stat.Dev, Ino: o.stat.Ino, Links: uint32(o.stat.Nlink), Mode: o.stat.Mode, Kind: ch.Kind,
		Size: uint64(o.stat.Size), Mtime: o.stat.Mtim.Nano(), Ctime: o.stat.Ctim.Nano(),
	}
	if alone {
		ch.Pinned = 0 // it is not what is at Path
	}
	return 0, w.change(&ch, func() error { return do(&o) })
}

// hostDevice knows a device that a command has as an inherited descriptor: its
// node is the host's own, for everybody. Terminals made inside are not.
func (b *Broker) hostDevice(o *object) bool {
	kind := o.stat.Mode & unix.S_IFMT
	return (kind == unix.S_IFCHR || kind == unix.S_IFBLK) && o.stat.Dev != b.terminals
}

// hostPipe knows a named pipe that a command may have as an inherited
// descriptor, through the host's own mount: its mode says who on the host can
// read and write it. A pipe without a name is nobody's to open, and what was made
// inside is in memory; one in a cache on disk keeps its mode as well.
func (b *Broker) hostPipe(o *object) bool {
	if o.stat.Mode&unix.S_IFMT != unix.S_IFIFO || o.stat.Dev == b.memory {
		return false
	}
	var fs unix.Statfs_t
	return unix.Fstatfs(o.fd, &fs) != nil || fs.Type != unix.PIPEFS_MAGIC
}

func (t target) chmod(w *worker, mode uint32) (int64, error) {
	return t.alterBy(w, Change{Op: OpChmod, Hides: mode&unix.S_IRUSR == 0, Mode: mode}, func(o *object) error {
		mode := mode & 0o7777
		if kindOf(o.stat.Mode) != KindDir {
			if mode&(unix.S_ISUID|unix.S_ISGID) != 0 {
				return unix.EPERM // nothing here runs with another's identity
			}
		} else {
			mode &^= unix.S_ISUID
		}
		if kindOf(o.stat.Mode) == KindSymlink {
			return unix.EOPNOTSUPP
		}
		w.b.pins.hold(&w.pinner, o, mode)
		err := unix.Fchmodat(o.fd, "", mode, unix.AT_EMPTY_PATH) // fchmodat2, Linux 6.6
		if err == unix.ENOSYS || err == unix.EOPNOTSUPP || err == unix.EINVAL {
			err = unix.Fchmodat(unix.AT_FDCWD, o.link(), mode, 0)
		}
		return err
	})
}

func (t target) chown(w *worker, uid, gid uint32) (int64, error) {
	return t.alter(w, OpChown, func(o *object) error {
		return unix.Fchownat(o.fd, "", int(int32(uid)), int(int32(gid)), unix.AT_EMPTY_PATH)
	})
}

// utimes takes two timespecs, or none for now.
func (t target) utimes(w *worker, times *[2]unix.Timespec) (int64, error) {
	return t.alter(w, OpUtimes, func(o *object) error { return setTimes(o, times) })
}

// setTimes is utimensat(2) on a pinned object, also a symlink: x/sys has no
// form with AT_EMPTY_PATH.
func setTimes(o *object, times *[2]unix.Timespec) error {
	empty := [1]byte{}
	_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(o.fd), uintptr(unsafe.Pointer(&empty[0])),
		uintptr(unsafe.Pointer(times)), unix.AT_EMPTY_PATH, 0, 0)
	if e != 0 {
		return e
	}
	return nil
}

func utimensat(w *worker, dirfd int32, addr, times uint64, flags int) (int64, error) {
	if addr != 0 && times != 0 {
		w.memory.Fetch(addr, times)
	}
	ts, err := w.timespecs(times)
	if err != nil {
		return 0, err
	}
	if ts != nil && ts[0].Nsec == unix.UTIME_OMIT && ts[1].Nsec == unix.UTIME_OMIT {
		return 0, nil // nothing is asked for, of nobody
	}
	byFD := addr == 0 && dirfd != unix.AT_FDCWD // futimens(3)
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 || byFD && flags != 0 {
		return 0, unix.EINVAL
	}
	if byFD {
		return target{dirfd: dirfd, byFD: true}.utimes(w, ts)
	}
	return target{dirfd: dirfd, addr: addr, follow: flags&unix.AT_SYMLINK_NOFOLLOW == 0, empty: flags&unix.AT_EMPTY_PATH != 0}.utimes(w, ts)
}

func truncate(w *worker, addr uint64, size int64) (int64, error) {
	if size < 0 {
		return 0, unix.EINVAL
	}
	o, _, err := w.object(target{dirfd: unix.AT_FDCWD, addr: addr, follow: true})
	if err == errNotMine && w.b.config.Cuts {
		return 0, cutOutside(w, addr, size)
	}
	if err != nil {
		return 0, err
	}
	defer o.close()
	if err := cuttable(&o); err != nil {
		return 0, err
	}
	ch := Change{Op: OpTruncate, Path: o.path, Kind: KindFile, Dir: -1, ToDir: -1, Pinned: o.fd}
	return 0, w.change(&ch, func() error {
		// Not truncate(2): it waits for a lease to be broken.
		fd, err := unix.Open(o.link(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
		ch.Unopened = err != nil
		if err == unix.EAGAIN {
			return errLeased
		}
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		if err := w.stillThere(&o); err != nil {
			return err
		}
		return unix.Ftruncate(fd, size)
	})
}

// asked finds what a question is about, which may be a removed directory that
// the caller stands in.
func (t target) asked(w *worker) (o object, alone bool, err error) {
	o, alone, err = w.object(t)
	if err == errNotMine && !t.byFD && !w.away {
		alone = true
		if o, err = w.outside(t); err != nil {
			err = errNotMine
		}
	}
	if err == nil && alone && !w.ours(o.path) {
		o.close()
		err = errNotMine
	}
	return o, alone, err
}

// access answers for the mirror: the read-only mount would say no to all.
func (t target) access(w *worker, mode uint32, flags int) (int64, error) {
	if flags&^(unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 || mode&^7 != 0 {
		return 0, unix.EINVAL
	}
	o, alone, err := t.asked(w)
	if err != nil {
		return 0, err
	}
	defer o.close()
	ch := Change{Op: OpOpen, Path: o.path, Kind: kindOf(o.stat.Mode), Dir: -1, ToDir: -1, Asked: true}
	if v := w.b.config.Decider.Decide(&ch); !v.Allowed {
		return 0, unix.EACCES // a question, not an attempt: no denial
	}
	err = unix.Faccessat2(o.fd, "", mode, flags&unix.AT_EACCESS|unix.AT_EMPTY_PATH)
	if err == unix.EROFS && alone {
		err = nil // all but the mount allows it: see do_faccessat of fs/open.c
	}
	return 0, err
}

const readOnlyFS = 1 // ST_RDONLY of statvfs(3)

// statfs says of a root what the bare directory would say: writable.
func (t target) statfs(w *worker, out uint64) (int64, error) {
	o, alone, err := t.asked(w)
	if err != nil {
		return 0, err
	}
	defer o.close()
	var fs unix.Statfs_t
	if err := unix.Fstatfs(o.fd, &fs); err != nil {
		return 0, err
	}
	if alone {
		fs.Flags &^= readOnlyFS
	}
	if !w.trap.Valid(w.call.ID) {
		return 0, errAnswered
	}
	buf := unsafe.Slice((*byte)(unsafe.Pointer(&fs)), unsafe.Sizeof(fs))
	return 0, caller.Write(w.call.TID, out, buf)
}

// unheld says whether nothing native keeps the metadata of what lies at a path,
// which is in no root, from the caller's change.
func (b *Broker) unheld(path string) bool {
	if !b.config.Bare {
		return false
	}
	for _, f := range b.config.Free {
		if path == f || len(path) > len(f) && path[:len(f)] == f && path[len(f)] == '/' {
			return false
		}
	}
	return true
}
