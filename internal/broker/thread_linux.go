package broker

import (
	"fmt"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
	"carrel/internal/broker/ownfs"
)

// becomeHands gives the thread a umask of its own and takes every capability
// from it: it acts with what the user may do and nothing else.
func (w *thread) becomeHands() error {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var none [2]unix.CapUserData
	_, _, e := unix.RawSyscall(unix.SYS_CAPSET, uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0)
	if e != 0 {
		return fmt.Errorf("dropping a thread's capabilities: %w", e)
	}
	var err error
	w.fs, err = ownfs.Separate()
	return err
}

// foreign says whether a caller sees another root or other mounts than the
// workspace's own.
func (w *thread) foreign() bool {
	if !w.b.foreign.Load() {
		return false
	}
	pid := caller.Dir(w.call.TID)
	var root, own, ns unix.Stat_t
	if unix.Stat(pid+"/root", &root) != nil || unix.Fstat(w.b.config.View, &own) != nil {
		return true
	}
	if unix.Stat(pid+"/ns/mnt", &ns) != nil {
		return true
	}
	return root.Ino != own.Ino || root.Dev != own.Dev || ns.Ino != w.b.mountNS
}

// ownDir opens, as a path only, what a directory argument means, on the caller's
// own mount.
func (w *thread) ownDir(dirfd int32) (int, error) {
	if dirfd != unix.AT_FDCWD {
		return w.callerFD(dirfd)
	}
	fd, err := w.procs.Open(w.call.TID, "cwd", 0)
	if err != nil {
		return -1, unix.EACCES
	}
	return fd, nil
}

// callerFD opens, as a path only, what the caller has at fd.
func (w *thread) callerFD(fd int32) (int, error) {
	if fd < 0 {
		return -1, unix.EBADF
	}
	n, err := w.procs.Open(w.call.TID, caller.Link(fd), 0)
	if err == unix.EACCES {
		// A program that may not be read hides its descriptors from its user in
		// procfs, but not from the owner of its user namespace.
		n, err = w.b.pinBorrowed(w.call.TID, fd)
	}
	if err != nil {
		return -1, unix.EBADF
	}
	return n, nil
}

// standing opens the directory that a relative path of the caller begins at.
func (w *thread) standing(dirfd int32) (int, error) {
	fd, err := w.ownDir(dirfd)
	if err != nil || dirfd == unix.AT_FDCWD {
		return fd, err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil || st.Mode&unix.S_IFMT != unix.S_IFDIR {
		unix.Close(fd)
		return -1, unix.ENOTDIR
	}
	return fd, nil
}

// itself is what self and thread-self say to the caller.
func (w *thread) itself(name string) (string, error) {
	text, err := caller.ReadFile(caller.Dir(w.call.TID) + "/status")
	if err != nil {
		return "", unix.ENOENT
	}
	level := w.b.config.Level
	process, thread := caller.InnerID(text, "NStgid:", level), caller.InnerID(text, "NSpid:", level)
	if process == "" || thread == "" {
		return "", unix.ENOENT
	}
	if name == "self" {
		return process, nil
	}
	return process + "/task/" + thread, nil
}

// inRemoved is the error for a name in a directory that has been removed.
func (w *thread) inRemoved(dirfd int32, p *place) error {
	if p.dots() {
		return errNotMine
	}
	if w.procs.Use(w.call.TID, func(dir int) error { return unix.Faccessat2(dir, caller.Link(dirfd), unix.X_OK, unix.AT_EACCESS) }) == unix.EACCES {
		return unix.EACCES
	}
	return errRemoved
}

// withUmask runs a creation under the caller's umask.
func (w *thread) withUmask(do func() error) error {
	return w.fs.Under(w.b.umasks.Of(w.call.TID), do)
}

// ours says whether changes of path go through the broker.
func (w *thread) ours(path string) bool {
	for _, r := range w.b.config.Roots {
		if path == r || len(path) > len(r) && path[len(r)] == '/' && path[:len(r)] == r || r == "/" {
			return true
		}
	}
	return false
}

// fdPath reads where one of our own descriptors is now.
func (w *thread) fdPath(fd int) (string, error) {
	return w.readLink(w.b.self, strconv.Itoa(fd))
}

// readLink reads where a symlink leads.
func (w *thread) readLink(dir int, name string) (string, error) {
	n, err := unix.Readlinkat(dir, name, w.link[:])
	switch {
	case err != nil:
		return "", err
	case n == 0:
		return "", unix.ENOENT
	case n == len(w.link):
		return "", unix.ENAMETOOLONG
	}
	return string(w.link[:n]), nil
}

// objectOf completes an object; it closes fd where it cannot.
func (w *thread) objectOf(fd int) (object, error) {
	o := object{fd: fd}
	var err error
	if o.path, err = w.fdPath(fd); err == nil {
		err = unix.Fstat(fd, &o.stat)
	}
	if err != nil {
		o.close()
		return object{}, err
	}
	return o, nil
}

// pinned completes an object of the mirror; it closes fd where it is not ours.
func (w *thread) pinned(fd int) (object, error) {
	o, err := w.objectOf(fd)
	if err != nil {
		return object{}, notMine(err)
	}
	if !w.ours(o.path) {
		o.close()
		return object{}, errNotMine
	}
	return o, nil
}

// letGo has the kernel run a call that is not the broker's. With Config.Bare that
// is no answer to a change of metadata, which nothing native would refuse, and with
// Config.Cuts none to an open that cuts: POSIX leaves open what it does without writing.
func (w *thread) letGo(c *Call) {
	switch {
	case w.b.config.Bare && w.b.anybody[c.Nr]:
		w.trap.Answer(c.ID, 0, unix.EPERM)
	case w.b.config.Cuts && cuts(c):
		w.trap.Answer(c.ID, 0, unix.EINVAL)
	default:
		w.trap.Continue(c.ID)
	}
}
