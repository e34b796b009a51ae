package disk

import (
	"strconv"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

const (
	wanted = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID
	// WithXattrs asks StateAt for the attributes too.
	WithXattrs = 1
	// AllXattrs makes it an error if they are more than are kept.
	AllXattrs = 3
)

// StateAt looks at a name in a directory, at the directory itself where the name
// is "". What is not there is Absent and no error.
func StateAt(dir int, name string, with int) (journal.State, error) {
	s, _, err := MountedAt(dir, name, with)
	return s, err
}

// MountedAt is StateAt that also says which mount that is on, 0 where it is not
// known.
func MountedAt(dir int, name string, with int) (s journal.State, mount uint64, err error) {
	if err := Try("look"); err != nil {
		return journal.State{}, 0, err
	}
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if err := unix.Statx(dir, name, flags, wanted, &st); err == unix.ENOENT || err == unix.ENOTDIR {
		return journal.State{}, 0, nil
	} else if err != nil {
		return journal.State{}, 0, err
	}
	s = journal.State{
		Kind: KindOf(uint32(st.Mode)), Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid,
		Mtime: Nanoseconds(st.Mtime), Ctime: Nanoseconds(st.Ctime), Links: st.Nlink,
		ID: journal.ID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.ID.Birth = Nanoseconds(st.Btime)
	}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		mount = st.Mnt_id
	}
	if s.Kind == journal.File {
		s.Size = int64(st.Size)
	}
	if Seen != nil {
		Seen(&s)
	}
	if s.Kind == journal.Symlink {
		buf := make([]byte, pathMax)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return journal.State{}, 0, err
		}
		s.Target = journal.Bytes(buf[:n])
		return s, mount, nil
	}
	if with&WithXattrs != 0 && s.Kind != journal.Other { // pipes and sockets have access control lists
		s.Xattrs, s.Unread, err = XattrsOf(dir, name)
		if err == unix.E2BIG && with&AllXattrs != AllXattrs {
			return s, mount, nil // who only compares or moves it does without
		}
		if err != nil {
			return journal.State{}, 0, err
		}
	}
	return s, mount, nil
}

// Nanoseconds is a time of the kernel as a [journal.State] has it.
func Nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

// KindOf is the type of an object by its mode.
func KindOf(mode uint32) journal.Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return journal.File
	case unix.S_IFDIR:
		return journal.Dir
	case unix.S_IFLNK:
		return journal.Symlink
	case unix.S_IFIFO:
		return journal.FIFO
	case unix.S_IFSOCK:
		return journal.Socket
	}
	return journal.Other
}

// ProcPath names something that is pinned, for calls that take no descriptor
// for paths only.
func ProcPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// OnTwoMounts says whether nothing can be moved from one directory to the other. Descriptors
// that are not known, 0 or less, are on no two.
func OnTwoMounts(a, b int) bool {
	var one, other unix.Statx_t
	for fd, st := range map[int]*unix.Statx_t{a: &one, b: &other} {
		if fd <= 0 || unix.Statx(fd, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, st) != nil {
			return false
		}
	}
	return a != b && one.Mask&other.Mask&unix.STATX_MNT_ID != 0 && one.Mnt_id != other.Mnt_id
}
