package broker

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// legacy adds the calls that have a form without a directory argument.
func legacy(t map[int32]handler) {
	const cwd = unix.AT_FDCWD
	t[unix.SYS_OPEN] = func(w *worker, c *Call) (int64, error) {
		return openAt(w, cwd, c.Args[0], int(int32(c.Args[1])), uint32(c.Args[2]))
	}
	t[unix.SYS_CREAT] = func(w *worker, c *Call) (int64, error) {
		return openAt(w, cwd, c.Args[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(c.Args[1]))
	}
	t[unix.SYS_MKDIR] = func(w *worker, c *Call) (int64, error) { return mkdirAt(w, cwd, c.Args[0], uint32(c.Args[1])) }
	t[unix.SYS_MKNOD] = func(w *worker, c *Call) (int64, error) {
		return mknodAt(w, cwd, c.Args[0], uint32(c.Args[1]))
	}
	t[unix.SYS_UNLINK] = func(w *worker, c *Call) (int64, error) { return unlinkAt(w, cwd, c.Args[0], 0) }
	t[unix.SYS_RMDIR] = func(w *worker, c *Call) (int64, error) { return unlinkAt(w, cwd, c.Args[0], unix.AT_REMOVEDIR) }
	t[unix.SYS_SYMLINK] = func(w *worker, c *Call) (int64, error) { return symlinkAt(w, c.Args[0], cwd, c.Args[1]) }
	t[unix.SYS_LINK] = func(w *worker, c *Call) (int64, error) { return linkAt(w, cwd, c.Args[0], cwd, c.Args[1], 0) }
	t[unix.SYS_RENAME] = func(w *worker, c *Call) (int64, error) { return renameAt(w, cwd, c.Args[0], cwd, c.Args[1], 0) }
	t[unix.SYS_CHMOD] = func(w *worker, c *Call) (int64, error) { return named(c, true).chmod(w, uint32(c.Args[1])) }
	t[unix.SYS_CHOWN] = func(w *worker, c *Call) (int64, error) {
		return named(c, true).chown(w, uint32(c.Args[1]), uint32(c.Args[2]))
	}
	t[unix.SYS_LCHOWN] = func(w *worker, c *Call) (int64, error) {
		return named(c, false).chown(w, uint32(c.Args[1]), uint32(c.Args[2]))
	}
	t[unix.SYS_ACCESS] = func(w *worker, c *Call) (int64, error) { return named(c, true).access(w, uint32(c.Args[1]), 0) }
	t[unix.SYS_UTIME] = func(w *worker, c *Call) (int64, error) {
		ts, err := w.utimbuf(c.Args[1])
		if err != nil {
			return 0, err
		}
		return named(c, true).utimes(w, ts)
	}
	t[unix.SYS_UTIMES] = func(w *worker, c *Call) (int64, error) {
		ts, err := w.timevals(c.Args[1])
		if err != nil {
			return 0, err
		}
		return named(c, true).utimes(w, ts)
	}
	t[unix.SYS_FUTIMESAT] = func(w *worker, c *Call) (int64, error) {
		ts, err := w.timevals(c.Args[2])
		if err != nil {
			return 0, err
		}
		if c.Args[1] == 0 {
			return byFD(c).utimes(w, ts)
		}
		return at(c, 0, true).utimes(w, ts)
	}
}

func legacyGroups(moving, anybody map[int32]bool) {
	moving[unix.SYS_RENAME], moving[unix.SYS_LINK] = true, true
	for _, nr := range []int32{unix.SYS_CHMOD, unix.SYS_CHOWN, unix.SYS_LCHOWN, unix.SYS_UTIME, unix.SYS_UTIMES, unix.SYS_FUTIMESAT} {
		anybody[nr] = true
	}
}

func legacyReading() []int32 { return []int32{unix.SYS_OPEN} }

// isOpen says whether a call is open(2) itself.
func isOpen(nr int32) bool { return nr == unix.SYS_OPEN }

// timevals reads what utimes(2) takes: microseconds.
func (w *arguments) timevals(addr uint64) (*[2]unix.Timespec, error) {
	ts, err := w.timespecs(addr)
	if ts == nil || err != nil {
		return nil, err
	}
	for i := range ts {
		if ts[i].Nsec < 0 || ts[i].Nsec >= 1e6 {
			return nil, unix.EINVAL
		}
		ts[i].Nsec *= 1000
	}
	return ts, nil
}

// utimbuf reads what utime(2) takes: seconds.
func (w *arguments) utimbuf(addr uint64) (*[2]unix.Timespec, error) {
	if addr == 0 {
		return nil, nil
	}
	var buf [16]byte
	if err := w.memory.ReadExact(addr, buf[:]); err != nil {
		return nil, err
	}
	var ts [2]unix.Timespec
	ts[0].Sec = int64(binary.NativeEndian.Uint64(buf[:]))
	ts[1].Sec = int64(binary.NativeEndian.Uint64(buf[8:]))
	return &ts, nil
}
