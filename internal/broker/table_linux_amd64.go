package broker

import "golang.org/x/sys/unix"

// legacy adds the calls that have a form without a directory argument.
func legacy(t map[int32]handler) {
	const cwd = unix.AT_FDCWD
	t[unix.SYS_OPEN] = func(w *worker, c *Call) (int64, error) {
		return w.openAt(cwd, c.Args[0], int(int32(c.Args[1])), uint32(c.Args[2]))
	}
	t[unix.SYS_CREAT] = func(w *worker, c *Call) (int64, error) {
		return w.openAt(cwd, c.Args[0], unix.O_CREAT|unix.O_WRONLY|unix.O_TRUNC, uint32(c.Args[1]))
	}
	t[unix.SYS_MKDIR] = func(w *worker, c *Call) (int64, error) { return w.mkdirAt(cwd, c.Args[0], uint32(c.Args[1])) }
	t[unix.SYS_MKNOD] = func(w *worker, c *Call) (int64, error) {
		return w.mknodAt(cwd, c.Args[0], uint32(c.Args[1]))
	}
	t[unix.SYS_UNLINK] = func(w *worker, c *Call) (int64, error) { return w.unlinkAt(cwd, c.Args[0], 0) }
	t[unix.SYS_RMDIR] = func(w *worker, c *Call) (int64, error) { return w.unlinkAt(cwd, c.Args[0], unix.AT_REMOVEDIR) }
	t[unix.SYS_SYMLINK] = func(w *worker, c *Call) (int64, error) { return w.symlinkAt(c.Args[0], cwd, c.Args[1]) }
	t[unix.SYS_LINK] = func(w *worker, c *Call) (int64, error) { return w.linkAt(cwd, c.Args[0], cwd, c.Args[1], 0) }
	t[unix.SYS_RENAME] = func(w *worker, c *Call) (int64, error) { return w.renameAt(cwd, c.Args[0], cwd, c.Args[1], 0) }
	t[unix.SYS_CHMOD] = func(w *worker, c *Call) (int64, error) { return w.chmod(named(c, true), uint32(c.Args[1])) }
	t[unix.SYS_CHOWN] = func(w *worker, c *Call) (int64, error) {
		return w.chown(named(c, true), uint32(c.Args[1]), uint32(c.Args[2]))
	}
	t[unix.SYS_LCHOWN] = func(w *worker, c *Call) (int64, error) {
		return w.chown(named(c, false), uint32(c.Args[1]), uint32(c.Args[2]))
	}
	t[unix.SYS_ACCESS] = func(w *worker, c *Call) (int64, error) { return w.access(named(c, true), uint32(c.Args[1]), 0) }
	t[unix.SYS_UTIME] = func(w *worker, c *Call) (int64, error) {
		ts, err := w.utimbuf(c.Args[1])
		if err != nil {
			return 0, err
		}
		return w.utimes(named(c, true), ts)
	}
	t[unix.SYS_UTIMES] = func(w *worker, c *Call) (int64, error) {
		ts, err := w.timevals(c.Args[1])
		if err != nil {
			return 0, err
		}
		return w.utimes(named(c, true), ts)
	}
	t[unix.SYS_FUTIMESAT] = func(w *worker, c *Call) (int64, error) {
		ts, err := w.timevals(c.Args[2])
		if err != nil {
			return 0, err
		}
		if c.Args[1] == 0 {
			return w.utimes(byFD(c), ts)
		}
		return w.utimes(at(c, 0, true), ts)
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
