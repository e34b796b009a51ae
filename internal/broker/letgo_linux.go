package broker

import (
	"cmp"
	"strings"

	"carrel/internal/broker/caller"

	"golang.org/x/sys/unix"
)

// cuts says whether a call can cut a file that it does not open for writing, or can be made
// to by another thread that changes its memory.
func cuts(c *Call) bool {
	flags, opens := openFlags(c)
	if !opens {
		return c.Nr == unix.SYS_TRUNCATE || c.Nr == unix.SYS_OPENAT2
	}
	return cutsUnwritten(flags)
}

// cutsUnwritten says whether an open cuts and does not ask for writing. Access mode 3 asks for
// neither, and cuts all the same.
func cutsUnwritten(flags int) bool {
	access := flags & unix.O_ACCMODE
	return flags&unix.O_TRUNC != 0 && access != unix.O_WRONLY && access != unix.O_RDWR
}

// uncut gives the error of an open of this kind that is not the broker's: what the kernel says
// of the name where it would not open it, and EINVAL where it would.
func (r *request) uncut(w *worker) error {
	o, err := w.outside(target{dirfd: r.dirfd, path: r.path, follow: r.flags&unix.O_NOFOLLOW == 0})
	if _, proc := caller.Descriptor(r.path); err == unix.ENOENT && r.flags&unix.O_CREAT != 0 && !proc {
		if strings.HasSuffix(r.path, "/") {
			return unix.EISDIR
		}
		return unix.EINVAL
	}
	if err != nil {
		return err
	}
	defer o.close()
	switch o.stat.Mode & unix.S_IFMT {
	case unix.S_IFDIR:
		return unix.EISDIR
	case unix.S_IFLNK:
		return unix.ELOOP
	case unix.S_IFSOCK:
		return unix.ENXIO
	}
	return unix.EINVAL
}

// openFlags gives the flags of an open that has them in a register.
func openFlags(c *Call) (flags int, opens bool) {
	switch {
	case c.Nr == unix.SYS_OPENAT:
		return int(int32(c.Args[2])), true
	case isOpen(c.Nr):
		return int(int32(c.Args[1])), true
	}
	return 0, false
}

// cutOutside is truncate(2) of what is in no root, or by a caller with another root, on the caller's
// own mount. What procfs shows depends on who opens it.
func cutOutside(w *worker, addr uint64, size int64) error {
	o, err := w.outside(target{dirfd: unix.AT_FDCWD, addr: addr, follow: true})
	if err != nil {
		return err
	}
	defer o.close()
	if err := cuttable(&o); err != nil {
		return err
	}
	var fs unix.Statfs_t
	if err := unix.Fstatfs(o.fd, &fs); err != nil || fs.Type == unix.PROC_SUPER_MAGIC {
		return cmp.Or(err, error(unix.EACCES))
	}
	if !w.trap.Valid(w.call.ID) {
		return errAnswered
	}
	fd, err := unix.Open(o.link(), unix.O_WRONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	return unix.Ftruncate(fd, size)
}

// cuttable gives the error of truncate(2) for what is no file.
func cuttable(o *object) error {
	switch kindOf(o.stat.Mode) {
	case KindFile:
		return nil
	case KindDir:
		return unix.EISDIR
	}
	return unix.EINVAL
}
