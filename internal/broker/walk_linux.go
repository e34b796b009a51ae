package broker

import (
	"strings"

	"golang.org/x/sys/unix"

	"carrel/internal/broker/caller"
)

// walker resolves a path component by component, where one openat2(2) cannot
// give the caller's own answer: it leaves a directory by ".." without searching
// those above it, and knows what links of procfs mean to the caller. For changes
// it walks in the mirror, see mirrorwalk_linux.go, for reading in the mounts that
// the caller has, see see_linux.go.
type walker struct {
	w      *resolver
	root   int  // what absolute links mean
	fenced bool // ".." does not leave root, which may have something above it
	// procfs follows a link of procfs, the entry name of cur, or says false: then
	// its text is what it means.
	procfs   func(k *walker, fd int, name string, st *unix.Stat_t) (bool, error)
	nofollow bool   // a symlink at the end is what is found
	dir      bool   // what is found has to be a directory
	creates  bool   // for an open with O_CREAT
	pinned   bool   // parent is asked for
	scope    uint64 // RESOLVE_ flags that the caller asked for

	cur   int
	own   bool // cur is the walker's to close
	rest  string
	links int

	missing string // the last component, where only that is not there: in cur, with creates
	last    string // the last component that was looked at
	parent  int    // where it was found, the walker's to close; 0 if it was no file
}

// maxText bounds what is left to walk, with the texts of all links on the way.
const maxText = 16 * caller.PathMax

// close lets go of what the walk has pinned.
func (k *walker) close() {
	k.to(-1, false)
	if k.parent > 0 {
		unix.Close(k.parent)
	}
}

// to goes to another directory.
func (k *walker) to(fd int, own bool) {
	if k.own && k.cur != fd {
		unix.Close(k.cur)
	}
	k.cur, k.own = fd, own
}

// walk takes what is left of the path, from cur on. What it finds is the
// caller's to close.
func (k *walker) walk() (int, error) {
	for k.rest = strings.TrimLeft(k.rest, "/"); k.rest != ""; k.rest = strings.TrimLeft(k.rest, "/") {
		if err := k.step(); err != nil {
			return -1, err
		}
	}
	return k.found()
}

// step takes one component.
func (k *walker) step() error {
	name, rest, slash := strings.Cut(k.rest, "/")
	last := strings.Trim(rest, "/") == ""
	k.rest, k.last = rest, name
	k.dir = k.dir || last && slash
	if k.creates && last && slash && name != "." && name != ".." {
		return k.unsearched(unix.EISDIR) // whatever is there
	}
	fd, err := k.open(name)
	if err != nil {
		if err == unix.ENOENT && last && k.creates {
			k.miss(name)
		}
		return err
	}
	return k.enter(fd, name, last)
}

// enter goes on from what a component is; fd becomes the walker's.
func (k *walker) enter(fd int, name string, last bool) error {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		unix.Close(fd)
		return err
	}
	if st.Mode&unix.S_IFMT == unix.S_IFLNK && !(k.nofollow && last && !k.dir) {
		defer unix.Close(fd)
		return k.follow(fd, name, &st)
	}
	if k.pinned && last && st.Mode&unix.S_IFMT == unix.S_IFREG {
		k.parent, _ = unix.FcntlInt(uintptr(k.cur), unix.F_DUPFD_CLOEXEC, 1)
	}
	k.to(fd, true)
	return nil
}

// open opens one component, never what a link leads to.
func (k *walker) open(name string) (int, error) {
	mounts := k.scope & unix.RESOLVE_NO_XDEV
	if name == ".." && k.fenced && sameFile(k.cur, k.root) {
		if k.scope&unix.RESOLVE_BENEATH != 0 {
			return -1, k.unsearched(unix.EXDEV)
		}
		name = "."
	}
	if name == ".." { // not below anything; the mirror's root has nothing above it
		return unix.Openat2(k.cur, name, &unix.OpenHow{
			Flags:   unix.O_PATH | unix.O_NOFOLLOW | unix.O_CLOEXEC,
			Resolve: unix.RESOLVE_NO_SYMLINKS | unix.RESOLVE_NO_MAGICLINKS | mounts,
		})
	}
	fd, err := k.w.open(k.cur, name, unix.O_NOFOLLOW, below|mounts)
	for n := 0; err == unix.EXDEV && mounts == 0 && n < maxRaces; n++ { // it was moved out of cur just when it was found
		fd, err = k.w.open(k.cur, name, unix.O_NOFOLLOW, below)
	}
	return fd, err
}

// miss notes the name that is not there.
func (k *walker) miss(name string) {
	if inProc(k.cur) {
		return
	}
	k.missing = name
	if k.dir {
		k.missing += "/"
	}
}

// unsearched is err, if the directory that the walk is in may be searched.
func (k *walker) unsearched(err error) error {
	fd, e := k.w.open(k.cur, ".", 0, below)
	if e != nil {
		return e
	}
	unix.Close(fd)
	return err
}

// follow goes on where a symlink leads.
func (k *walker) follow(fd int, name string, st *unix.Stat_t) error {
	if k.links++; k.links > maxLinks || k.scope&unix.RESOLVE_NO_SYMLINKS != 0 {
		return unix.ELOOP
	}
	if done, err := k.procfs(k, fd, name, st); done || err != nil {
		return err
	}
	if err := k.trusted(st); err != nil {
		return err
	}
	text, err := k.w.readLink(fd, "")
	if err != nil {
		return err
	}
	return k.aside(text)
}

// trusted keeps to fs.protected_symlinks, as the kernel does for what it follows.
func (k *walker) trusted(link *unix.Stat_t) error {
	var dir unix.Stat_t
	if err := unix.Fstat(k.cur, &dir); err != nil {
		return err
	}
	const shared = unix.S_ISVTX | unix.S_IWOTH
	if dir.Mode&shared == shared && link.Uid != uint32(unix.Geteuid()) && link.Uid != dir.Uid {
		if on, err := caller.ReadFile("/proc/sys/fs/protected_symlinks"); err != nil || on != "0\n" {
			return unix.EACCES
		}
	}
	return nil
}

// aside goes on with a link's text in place of the link.
func (k *walker) aside(text string) error {
	if len(text)+len(k.rest) > maxText {
		return unix.ENAMETOOLONG
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

func (k *walker) found() (int, error) {
	if k.dir {
		var st unix.Stat_t
		if err := unix.Fstat(k.cur, &st); err != nil {
			return -1, err
		}
		if st.Mode&unix.S_IFMT != unix.S_IFDIR {
			return -1, unix.ENOTDIR
		}
	}
	fd := k.cur
	if !k.own {
		var err error
		if fd, err = unix.FcntlInt(uintptr(k.cur), unix.F_DUPFD_CLOEXEC, 0); err != nil {
			return -1, err
		}
	}
	k.cur, k.own = -1, false
	return fd, nil
}

func inProc(fd int) bool {
	var fs unix.Statfs_t
	return unix.Fstatfs(fd, &fs) == nil && fs.Type == unix.PROC_SUPER_MAGIC
}
