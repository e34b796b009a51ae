package dircache

import (
	"encoding/binary"
	"fmt"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	openFlags = unix.O_RDONLY | unix.O_DIRECTORY | unix.O_NOFOLLOW | unix.O_CLOEXEC
	statFlags = unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT
	wanted    = unix.STATX_TYPE | unix.STATX_INO | unix.STATX_SIZE | unix.STATX_NLINK | unix.STATX_CTIME | unix.STATX_MTIME
)

// systems are the kinds of file systems that change a directory's time with every entry of
// it. true are those that may encrypt names: they have to say that they do not. Not among
// them are layers over others (overlayfs), networks and FUSE: another machine or program may change a
// directory there.
var systems = map[uint64]bool{
	unix.EXT4_SUPER_MAGIC:  true, // of ext2 and ext3, too
	unix.F2FS_SUPER_MAGIC:  true,
	unix.XFS_SUPER_MAGIC:   false,
	unix.BTRFS_SUPER_MAGIC: false,
	unix.TMPFS_MAGIC:       false,
}

// Begin opens a tree that is a directory and no link. about says what else decides which
// names matter; old are the bytes of an earlier walk. now is before all that is done.
func Begin(place, about string, old []byte, now time.Time) (*Walk, error) {
	top, err := unix.Open(place, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("opening %q: %w", place, err)
	}
	w := newWalk(place, surroundings(place, about), old, now)
	w.top = top
	return w, nil
}

// Close lets the tree go.
func (w *Walk) Close() { _ = unix.Close(w.top) }

// surroundings is all that an entry is right for: the tree, the user, this start of the
// machine and this program. nil where one of them cannot be told.
func surroundings(place, about string) []byte {
	boot := make([]byte, 64)
	fd, err := unix.Open("/proc/sys/kernel/random/boot_id", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	n, err := unix.Read(fd, boot)
	_ = unix.Close(fd)
	var self unix.Stat_t
	if err != nil || n <= 0 || unix.Stat("/proc/self/exe", &self) != nil {
		return nil
	}
	program := fmt.Sprint(self.Dev, self.Ino, self.Size, self.Mtim, self.Ctim)
	return fmt.Appendf(nil, "%q %d %q %q %q", place, unix.Geteuid(), boot[:n], program, about)
}

// List gives what a directory below the tree holds, of the names that matter, and puts it
// into the slot, where what is known of it is found: [Walk.Root], or the Sub of an entry.
// buf is room for some entries. An error leaves the slot empty; with it comes what was
// found before it, or nil.
func (w *Walk) List(rel string, slot **Dir, buf []byte, matters func(name string, dir bool) bool) (*Dir, error) {
	w.dirs.Add(1)
	was := *slot
	*slot = nil
	if len(w.place)+len("/")+len(rel) >= unix.PathMax {
		return nil, unix.ENAMETOOLONG // as for all who go there by its path
	}
	if rel == "" {
		rel = "."
	}
	if was != nil && was.known && w.unchanged(rel, was) {
		*slot = was
		return was, nil
	}
	fd, err := unix.Openat(w.top, rel, openFlags|unix.O_NOATIME, 0)
	if err == unix.EPERM {
		fd, err = unix.Openat(w.top, rel, openFlags, 0)
	}
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	s, sure := w.look(fd) // before the entries: what comes meanwhile is a later change
	var entries []Entry
	err = Names(fd, buf, func(name string, kind byte) {
		dir := kind == unix.DT_DIR
		if kind == unix.DT_UNKNOWN { // some file systems do not say
			sure = false
			var st unix.Stat_t
			dir = unix.Fstatat(fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR
		}
		if matters(name, dir) {
			entries = append(entries, Entry{Name: strings.Clone(name), Dir: dir})
		}
	})
	if err != nil {
		return &Dir{Entries: entries}, err
	}
	*slot = w.listed(was, entries, s, sure)
	return *slot, nil
}

// unchanged reports whether a directory is what it was when it was listed. Where another
// one has come in its place, or a link on the way there, it is not.
func (w *Walk) unchanged(rel string, was *Dir) bool {
	var st unix.Statx_t
	if unix.Statx(w.top, rel, statFlags, wanted, &st) != nil {
		return false
	}
	s, whole := stampOf(&st)
	if !whole || s != was.stamp {
		return false
	}
	return w.met(s.dev, func(to *unix.Statfs_t) error {
		fd, err := unix.Openat(w.top, rel, unix.O_PATH|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		var again unix.Stat_t
		if err := unix.Fstat(fd, &again); err != nil || again.Dev != s.dev {
			return unix.ESTALE
		}
		return unix.Fstatfs(fd, to)
	}, true)
}

// look gives the stamp of an open directory, and whether it can stand for the entries.
func (w *Walk) look(fd int) (s stamp, sure bool) {
	var st unix.Statx_t
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, wanted, &st) != nil {
		return stamp{}, false
	}
	s, whole := stampOf(&st)
	if !whole || !w.met(s.dev, func(to *unix.Statfs_t) error { return unix.Fstatfs(fd, to) }, false) {
		return s, false
	}
	w.checked.Lock()
	defer w.checked.Unlock()
	return s, plain(w.now[s.dev].kind, st.Attributes, st.Attributes_mask)
}

// plain reports whether a directory's names do not change with a key that is brought or
// taken away, by what the kernel says of it.
func plain(kind, attributes, said uint64) bool {
	return attributes&unix.STATX_ATTR_ENCRYPTED == 0 && (!systems[kind] || said&unix.STATX_ATTR_ENCRYPTED != 0)
}

// met reports whether directories of a file system can be known by their stamps: it is of
// the right kind, and, for what was known before, the one that had this number then.
func (w *Walk) met(dev uint64, ask func(*unix.Statfs_t) error, same bool) bool {
	w.checked.Lock()
	defer w.checked.Unlock()
	is, asked := w.now[dev]
	if !asked {
		var st unix.Statfs_t
		if ask(&st) != nil {
			return false
		}
		is = fileSystem{uint64(uint32(st.Type)), uint64(uint32(st.Fsid.Val[0])) | uint64(uint32(st.Fsid.Val[1]))<<32}
		if _, good := systems[is.kind]; !good {
			is = fileSystem{}
		}
		w.now[dev] = is
	}
	return is != fileSystem{} && (!same || is == w.before[dev])
}

// stampOf reports whether the kernel has said all that was wanted, and that it is of a
// directory.
func stampOf(st *unix.Statx_t) (stamp, bool) {
	return stamp{
		dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino, size: st.Size, nlink: st.Nlink,
		ctime: moment{st.Ctime.Sec, st.Ctime.Nsec}, mtime: moment{st.Mtime.Sec, st.Mtime.Nsec},
	}, st.Mask&wanted == wanted && st.Mode&unix.S_IFMT == unix.S_IFDIR
}

// Names calls do for each entry of an open directory, with its type as in dirent.h; a name
// keeps all of buf in memory. buf is room for some entries.
func Names(fd int, buf []byte, do func(name string, kind byte)) error {
	for {
		n, err := unix.Getdents(fd, buf)
		if err == unix.EINTR {
			continue
		}
		if err != nil || n <= 0 {
			return err
		}
		all := string(buf[:n])
		for at := 0; at < n; {
			e := buf[at:n] // struct linux_dirent64 of linux/dirent.h
			size := int(binary.NativeEndian.Uint16(e[16:]))
			name, _, _ := strings.Cut(all[at+19:at+size], "\x00")
			at += size
			if name != "." && name != ".." {
				do(name, e[18])
			}
		}
	}
}
