package broker

import (
	"encoding/binary"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

const (
	maxXattrName  = 255      // XATTR_NAME_MAX of linux/limits.h
	maxXattrValue = 64 << 10 // XATTR_SIZE_MAX

	// xflags are the FS_XFLAG_ values of linux/fs.h as of Linux 6.18. What is
	// newer is refused as that kernel does: it could change how names are compared.
	xflags = 0x8001fffb
)

func (w *worker) setxattr(t target, name, value, size uint64, flags uint32) (int64, error) {
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
	return w.alterXattr(t, func(file string) error { return unix.Setxattr(file, key, data, int(flags)) })
}

func (w *worker) removexattr(t target, name uint64) (int64, error) {
	key, err := w.xattrName(name)
	if err != nil {
		return 0, err
	}
	return w.alterXattr(t, func(file string) error { return unix.Removexattr(file, key) })
}

// alterXattr carries out a change of an extended attribute, by a name for the
// object that is pinned.
func (w *worker) alterXattr(t target, do func(file string) error) (int64, error) {
	return w.alter(OpSetxattr, t, func(o *object) error { return do(o.link()) })
}

func (w *worker) xattrName(addr uint64) (string, error) {
	name, err := w.memory.Text(addr, 1)
	switch {
	case err == unix.ENAMETOOLONG:
		return "", unix.ERANGE
	case err != nil:
		return "", err
	case name == "" || len(name) > maxXattrName:
		return "", unix.ERANGE
	case strings.HasPrefix(name, "security."), strings.HasPrefix(name, "trusted."):
		return "", unix.EPERM // file capabilities, labels: nobody's to give here
	}
	return name, nil
}

// setxattrat is setxattr with a struct xattr_args of linux/xattr.h: value,
// size, flags.
func (w *worker) setxattrat(c *Call, name, args, size uint64) (int64, error) {
	var buf [16]byte
	if err := w.structure(args, size, buf[:]); err != nil {
		return 0, err
	}
	t, err := w.maybeEmpty(c, 2)
	if err != nil {
		return 0, err
	}
	length, flags := binary.NativeEndian.Uint32(buf[8:]), binary.NativeEndian.Uint32(buf[12:])
	return w.setxattr(t, name, binary.NativeEndian.Uint64(buf[:]), uint64(length), flags)
}

func (w *worker) removexattrat(c *Call, name uint64) (int64, error) {
	t, err := w.maybeEmpty(c, 2)
	if err != nil {
		return 0, err
	}
	return w.removexattr(t, name)
}

// fileSetattr is FS_IOC_FSSETXATTR by name, with a struct file_attr of
// linux/fs.h. It opens nothing, so it is for what cannot be opened too.
func (w *worker) fileSetattr(c *Call, attr, size uint64) (int64, error) {
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
	return w.alter(OpIoctl, t, func(o *object) error {
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

// structure reads a structure that newer programs may know as a longer one:
// what is beyond buf has to be zero (copy_struct_from_user of the kernel).
func (w *worker) structure(addr, size uint64, buf []byte) error {
	if size < uint64(len(buf)) {
		return unix.EINVAL
	}
	if size > caller.PageSize {
		return unix.E2BIG
	}
	whole := make([]byte, size)
	if err := w.memory.ReadExact(addr, whole); err != nil {
		return err
	}
	for _, b := range whole[copy(buf, whole):] {
		if b != 0 {
			return unix.E2BIG
		}
	}
	return nil
}

// maybeEmpty is the target of a call whose flags, argument n, let an empty path
// or none mean the descriptor: unlike older calls, never one opened with O_PATH.
func (w *worker) maybeEmpty(c *Call, n int) (target, error) {
	flags := uint32(c.Args[n])
	if flags&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
		return target{}, unix.EINVAL
	}
	t := atFlags(c, n)
	if !t.empty {
		return t, nil
	}
	t.empty = false // this is where it is looked at
	path := ""
	if t.addr != 0 {
		var err error
		if path, err = w.memory.Text(t.addr, 0); err != nil {
			return target{}, err
		}
	}
	if path == "" {
		t.here = t.dirfd == unix.AT_FDCWD
		t.byFD = !t.here
	}
	return t, nil
}
