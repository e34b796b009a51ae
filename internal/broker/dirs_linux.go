package broker

import (
	"cmp"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Directories of the mirror to which paths of callers have led of late, pinned.
//
// A pinned directory saves opening it and asking where it is. It is never taken for the
// meaning of a path unless the kernel has said so during the same call. No rename has to
// be told to this cache then, whoever makes it, and whichever directory it moves:
//   - The directory that a relative path begins at is known by the inode and the mount
//     that procfs shows for it. Its place is what getcwd(2) says.
//   - A name in a directory is looked at by statx(2), which follows no link. It means
//     the pinned directory if the inode and the mount are that directory's.
//   - A longer path is opened by openat2(2), without links on the way. What is open
//     is compared in the same manner. statx(2) of such a path would be cheaper, but
//     would follow a link that is put there meanwhile, from the supervisor's own root.
//
// What is remembered is how the kernel spells the path, and only for file systems where
// a directory has one spelling and inode numbers tell directories apart.
//
// To watch for renames (inotify) would cost one call for each look as well, takes one of
// the few instances that a user has, and its end waits for the kernel for milliseconds.

// inode is an object as one mount shows it.
type inode struct{ dev, ino, mount uint64 }

// directory is one that is pinned.
type directory struct {
	inode          // in the mirror
	callers uint64 // the mount by which callers have it as a directory of theirs, 0 where none has
	fd      int
	grant   int    // the same by its own mount, -1 until it is asked for
	path    string // canonical, as of the call located
	above   inode  // where it was found by name, if name is not ""
	name    string
	used    uint64
	located uint64
}

// maxDirectories bounds what a worker pins, but for one call that needs more. Each takes
// two descriptors.
const maxDirectories = 16

// directories are those of one worker. What was found in a call is not asked for again in
// the same call.
type directories struct {
	known  []*directory
	call   uint64 // counts calls
	begins []begin
	exact  map[uint64]bool // devices, see worker.spelled
	linked string          // the last path that leads over a link
	in     *directory      // the one that the thread is in, if it is one of them
}

// begin is what a directory argument, and a path from there, have led to in this call.
type begin struct {
	dirfd int32
	text  string
	dir   *directory
}

// next begins a call.
func (d *directories) next() {
	d.call++
	d.begins = d.begins[:0]
}

func (d *directories) begun(dirfd int32, text string) *directory {
	for _, b := range d.begins {
		if b.text == text && (b.dirfd == dirfd || text != "" && text[0] == '/') {
			return b.dir
		}
	}
	return nil
}

// find gives the one that is to be used now.
func (d *directories) find(is func(*directory) bool) *directory {
	for _, k := range d.known {
		if is(k) {
			k.used = d.call
			return k
		}
	}
	return nil
}

// add makes room, but not of what this call uses.
func (d *directories) add(n *directory) {
	for len(d.known) >= maxDirectories {
		last := slices.MinFunc(d.known, func(a, b *directory) int { return cmp.Compare(a.used, b.used) })
		if last.used == d.call {
			break
		}
		d.forget(func(k *directory) bool { return k == last })
	}
	n.used = d.call
	d.known = append(d.known, n)
}

// forget lets go of some.
func (d *directories) forget(which func(*directory) bool) (any bool) {
	d.known = slices.DeleteFunc(d.known, func(k *directory) bool {
		if !which(k) {
			return false
		}
		unix.Close(k.fd)
		if k.grant >= 0 {
			unix.Close(k.grant)
		}
		if k == d.in {
			d.in = nil
		}
		any = true
		return true
	})
	return any
}

func (d *directories) drop() { d.forget(func(*directory) bool { return true }) }

// removed lets go of a directory that is gone, which would take room on the disk.
func (w *pinner) removed(l look) {
	w.dirs.forget(func(k *directory) bool { return k.ino == l.Ino && k.dev == l.Dev })
}

// withRoom is an open that does not fail because of what is pinned for later.
func (w *pinner) withRoom(open func() (int, error)) (int, error) {
	fd, err := open()
	if !scarce(err) {
		return fd, err
	}
	if !w.dirs.forget(func(k *directory) bool { return k.used != w.dirs.call }) {
		return fd, err
	}
	return open()
}

// identify looks at a name without following it, or at dir itself with none.
func identify(dir int, name string) (inode, error) {
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	if name == "" {
		flags = unix.AT_EMPTY_PATH
	}
	err := unix.Statx(dir, name, flags, unix.STATX_INO|unix.STATX_MNT_ID, &st)
	return inodeOf(&st), err
}

// sameRoot says whether a directory is the root of this process.
func sameRoot(dir int) bool {
	given, err := identify(dir, "")
	own, e := identify(unix.AT_FDCWD, "/")
	return err == nil && e == nil && given == own
}

func inodeOf(st *unix.Statx_t) inode {
	return inode{unix.Mkdev(st.Dev_major, st.Dev_minor), st.Ino, st.Mnt_id}
}

// enter takes over a directory that has been opened in the mirror.
func (w *pinner) enter(fd int) (*directory, error) {
	id, err := identify(fd, "")
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	if d := w.dirs.find(func(k *directory) bool { return k.inode == id }); d != nil {
		unix.Close(fd)
		return d, nil
	}
	d := &directory{inode: id, fd: fd, grant: -1, located: w.dirs.call - 1}
	w.dirs.add(d)
	return d, nil
}

// straight finds a directory that no link and no ".." is on the way to; nil for any
// other, and where something is wrong.
func (w *pinner) straight(dirfd int32, text string) *directory {
	names, count := plain(text)
	if count == 0 || text == w.dirs.linked {
		return nil
	}
	if text[0] == '/' {
		return w.opened(w.b.config.Mirror, text, "/"+names, inMirror)
	}
	d, err := w.base(dirfd)
	if err != nil || w.locate(d) != nil {
		return nil
	}
	if count > maxLooks {
		return w.opened(d.fd, text, join(d.path, names), below)
	}
	for name := range strings.SplitSeq(names, "/") {
		if d = w.below(d, name); d == nil {
			return nil
		}
	}
	return d
}

// plain gives the names of a path with one slash between them, and how many there are: none
// where a name is "." or "..".
func plain(text string) (names string, count int) {
	names = strings.Trim(text, "/")
	tidy := true
	for name := range strings.SplitSeq(names, "/") {
		switch name {
		case ".", "..":
			return "", 0
		case "":
			tidy = false
		default:
			count++
		}
	}
	if !tidy {
		names = strings.Join(strings.FieldsFunc(names, func(r rune) bool { return r == '/' }), "/")
	}
	return names, count
}

// maxLooks is how many names are looked at one by one. For more, opening all at once is
// quicker.
const maxLooks = 2

// below finds a directory by one name.
func (w *pinner) below(dir *directory, name string) *directory {
	d := w.dirs.find(func(k *directory) bool { return k.above == dir.inode && k.name == name })
	if d != nil {
		if id, err := identify(dir.fd, name); err == nil && id == d.inode {
			if d.located != w.dirs.call {
				d.path, d.located = join(dir.path, name), w.dirs.call
			}
			return d
		}
		d.name = ""
	}
	want := join(dir.path, name)
	if d = w.opened(dir.fd, name, want, below); d != nil && d.path == want && w.spelled(d) {
		d.above, d.name = dir.inode, name
	}
	return d
}

// opened opens a directory without links on the way: want is its path if the kernel
// spells it as the caller does.
func (w *pinner) opened(from int, text, want string, scope uint64) *directory {
	fd, err := w.open(from, text, unix.O_DIRECTORY, scope|unix.RESOLVE_NO_SYMLINKS)
	if err == unix.ELOOP {
		w.dirs.linked = text
	}
	if err != nil {
		return nil
	}
	d, err := w.enter(fd)
	if err != nil {
		return nil
	}
	if d.path == want && w.spelled(d) {
		d.located = w.dirs.call
	}
	if w.locate(d) != nil {
		return nil
	}
	return d
}

// locate asks where a directory is, once in a call.
func (w *pinner) locate(d *directory) error {
	if d.located == w.dirs.call {
		return nil
	}
	path, err := w.dirPath(d)
	if err == nil {
		d.path, d.located = path, w.dirs.call
	}
	return err
}

// spelled says whether the file system of a directory is one where no two spellings mean
// one name, and where two directories never have one inode number. Others may be such:
// they are asked each time.
func (w *pinner) spelled(d *directory) bool {
	exact, known := w.dirs.exact[d.dev]
	if !known {
		var fs unix.Statfs_t
		if unix.Fstatfs(d.fd, &fs) == nil {
			switch fs.Type {
			case unix.EXT4_SUPER_MAGIC, unix.XFS_SUPER_MAGIC, unix.BTRFS_SUPER_MAGIC, unix.TMPFS_MAGIC, unix.F2FS_SUPER_MAGIC, unix.OVERLAYFS_SUPER_MAGIC:
				exact = true
			}
		}
		if w.dirs.exact == nil {
			w.dirs.exact = make(map[uint64]bool)
		}
		w.dirs.exact[d.dev] = exact
	}
	return exact
}

// dirPath is fdPath for a directory that stays pinned. Asking for the working directory
// takes less than half of what procfs does; the thread stays there, as the next
// call is likely to ask again.
func (w *pinner) dirPath(d *directory) (string, error) {
	if w.dirs.in != d {
		if !w.fs.Own() || unix.Fchdir(d.fd) != nil {
			return w.fdPath(d.fd) // one that may not be searched, or all threads would go there
		}
		w.dirs.in = d
	}
	n, err := unix.Getcwd(w.link[:])
	if err == nil {
		// A mirror is mounted nowhere: its root is not ours, unless there are no mounts of
		// the workspace's own.
		at, ok := strings.CutPrefix(string(w.link[:n-1]), "(unreachable)")
		if ok != w.b.ownRoot {
			return at, nil
		}
	}
	return w.fdPath(d.fd)
}
