package main

import (
	"bytes"
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopped is struct seccomp_notif of linux/seccomp.h.
type stopped struct {
	id    uint64
	tid   uint32
	flags uint32
	nr    int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// carrier makes the calls that a listener stops by the paths that it has read, as whoever
// decides by name has to: when a call goes on, the kernel reads the path anew, and another
// thread may have changed it by then. It decides and remembers nothing, and looks at
// nothing: this is the least that a broker costs.
type carrier struct {
	listener int
	dirs     map[uint32]directory // working directories of threads
	text     [2][4096]byte
}

type directory struct {
	fd       int
	dev, ino uint64
}

var errOther = errors.New("not carried")

// carry answers a call, false for one that is to go on.
func (c *carrier) carry(call *stopped) bool {
	value, err := c.make(call)
	if err == errOther {
		return false
	}
	a := answer{id: call.id, value: value}
	if err != nil {
		e := unix.EIO
		errors.As(err, &e)
		a.value, a.err = 0, -int32(e)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), send, uintptr(unsafe.Pointer(&a)))
	return true
}

// make makes a call. The numbers are those of amd64 where a call has an older form.
func (c *carrier) make(call *stopped) (int64, error) {
	const open, rename, mkdir, rmdir, unlink, chmod = 2, 82, 83, 84, 87, 90
	a := call.args
	here := uint64(0xffffff9c) // AT_FDCWD
	switch call.nr {
	case unix.SYS_OPENAT:
		return c.open(call, a[0], a[1], a[2], a[3])
	case open:
		return c.open(call, here, a[0], a[1], a[2])
	case unix.SYS_UNLINKAT:
		return c.at(call, a[0], a[1], func(dir int, name string) error { return unix.Unlinkat(dir, name, int(a[2])) })
	case unlink:
		return c.at(call, here, a[0], func(dir int, name string) error { return unix.Unlinkat(dir, name, 0) })
	case rmdir:
		return c.at(call, here, a[0], func(dir int, name string) error { return unix.Unlinkat(dir, name, unix.AT_REMOVEDIR) })
	case unix.SYS_MKDIRAT:
		return c.at(call, a[0], a[1], func(dir int, name string) error { return unix.Mkdirat(dir, name, uint32(a[2])) })
	case mkdir:
		return c.at(call, here, a[0], func(dir int, name string) error { return unix.Mkdirat(dir, name, uint32(a[1])) })
	case unix.SYS_FCHMODAT:
		return c.at(call, a[0], a[1], func(dir int, name string) error { return unix.Fchmodat(dir, name, uint32(a[2]), 0) })
	case chmod:
		return c.at(call, here, a[0], func(dir int, name string) error { return unix.Fchmodat(dir, name, uint32(a[1]), 0) })
	case rename:
		return c.rename(call, here, a[0], here, a[1], 0)
	case unix.SYS_RENAMEAT:
		return c.rename(call, a[0], a[1], a[2], a[3], 0)
	case unix.SYS_RENAMEAT2:
		return c.rename(call, a[0], a[1], a[2], a[3], uint(a[4]))
	}
	return 0, errOther
}

func (c *carrier) open(call *stopped, from, path, flags, mode uint64) (int64, error) {
	fd := -1
	_, err := c.at(call, from, path, func(dir int, name string) (err error) {
		fd, err = unix.Openat(dir, name, int(flags)|unix.O_CLOEXEC, uint32(mode))
		return err
	})
	if err != nil {
		return 0, err
	}
	defer unix.Close(fd) // before the answer: a file that is open for writing cannot be started
	give := struct {
		id                       uint64
		flags, fd, number, fresh uint32
	}{id: call.id, fd: uint32(fd), fresh: uint32(flags) & unix.O_CLOEXEC}
	number, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), addFD, uintptr(unsafe.Pointer(&give)))
	if errno != 0 {
		return 0, errno
	}
	return int64(number), nil
}

func (c *carrier) rename(call *stopped, from, path, to, name uint64, flags uint) (int64, error) {
	return c.at(call, from, path, func(dir int, old string) error {
		second, err := c.read(call.tid, name, 1)
		if err != nil {
			return err
		}
		there, done, err := c.base(call.tid, to, second)
		if err != nil {
			return err
		}
		defer done()
		return unix.Renameat2(dir, old, there, second, flags)
	})
}

// at reads a path, and calls do with it and the directory that it starts from.
func (c *carrier) at(call *stopped, from, path uint64, do func(dir int, name string) error) (int64, error) {
	name, err := c.read(call.tid, path, 0)
	if err != nil {
		return 0, err
	}
	dir, done, err := c.base(call.tid, from, name)
	if err != nil {
		return 0, err
	}
	defer done()
	if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(c.listener), valid, uintptr(unsafe.Pointer(&call.id))); errno != 0 {
		return 0, errno // what was read was that of another thread
	}
	return 0, do(dir, name)
}

// base gives the directory that a path of a thread starts from.
func (c *carrier) base(tid uint32, from uint64, name string) (fd int, done func(), err error) {
	if name != "" && name[0] == '/' {
		return unix.AT_FDCWD, func() {}, nil
	}
	if int32(from) != unix.AT_FDCWD {
		fd, err = unix.Open(fmt.Sprintf("/proc/%d/fd/%d", tid, int32(from)), unix.O_PATH|unix.O_CLOEXEC, 0)
		return fd, func() { unix.Close(fd) }, err
	}
	at := fmt.Sprintf("/proc/%d/cwd", tid)
	var st unix.Stat_t
	if err := unix.Stat(at, &st); err != nil {
		return -1, nil, err
	}
	known, ok := c.dirs[tid]
	if !ok || known.dev != st.Dev || known.ino != st.Ino {
		if ok {
			unix.Close(known.fd)
		}
		fd, err := unix.Open(at, unix.O_PATH|unix.O_CLOEXEC, 0)
		if err != nil {
			return -1, nil, err
		}
		known = directory{fd, st.Dev, st.Ino}
		c.dirs[tid] = known
	}
	return known.fd, func() {}, nil
}

// read reads a path of a thread.
func (c *carrier) read(tid uint32, addr uint64, buf int) (string, error) {
	const most = 256
	to := c.text[buf][:]
	for n := 0; n < len(to); {
		local := []unix.Iovec{{Base: &to[n], Len: most}}
		got, err := unix.ProcessVMReadv(int(tid), local, []unix.RemoteIovec{{Base: uintptr(addr) + uintptr(n), Len: most}}, 0)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(to[n:n+got], 0); end >= 0 {
			return string(to[:n+end]), nil
		}
		n += got
	}
	return "", unix.ENAMETOOLONG
}
