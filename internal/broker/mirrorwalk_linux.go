package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// walk is open for a path of the caller, step by step in the mirror. With
// O_NOFOLLOW a symlink at the end is what is found.
func (w *resolver) walk(dirfd int32, path string, flags uint64) (int, error) {
	k := walker{w: w, nofollow: flags&unix.O_NOFOLLOW != 0, dir: flags&unix.O_DIRECTORY != 0}
	defer k.close()
	return k.inMirror(dirfd, path)
}

// bounded is a scope that makes a directory of the caller the root of its walk.
const bounded = unix.RESOLVE_IN_ROOT | unix.RESOLVE_BENEATH

// inMirror walks in the mirror. Its errors are those that the kernel has for the
// caller, errNotMine where it may have another one.
func (k *walker) inMirror(dirfd int32, path string) (int, error) {
	k.root, k.fenced, k.procfs = k.w.b.config.Mirror, k.scope&bounded != 0, (*walker).callersOwn
	k.rest = path
	k.to(k.root, false)
	if path[0] == '/' && k.scope&unix.RESOLVE_BENEATH != 0 {
		return -1, unix.EXDEV
	}
	if path[0] != '/' || k.scope&unix.RESOLVE_IN_ROOT != 0 {
		if err := k.begin(dirfd); err != nil {
			return -1, err
		}
	}
	fd, err := k.walk()
	if err != nil {
		return -1, k.answer(err)
	}
	return fd, nil
}

// begin goes to the directory that a path of the caller is relative to.
func (k *walker) begin(dirfd int32) error {
	base, err := k.w.base(dirfd)
	if err == errNotMine || err == errRemoved {
		if k.fenced {
			return errNotMine
		}
		return k.leave(dirfd, err)
	}
	if err != nil {
		return err
	}
	k.to(base.fd, false)
	if k.fenced {
		k.root = base.fd
	}
	return nil
}

// leave goes up from a directory that the mirror does not show, as it has been
// removed or cannot be reached any more: its parent may still be there.
func (k *walker) leave(dirfd int32, why error) error {
	comp, rest, _ := strings.Cut(k.rest, "/")
	for comp == "." && rest != "" {
		comp, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
	}
	switch {
	case comp == "..":
		k.rest = rest
		return k.above(dirfd)
	case comp != "." && comp != "" && why == errRemoved:
		return k.nowhere(dirfd, comp, rest)
	}
	return why
}

// nowhere is the error for a name in a removed directory, where nothing has one.
func (k *walker) nowhere(dirfd int32, name, rest string) error {
	if err := k.w.inRemoved(dirfd, &place{name: name}); err != errRemoved {
		return err
	}
	if k.creates && strings.HasSuffix(k.rest, "/") && strings.Trim(rest, "/") == "" {
		return unix.EISDIR
	}
	return unix.ENOENT
}

// above goes to the directory above one of the caller's.
func (k *walker) above(dirfd int32) error {
	at, err := k.w.procs.Open(k.w.call.TID, caller.Link(dirfd)+"/..", unix.O_DIRECTORY)
	if err != nil {
		return k.answer(err)
	}
	o, alone, err := k.w.mirrored(at)
	if err != nil {
		return err
	}
	if alone {
		o.close()
		return errNotMine
	}
	k.to(o.fd, true)
	return nil
}

// callersOwn follows links of procfs in the mirror, which does not know the
// caller: those of the caller's own directory that mean a directory of the
// mirror, by what the next components say. Nothing else: a magic link is more
// than its text.
func (k *walker) callersOwn(fd int, name string, _ *unix.Stat_t) (bool, error) {
	if !inProc(fd) {
		return false, nil
	}
	if k.scope != 0 || name != "self" && name != "thread-self" {
		return true, errNotMine
	}
	what, rest, _ := strings.Cut(strings.TrimLeft(k.rest, "/"), "/")
	dirfd := int32(unix.AT_FDCWD)
	switch what {
	case "root":
		k.rest = rest
		k.to(k.w.b.config.Mirror, false)
		return true, nil
	case "cwd":
	case "fd":
		var number string
		number, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		n, err := strconv.ParseUint(number, 10, 31)
		if err != nil {
			return true, errNotMine
		}
		dirfd = int32(n)
	default:
		return true, errNotMine
	}
	base, err := k.w.baseOf(dirfd)
	if err != nil {
		return true, errNotMine
	}
	k.rest = rest
	k.to(base.fd, false)
	return true, nil
}

// answer is what the caller gets for an error on the way.
func (k *walker) answer(err error) error {
	switch err {
	case unix.EXDEV, unix.EISDIR:
		return err
	case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP, unix.ENAMETOOLONG:
		if !inProc(k.cur) { // procfs shows everybody something else
			return err
		}
	}
	return errNotMine
}
