//go:build linux

package main

import (
	"fmt"
	"os"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// attributeOps change and read what belongs to an inode.
var attributeOps = []operation{
	{"fchmodat", 12, func(h *hand) string {
		fd, label := h.dirfd()
		p, mode := h.path(), h.mode()
		if h.oneIn(3) && look(fd, p) != "" {
			var st unix.Stat_t
			if unix.Fstatat(fd, p, &st, 0) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
				mode = one[uint32](h, 0o2755, 0o2775, 0o1777, 0o3777)
			}
		}
		if h.removed(fd, p) {
			return "removed"
		}
		err := unix.Fchmodat(fd, p, mode, 0)
		return fmt.Sprintf("%s %s %04o %s %s", label, short(p), mode, result(err), look(fd, p))
	}},
	{"fchmodat2", 4, func(h *hand) string {
		fd, label := h.dirfd()
		p, mode, flags := h.path(), h.mode(), one(h, 0, unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH, 1<<20)
		if h.removed(fd, p) {
			return "removed"
		}
		_, _, e := unix.Syscall6(unix.SYS_FCHMODAT2, uintptr(fd), text(p), uintptr(mode), uintptr(flags), 0, 0)
		return fmt.Sprintf("%s %s %04o %#x %s %s", label, short(p), mode, flags, number(0, e), look(fd, p))
	}},
	{"fchmod", 6, func(h *hand) string {
		fd, label := h.slot()
		mode := h.mode()
		if h.removed(fd, "") {
			return "removed"
		}
		return fmt.Sprintf("%s %04o %s %s", label, mode, result(unix.Fchmod(fd, mode)), describe(fd))
	}},
	{"fchownat", 6, func(h *hand) string {
		fd, label := h.dirfd()
		p, uid, gid, flags := h.path(), one(h, -1, os.Getuid()), one(h, -1, os.Getgid()), one(h, 0, unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH)
		if h.removed(fd, p) {
			return "removed"
		}
		err := unix.Fchownat(fd, p, uid, gid, flags)
		return fmt.Sprintf("%s %s %d:%d %#x %s %s", label, short(p), uid, gid, flags, result(err), look(fd, p))
	}},
	{"fchown", 3, func(h *hand) string {
		fd, label := h.slot()
		if h.removed(fd, "") {
			return "removed"
		}
		return label + " " + result(unix.Fchown(fd, -1, os.Getgid())) + " " + describe(fd)
	}},
	{"utimensat", 12, doTimes},
	{"futimens", 5, func(h *hand) string {
		fd, label := h.slot()
		ts := h.times()
		if h.removed(fd, "") {
			return "removed"
		}
		_, _, e := unix.Syscall6(unix.SYS_UTIMENSAT, uintptr(fd), 0, uintptr(unsafe.Pointer(ts)), 0, 0, 0)
		return fmt.Sprintf("%s %v %s %s", label, *ts, number(0, e), describe(fd))
	}},
	{"setxattr", 8, func(h *hand) string {
		p, name, flags := h.path(), h.attribute(), one(h, 0, 0, unix.XATTR_CREATE, unix.XATTR_REPLACE, 8)
		value := h.bytes(one(h, 0, 1, 20, 300, 65537))
		if h.removed(unix.AT_FDCWD, p) {
			return "removed"
		}
		set := unix.Setxattr
		if h.oneIn(3) {
			set = unix.Lsetxattr
		}
		return fmt.Sprintf("%s %s %d bytes %#x %s", short(p), short(name), len(value), flags, result(set(p, name, value, flags)))
	}},
	{"removexattr", 4, func(h *hand) string {
		p, name := h.path(), h.attribute()
		if h.removed(unix.AT_FDCWD, p) {
			return "removed"
		}
		return fmt.Sprintf("%s %s %s %s", short(p), short(name), result(unix.Removexattr(p, name)), attributes(p))
	}},
	{"fsetxattr", 4, func(h *hand) string {
		fd, label := h.slot()
		name := h.attribute()
		if h.removed(fd, "") {
			return "removed"
		}
		return fmt.Sprintf("%s %s %s then remove %s", label, short(name), result(unix.Fsetxattr(fd, name, []byte("v"), 0)), result(unix.Fremovexattr(fd, "user.two")))
	}},
	{"default ACL", 4, func(h *hand) string {
		p, mask := h.path(), one[byte](h, 7, 5, 0)
		if h.removed(unix.AT_FDCWD, p) {
			return "removed"
		}
		return fmt.Sprintf("%s mask %d %s", short(p), mask, result(unix.Setxattr(p, "system.posix_acl_default", acl(mask), 0)))
	}},
	{"stat", 10, func(h *hand) string {
		fd, label := h.dirfd()
		p := h.path()
		var st unix.Stat_t
		if err := unix.Fstatat(fd, p, &st, 0); err != nil {
			return label + " " + short(p) + " " + result(err)
		}
		return label + " " + short(p) + " " + stat(&st)
	}},
	{"lstat", 6, func(h *hand) string {
		p := h.path()
		return short(p) + " " + look(unix.AT_FDCWD, p) + " " + attributes(p)
	}},
	{"faccessat2", 14, func(h *hand) string {
		fd, label := h.dirfd()
		p, mode, flags := h.path(), one[uint32](h, unix.W_OK, unix.W_OK|unix.R_OK, unix.R_OK, unix.X_OK, 0, 16), one(h, 0, 0, unix.AT_EACCESS, unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH)
		_, _, e := unix.Syscall6(unix.SYS_FACCESSAT2, uintptr(fd), text(p), uintptr(mode), uintptr(flags), 0, 0)
		return fmt.Sprintf("%s %s %d %#x %s", label, short(p), mode, flags, number(0, e))
	}},
	{"access", 6, func(h *hand) string {
		p, mode := h.path(), one[uint32](h, unix.W_OK, unix.R_OK, unix.X_OK)
		return fmt.Sprintf("%s %d %s", short(p), mode, result(unix.Access(p, mode)))
	}},
	{"statfs", 4, func(h *hand) string {
		p := h.path()
		var st unix.Statfs_t
		err := unix.Statfs(p, &st)
		return fmt.Sprintf("%s %s type=%#x readonly=%d namelen=%d", short(p), result(err), st.Type, st.Flags&unix.ST_RDONLY, st.Namelen)
	}},
	{"fstatfs", 3, func(h *hand) string {
		fd, label := h.slot()
		var st unix.Statfs_t
		err := unix.Fstatfs(fd, &st)
		if st.Type == unix.PROC_SUPER_MAGIC {
			st.Flags = 0 // bare, root has it read-only: see contain
		}
		return fmt.Sprintf("%s %s type=%#x readonly=%d", label, result(err), st.Type, st.Flags&unix.ST_RDONLY)
	}},
	{"inode flags", 4, func(h *hand) string {
		fd, label := h.slot()
		if h.removed(fd, "") || unreadable(fd) {
			return "removed or unreadable"
		}
		old, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
		if err != nil {
			return label + " get " + result(err)
		}
		const noDump = 0x40
		old ^= noDump
		return fmt.Sprintf("%s dump=%v %s", label, old&noDump == 0, result(unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, old)))
	}},
}

// removed says whether the name that something was found by is gone, and it is
// held in a way that cannot change it: a working directory, a FIFO, or open for
// reading. What a change of its metadata gives is a known deviation, see
// docs/deviations.md.
func (h *hand) removed(fd int, path string) bool {
	var st unix.Stat_t
	if unix.Fstatat(fd, path, &st, unix.AT_EMPTY_PATH) != nil {
		return false
	}
	if path != "" {
		return st.Nlink == 0
	}
	// The other names of a hard link do not help: nobody knows them.
	name, err := os.Readlink(fmt.Sprintf("/proc/thread-self/fd/%d", fd))
	if st.Nlink != 0 && (err != nil || !strings.HasSuffix(name, " (deleted)")) {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return st.Mode&unix.S_IFMT != unix.S_IFREG || err != nil || flags&unix.O_ACCMODE == unix.O_RDONLY
}

// elsewhere says whether a file has lost the name that it was opened by, and has
// others: it is not opened for writing once more, a known deviation.
func elsewhere(fd int) bool {
	var st unix.Stat_t
	name, err := os.Readlink(fmt.Sprintf("/proc/thread-self/fd/%d", fd))
	return err == nil && strings.HasSuffix(name, " (deleted)") && unix.Fstat(fd, &st) == nil && st.Nlink > 0
}

// unreadable says whether a descriptor is for reading only, of something that
// its owner may not open any more: its inode flags are a known deviation.
func unreadable(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	dir := st.Mode&unix.S_IFMT == unix.S_IFDIR
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDONLY && (dir && st.Mode&0o400 == 0 || st.Mode&0o600 == 0)
}

func doTimes(h *hand) string {
	fd, label := h.dirfd()
	p, ts, flags := h.path(), h.times(), one(h, 0, 0, unix.AT_SYMLINK_NOFOLLOW, unix.AT_EMPTY_PATH, 1<<20)
	if h.removed(fd, p) {
		return "removed"
	}
	err := unix.UtimesNanoAt(fd, p, ts[:], flags)
	return fmt.Sprintf("%s %s %v %#x %s %s", label, short(p), *ts, flags, result(err), look(fd, p))
}

// times are long ago, now, left as they are, or invalid.
func (h *hand) times() *[2]unix.Timespec {
	var ts [2]unix.Timespec
	for i := range ts {
		ts[i] = unix.Timespec{Sec: int64(h.random.IntN(1_000_000_000)), Nsec: int64(h.random.IntN(1_000_000_000))}
		switch h.random.IntN(8) {
		case 0:
			ts[i].Nsec = unix.UTIME_NOW
		case 1:
			ts[i].Nsec = unix.UTIME_OMIT
		case 2:
			ts[i].Nsec = one[int64](h, 1_000_000_000, -1)
		}
	}
	return &ts
}

func (h *hand) attribute() string {
	return one(h, "user.one", "user.one", "user.two", "user.", "nothing.x", "")
}

// acl is a default list of access rights without names: user, group, mask and
// others, as the kernel stores it.
func acl(mask byte) []byte {
	b := []byte{2, 0, 0, 0}
	for _, e := range [][2]byte{{0x01, 7}, {0x04, 7}, {0x10, mask}, {0x20, 5}} {
		b = append(b, e[0], 0, e[1], 0, 0xff, 0xff, 0xff, 0xff)
	}
	return b
}
