package broker

import (
	"cmp"

	"golang.org/x/sys/unix"
)

// letGo has the kernel run a call that is not the broker's. With Config.Bare that
// is no answer to a change of metadata, which nothing native would refuse, and with
// Config.Cuts none to an open that cuts: POSIX leaves open what it does without writing.
func (w *worker) letGo(c *Call) {
	switch {
	case w.b.config.Bare && w.b.anybody[c.Nr]:
		w.trap.Answer(c.ID, 0, unix.EPERM)
	case w.b.config.Cuts && cuts(c):
		w.trap.Answer(c.ID, 0, unix.EINVAL)
	default:
		w.trap.Continue(c.ID)
	}
}

// cuts says whether a call can cut a file that it does not open for writing, or can be made
// to by another thread that changes its memory.
func cuts(c *Call) bool {
	flags, opens := openFlags(c)
	if !opens {
		return c.Nr == unix.SYS_TRUNCATE || c.Nr == unix.SYS_OPENAT2
	}
	access := flags & unix.O_ACCMODE // 3 asks for neither, and cuts all the same
	return flags&unix.O_TRUNC != 0 && access != unix.O_WRONLY && access != unix.O_RDWR
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
