package broker

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	maxXattrName  = 255      // XATTR_NAME_MAX of linux/limits.h
	maxXattrValue = 64 << 10 // XATTR_SIZE_MAX

	// xflags are the FS_XFLAG_ values of linux/fs.h as of Linux 6.18. What is
	// newer is refused as that kernel does: it could change how names are compared.
	xflags = 0x8001fffb
)

func (t target) setxattr(w *worker, name, value, size uint64, flags uint32) (int64, error) {
	if flags&^(unix.XATTR_CREATE|unix.XATTR_REPLACE) != 0 {
		return 0, unix.EINVAL
	}
	if t.addr != 0 {
		w.memory.Fetch(t.addr, name)
	}
	key, err := w.xattrName(name)
	if err != nil {
		return 0, err
	}
	if size > maxXattrValue {
		return 0, unix.E2BIG
	}
	data := make([]byte, size)
	if size > 0 {
		if err := w.memory.ReadExact(value, data); err != nil {
			return 0, err
		}
	}
	return t.alterXattr(w, func(file string) error { return unix.Setxattr(file, key, data, int(flags)) })
}

func (t target) removexattr(w *worker, name uint64) (int64, error) {
	key, err := w.xattrName(name)
	if err != nil {
		return 0, err
	}
	return t.alterXattr(w, func(file string) error { return unix.Removexattr(file, key) })
}

// alterXattr carries out a change of an extended attribute, by a name for the
// object that is pinned.
func (t target) alterXattr(w *worker, do func(file string) error) (int64, error) {
	return t.alter(w, OpSetxattr, func(o *object) error { return do(o.link()) })
}

// setxattrat is setxattr with a struct xattr_args of linux/xattr.h: value,
// size, flags.
func setxattrat(w *worker, c *Call, name, args, size uint64) (int64, error) {
	var buf [16]byte
	if err := w.structure(args, size, buf[:]); err != nil {
		return 0, err
	}
	t, err := w.maybeEmpty(c, 2)
	if err != nil {
		return 0, err
	}
	length, flags := binary.NativeEndian.Uint32(buf[8:]), binary.NativeEndian.Uint32(buf[12:])
	return t.setxattr(w, name, binary.NativeEndian.Uint64(buf[:]), uint64(length), flags)
}

func removexattrat(w *worker, c *Call, name uint64) (int64, error) {
	t, err := w.maybeEmpty(c, 2)
	if err != nil {
		return 0, err
	}
	return t.removexattr(w, name)
}

// fileSetattr is FS_IOC_FSSETXATTR by name, with a struct file_attr of
// linux/fs.h. It opens nothing, so it is for what cannot be opened too.
func fileSetattr(w *worker, c *Call, attr, size uint64) (int64, error) {
	if uint32(c.Args[4])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return 0, unix.EINVAL
	}
	var buf [24]byte
	if err := w.structure(attr, size, buf[:]); err != nil {
		return 0, err
	}
	if binary.NativeEndian.Uint64(buf[:])&^xflags != 0 {
		return 0, unix.EINVAL
	}
	t, err := w.maybeEmpty(c, 4)
	if err != nil {
		return 0, err
	}
	return t.alter(w, OpIoctl, func(o *object) error {
		name, err := unix.BytePtrFromString(o.link())
		if err != nil {
			return err
		}
		cwd := unix.AT_FDCWD
		_, _, e := unix.Syscall6(unix.SYS_FILE_SETATTR, uintptr(cwd), uintptr(unsafe.Pointer(name)),
			uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0, 0)
		if e != 0 {
			return e
		}
		return nil
	})
}
