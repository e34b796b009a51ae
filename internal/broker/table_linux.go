package broker

import "golang.org/x/sys/unix"

// Handles says whether the broker carries a system call out, or continues it
// knowingly. Trapped calls that it does not know answer ENOSYS.
func Handles(nr int32) bool { return handlers()[nr] != nil }

// handlers gives the calls that every architecture has, and adds the older forms
// of amd64, see legacy.
func handlers() map[int32]handler {
	t := map[int32]handler{
		unix.SYS_OPENAT: func(w *worker, c *Call) (int64, error) {
			return openAt(w, dirfd(c, 0), c.Args[1], int(int32(c.Args[2])), uint32(c.Args[3]))
		},
		unix.SYS_OPENAT2: func(w *worker, c *Call) (int64, error) {
			return openat2(w, dirfd(c, 0), c.Args[1], c.Args[2], c.Args[3])
		},
		unix.SYS_MKDIRAT: func(w *worker, c *Call) (int64, error) { return mkdirAt(w, dirfd(c, 0), c.Args[1], uint32(c.Args[2])) },
		unix.SYS_MKNODAT: func(w *worker, c *Call) (int64, error) {
			return mknodAt(w, dirfd(c, 0), c.Args[1], uint32(c.Args[2]))
		},
		unix.SYS_UNLINKAT: func(w *worker, c *Call) (int64, error) {
			return unlinkAt(w, dirfd(c, 0), c.Args[1], int(int32(c.Args[2])))
		},
		unix.SYS_SYMLINKAT: func(w *worker, c *Call) (int64, error) { return symlinkAt(w, c.Args[0], dirfd(c, 1), c.Args[2]) },
		unix.SYS_LINKAT: func(w *worker, c *Call) (int64, error) {
			return linkAt(w, dirfd(c, 0), c.Args[1], dirfd(c, 2), c.Args[3], int(int32(c.Args[4])))
		},
		unix.SYS_RENAMEAT: func(w *worker, c *Call) (int64, error) {
			return renameAt(w, dirfd(c, 0), c.Args[1], dirfd(c, 2), c.Args[3], 0)
		},
		unix.SYS_RENAMEAT2: func(w *worker, c *Call) (int64, error) {
			return renameAt(w, dirfd(c, 0), c.Args[1], dirfd(c, 2), c.Args[3], uint(uint32(c.Args[4])))
		},
		unix.SYS_TRUNCATE: func(w *worker, c *Call) (int64, error) { return truncate(w, c.Args[0], int64(c.Args[1])) },
		unix.SYS_UMASK:    umask,
		unix.SYS_BIND: func(w *worker, c *Call) (int64, error) {
			return bind(w, dirfd(c, 0), c.Args[1], uint64(uint32(c.Args[2])))
		},
		unix.SYS_IOCTL:    func(w *worker, c *Call) (int64, error) { return ioctl(w, dirfd(c, 0), uint32(c.Args[1]), c.Args[2]) },
		unix.SYS_EXECVE:   func(w *worker, c *Call) (int64, error) { return execute(w, named(c, true)) },
		unix.SYS_EXECVEAT: func(w *worker, c *Call) (int64, error) { return execute(w, atFlags(c, 4)) },
		unix.SYS_CHROOT:   estranged,
		unix.SYS_UNSHARE:  estranged,
		unix.SYS_CLONE:    estranged,
		unix.SYS_SETNS:    estranged,
	}
	metadata(t)
	attributes(t)
	legacy(t)
	return t
}

// groups tells calls that need more than a handler. moving run while no other
// change does. anybody are answered for every caller, also one with another
// root: continued, they would work on a granted descriptor. With Config.Reads
// those of reading are, too.
func groups() (moving, anybody map[int32]bool) {
	moving = map[int32]bool{unix.SYS_RENAMEAT: true, unix.SYS_RENAMEAT2: true, unix.SYS_LINKAT: true, unix.SYS_BIND: true}
	anybody = map[int32]bool{
		unix.SYS_FCHMOD: true, unix.SYS_FCHMODAT: true, unix.SYS_FCHMODAT2: true, unix.SYS_FCHOWN: true, unix.SYS_FCHOWNAT: true,
		unix.SYS_UTIMENSAT: true, unix.SYS_SETXATTR: true, unix.SYS_LSETXATTR: true, unix.SYS_FSETXATTR: true,
		unix.SYS_REMOVEXATTR: true, unix.SYS_LREMOVEXATTR: true, unix.SYS_FREMOVEXATTR: true, unix.SYS_IOCTL: true,
		unix.SYS_SETXATTRAT: true, unix.SYS_REMOVEXATTRAT: true, unix.SYS_FILE_SETATTR: true,
	}
	legacyGroups(moving, anybody)
	return moving, anybody
}

// reading are the calls that are answered for every caller where reading is
// decided: continued, they would read.
func reading() []int32 {
	return append(legacyReading(), unix.SYS_OPENAT, unix.SYS_OPENAT2, unix.SYS_EXECVE, unix.SYS_EXECVEAT)
}

// metadata adds the calls for modes, owners and times, and the questions that
// the read-only mount would answer wrong.
func metadata(t map[int32]handler) {
	t[unix.SYS_FCHMOD] = func(w *worker, c *Call) (int64, error) { return byFD(c).chmod(w, uint32(c.Args[1])) }
	t[unix.SYS_FCHMODAT] = func(w *worker, c *Call) (int64, error) { return at(c, 0, true).chmod(w, uint32(c.Args[2])) }
	t[unix.SYS_FCHMODAT2] = func(w *worker, c *Call) (int64, error) {
		if uint32(c.Args[3])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return 0, unix.EINVAL
		}
		return atFlags(c, 3).chmod(w, uint32(c.Args[2]))
	}
	t[unix.SYS_FCHOWN] = func(w *worker, c *Call) (int64, error) { return byFD(c).chown(w, uint32(c.Args[1]), uint32(c.Args[2])) }
	t[unix.SYS_FCHOWNAT] = func(w *worker, c *Call) (int64, error) {
		if uint32(c.Args[4])&^(unix.AT_SYMLINK_NOFOLLOW|unix.AT_EMPTY_PATH) != 0 {
			return 0, unix.EINVAL
		}
		return atFlags(c, 4).chown(w, uint32(c.Args[2]), uint32(c.Args[3]))
	}
	t[unix.SYS_UTIMENSAT] = func(w *worker, c *Call) (int64, error) {
		return utimensat(w, dirfd(c, 0), c.Args[1], c.Args[2], int(int32(c.Args[3])))
	}
	t[unix.SYS_FACCESSAT] = func(w *worker, c *Call) (int64, error) { return at(c, 0, true).access(w, uint32(c.Args[2]), 0) }
	t[unix.SYS_FACCESSAT2] = func(w *worker, c *Call) (int64, error) {
		return atFlags(c, 3).access(w, uint32(c.Args[2]), int(int32(c.Args[3])))
	}
	t[unix.SYS_STATFS] = func(w *worker, c *Call) (int64, error) { return named(c, true).statfs(w, c.Args[1]) }
	t[unix.SYS_FSTATFS] = func(w *worker, c *Call) (int64, error) { return byFD(c).statfs(w, c.Args[1]) }
}

// attributes adds the calls for extended attributes and inode flags.
func attributes(t map[int32]handler) {
	for _, form := range []struct {
		set, remove int32
		of          func(*Call) target
	}{
		{unix.SYS_SETXATTR, unix.SYS_REMOVEXATTR, func(c *Call) target { return named(c, true) }},
		{unix.SYS_LSETXATTR, unix.SYS_LREMOVEXATTR, func(c *Call) target { return named(c, false) }},
		{unix.SYS_FSETXATTR, unix.SYS_FREMOVEXATTR, byFD},
	} {
		t[form.set] = func(w *worker, c *Call) (int64, error) {
			return form.of(c).setxattr(w, c.Args[1], c.Args[2], c.Args[3], uint32(c.Args[4]))
		}
		t[form.remove] = func(w *worker, c *Call) (int64, error) { return form.of(c).removexattr(w, c.Args[1]) }
	}
	t[unix.SYS_SETXATTRAT] = func(w *worker, c *Call) (int64, error) { return setxattrat(w, c, c.Args[3], c.Args[4], c.Args[5]) }
	t[unix.SYS_REMOVEXATTRAT] = func(w *worker, c *Call) (int64, error) { return removexattrat(w, c, c.Args[3]) }
	t[unix.SYS_FILE_SETATTR] = func(w *worker, c *Call) (int64, error) { return fileSetattr(w, c, c.Args[2], c.Args[3]) }
}

// dirfd is a descriptor argument: 32 bits, whatever the register's rest says.
func dirfd(c *Call, n int) int32 { return int32(uint32(c.Args[n])) }

func byFD(c *Call) target { return target{dirfd: dirfd(c, 0), byFD: true} }

func named(c *Call, follow bool) target {
	return target{dirfd: unix.AT_FDCWD, addr: c.Args[0], follow: follow}
}

func at(c *Call, n int, follow bool) target {
	return target{dirfd: dirfd(c, n), addr: c.Args[n+1], follow: follow}
}

// atFlags is a target whose AT_ flags are argument n.
func atFlags(c *Call, n int) target {
	flags := uint32(c.Args[n])
	t := at(c, 0, flags&unix.AT_SYMLINK_NOFOLLOW == 0)
	t.empty = flags&unix.AT_EMPTY_PATH != 0
	return t
}
