package broker

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// walker resolves a path of a caller component by component, where one
// openat2(2) cannot give the caller's own answer: it knows the caller's magic
// links, leaves a directory by ".." without searching those above it, and its
// errors are those that the kernel has for the caller.
type walker struct {
	w       *worker
	tid     uint32
	cur     int
	own     bool // cur is the walker's to close
	links   int
	rest    string
	dir     bool   // what is found has to be a directory
	root    int    // what absolute links mean
	creates bool   // for an open with O_CREAT
	scope   uint64 // RESOLVE_ flags that the caller asked for
	missing string // the last component, where only that is not there: in cur
	last    string // the last component that was looked at
	parent  int    // where it was found, the walker's to close; 0 if it was no file
}

// close lets go of what the walk has pinned.
func (k *walker) close() {
	k.to(-1, false)
	if k.parent > 0 {
		unix.Close(k.parent)
	}
}

// walk is open for a path of a caller. With O_NOFOLLOW a symlink at the end is
// what is found.
func (w *worker) walk(tid uint32, dirfd int32, path string, flags uint64) (int, error) {
	k := walker{w: w, tid: tid}
	defer k.close()
	return k.walk(dirfd, path, flags)
}

func (k *walker) walk(dirfd int32, path string, flags uint64) (int, error) {
	k.cur, k.root, k.rest, k.dir = k.w.b.config.Mirror, k.w.b.config.Mirror, path, flags&unix.O_DIRECTORY != 0
	if path[0] == '/' && k.scope&unix.RESOLVE_BENEATH != 0 {
		return -1, unix.EXDEV
	}
	if path[0] != '/' || k.scope&unix.RESOLVE_IN_ROOT != 0 {
		base, err := k.w.base(k.tid, dirfd)
		if err == errNotMine || err == errRemoved {
			err = k.leave(dirfd, err)
		} else if err == nil {
			k.to(base, false)
		}
		if err != nil {
			return -1, err
		}
		if k.scope&(unix.RESOLVE_IN_ROOT|unix.RESOLVE_BENEATH) != 0 {
			k.root = base
		}
	}
	for k.rest = strings.TrimLeft(k.rest, "/"); k.rest != ""; k.rest = strings.TrimLeft(k.rest, "/") {
		if err := k.step(flags&unix.O_NOFOLLOW != 0); err != nil {
			return -1, k.answer(err)
		}
	}
	return k.found()
}

// leave goes up from a directory that the mirror does not show, as it has been
// removed or cannot be reached any more: its parent may still be there.
func (k *walker) leave(dirfd int32, why error) error {
	if k.scope&(unix.RESOLVE_IN_ROOT|unix.RESOLVE_BENEATH) != 0 {
		return errNotMine
	}
	comp, rest, _ := strings.Cut(k.rest, "/")
	for comp == "." && rest != "" {
		comp, rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
	}
	switch {
	case comp == "..":
	case comp != "." && comp != "" && why == errRemoved:
		if err := k.w.inRemoved(dirfd, &place{name: comp}); err != errRemoved {
			return err
		}
		if k.creates && strings.HasSuffix(k.rest, "/") && strings.Trim(rest, "/") == "" {
			return unix.EISDIR
		}
		return unix.ENOENT // nothing has a name there
	default:
		return why
	}
	k.rest = rest
	at := -1
	err := k.w.proc(k.tid, func(dir int) (e error) {
		at, e = unix.Openat(dir, procLink(dirfd)+"/..", unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		return e
	})
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

// to goes to another directory.
func (k *walker) to(fd int, own bool) {
	if k.own && k.cur != fd {
		unix.Close(k.cur)
	}
	k.cur, k.own = fd, own
}

// step takes one component.
func (k *walker) step(nofollow bool) error {
	name, rest, slash := strings.Cut(k.rest, "/")
	last := strings.Trim(rest, "/") == ""
	k.rest, k.last = rest, name
	k.dir = k.dir || last && slash
	if k.creates && last && slash && name != "." && name != ".." {
		return k.unsearched(unix.EISDIR) // whatever is there
	}
	if (name == "self" || name == "thread-self") && k.inProc(k.cur) {
		return k.magic()
	}
	how := unix.OpenHow{Flags: unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC, Resolve: below | k.scope&unix.RESOLVE_NO_XDEV}
	if name == ".." {
		if k.scope&(unix.RESOLVE_IN_ROOT|unix.RESOLVE_BENEATH) != 0 && sameFile(k.cur, k.root) {
			if k.scope&unix.RESOLVE_BENEATH != 0 {
				return k.unsearched(unix.EXDEV)
			}
			name = "."
		} else { // not below anything; the mirror's root has nothing above it
			how.Resolve = unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | k.scope&unix.RESOLVE_NO_XDEV
		}
	}
	fd, err := unix.Openat2(k.cur, name, &how)
	if err == unix.ENOENT && last && !k.inProc(k.cur) {
		k.missing = name
		if k.dir {
			k.missing += "/"
		}
	}
	if err != nil {
		return err
	}
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFLNK || nofollow && last && !k.dir {
		if last && st.Mode&unix.S_IFMT == unix.S_IFREG {
			k.parent, _ = unix.FcntlInt(uintptr(k.cur), unix.F_DUPFD_CLOEXEC, 1)
		}
		k.to(fd, true)
		return nil
	}
	defer unix.Close(fd)
	return k.follow(fd, &st)
}

// unsearched is err, if the directory that the walk is in may be searched.
func (k *walker) unsearched(err error) error {
	fd, e := unix.Openat2(k.cur, ".", &unix.OpenHow{Flags: unix.O_PATH | unix.O_CLOEXEC, Resolve: below})
	if e != nil {
		return e
	}
	unix.Close(fd)
	return err
}

// follow goes on where a symlink leads.
func (k *walker) follow(fd int, st *unix.Stat_t) error {
	if k.links++; k.links > maxLinks || k.scope&unix.RESOLVE_NO_SYMLINKS != 0 {
		return unix.ELOOP
	}
	if k.inProc(fd) {
		return errNotMine // a magic link is more than its text
	}
	var dir unix.Stat_t
	const shared = unix.S_ISVTX | unix.S_IWOTH
	if err := unix.Fstat(k.cur, &dir); err != nil {
		return err
	} else if dir.Mode&shared == shared && st.Uid != uint32(unix.Geteuid()) && st.Uid != dir.Uid {
		return unix.EACCES // fs.protected_symlinks
	}
	text, err := readLink(&place{dir: fd})
	if err != nil {
		return err
	}
	if k.rest != "" {
		text += "/" + k.rest
	}
	k.rest = text
	switch {
	case text[0] != '/':
	case k.scope&unix.RESOLVE_BENEATH != 0:
		return unix.EXDEV
	case k.scope&unix.RESOLVE_NO_XDEV != 0:
		return errNotMine
	default:
		k.to(k.root, false)
	}
	return nil
}

// magic follows a link of the caller's own directory in procfs.
func (k *walker) magic() error {
	if k.scope != 0 {
		return errNotMine
	}
	var name [2]string
	rest := k.rest
	for i := range name {
		name[i], rest, _ = strings.Cut(strings.TrimLeft(rest, "/"), "/")
		if i == 0 && name[0] != "fd" {
			break
		}
	}
	switch name[0] {
	case "root":
		k.to(k.w.b.config.Mirror, false)
	case "cwd", "fd":
		fd := int32(unix.AT_FDCWD)
		if name[0] == "fd" {
			n, err := strconv.ParseUint(name[1], 10, 31)
			if err != nil {
				return errNotMine
			}
			fd = int32(n)
		}
		base, err := k.w.baseOf(k.tid, fd)
		if err != nil {
			return errNotMine
		}
		k.to(base, false)
	default:
		return errNotMine
	}
	k.rest = rest
	return nil
}

func (k *walker) inProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}

// answer is what the caller gets for an error on the way.
func (k *walker) answer(err error) error {
	switch err {
	case unix.EXDEV, unix.EISDIR:
		return err
	case unix.ENOENT, unix.ENOTDIR, unix.EACCES, unix.ELOOP, unix.ENAMETOOLONG:
		if !k.inProc(k.cur) { // procfs shows everybody something else
			return err
		}
	}
	return errNotMine
}

func (k *walker) found() (int, error) {
	if k.dir {
		var st unix.Stat_t
		if err := unix.Fstat(k.cur, &st); err != nil {
			return -1, errNotMine
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return -1, unix.ENOTDIR
		}
	}
	fd := k.cur
	if !k.own {
		var err error
		if fd, err = unix.FcntlInt(uintptr(k.cur), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return -1, errNotMine
		}
	}
	k.cur, k.own = -1, false
	return fd, nil
}
