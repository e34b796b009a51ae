package history

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"
)

const (
	wanted = unix.STATX_BASIC_STATS | unix.STATX_BTIME | unix.STATX_MNT_ID
	// withXattrs asks stateAt for the attributes too.
	withXattrs = 1
	// allXattrs makes it an error if they are more than are kept.
	allXattrs = 3
)

// stateAt looks at a name in a directory, at the directory itself where the name
// is "". What is not there is Absent and no error.
func stateAt(dir int, name string, with int) (State, error) {
	s, _, err := mountedAt(dir, name, with)
	return s, err
}

// mountedAt is stateAt that also says which mount that is on, 0 where it is not
// known.
func mountedAt(dir int, name string, with int) (s State, mount uint64, err error) {
	if err := try("look"); err != nil {
		return State{}, 0, err
	}
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if err := unix.Statx(dir, name, flags, wanted, &st); err == unix.ENOENT || err == unix.ENOTDIR {
		return State{}, 0, nil
	} else if err != nil {
		return State{}, 0, err
	}
	s = State{
		Kind: kindOf(uint32(st.Mode)), Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid,
		Mtime: nanoseconds(st.Mtime), Ctime: nanoseconds(st.Ctime), Links: st.Nlink,
		ID: ID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.ID.Birth = nanoseconds(st.Btime)
	}
	if st.Mask&unix.STATX_MNT_ID != 0 {
		mount = st.Mnt_id
	}
	if s.Kind == File {
		s.Size = int64(st.Size)
	}
	if seen != nil {
		seen(&s)
	}
	if s.Kind == Symlink {
		buf := make([]byte, pathMax)
		n, err := unix.Readlinkat(dir, name, buf)
		if err != nil {
			return State{}, 0, err
		}
		s.Target = Bytes(buf[:n])
		return s, mount, nil
	}
	if with&withXattrs != 0 && (s.Kind == File || s.Kind == Dir) {
		s.Xattrs, err = xattrsOf(dir, name)
		if err == unix.E2BIG && with&allXattrs != allXattrs {
			return s, mount, nil // who only compares or moves it does without
		}
		if err != nil {
			return State{}, 0, err
		}
	}
	return s, mount, nil
}

func nanoseconds(t unix.StatxTimestamp) int64 { return t.Sec*1e9 + int64(t.Nsec) }

func kindOf(mode uint32) Kind {
	switch mode & unix.S_IFMT {
	case unix.S_IFREG:
		return File
	case unix.S_IFDIR:
		return Dir
	case unix.S_IFLNK:
		return Symlink
	case unix.S_IFIFO:
		return FIFO
	case unix.S_IFSOCK:
		return Socket
	}
	return Other
}

// procPath names something that is pinned, for calls that take no descriptor
// for paths only.
func procPath(fd int) string { return "/proc/self/fd/" + strconv.Itoa(fd) }

// kept are the attributes that are kept and restored.
func keptXattr(name string) bool {
	return strings.HasPrefix(name, "user.") || name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

// Bounds of all of one object.
const (
	maxXattrs  = 64 << 10 // bytes, with their names
	manyXattrs = 2000     // fewer than a record may hold
)

func xattrsOf(dir int, name string) (map[string][]byte, error) {
	at := procPath(dir)
	if name != "" {
		at += "/" + name
	}
	buf := make([]byte, 256)
	n, err := listXattrs(dir, name, at, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 64<<10)
		n, err = listXattrs(dir, name, at, buf)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || err == unix.ENOENT {
		return nil, nil
	}
	if err != nil || n == 0 {
		return nil, err
	}
	out := make(map[string][]byte)
	total := 0
	for _, key := range bytes.Split(bytes.TrimRight(buf[:n], "\x00"), []byte{0}) {
		if !keptXattr(string(key)) {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := unix.Lgetxattr(at, string(key), value)
		if err == unix.ENODATA || err == unix.EACCES { // of a file that its owner may not read
			continue
		}
		if err != nil {
			return nil, err
		}
		if total += len(key) + n; total > maxXattrs || len(out) >= manyXattrs {
			return nil, unix.E2BIG
		}
		out[string(key)] = slices.Clone(value[:n])
	}
	if len(out) == 0 {
		return nil, nil
	}
	return out, nil
}

// olderKernel says that there is no listxattrat(2), which Linux 6.13 brought.
var olderKernel atomic.Bool

// listXattrs is listxattr(2) for a name in a directory, which is at as well:
// without a walk through procfs where the kernel can do that.
func listXattrs(dir int, name, at string, buf []byte) (int, error) {
	if name == "" || olderKernel.Load() {
		return unix.Llistxattr(at, buf)
	}
	p, err := unix.BytePtrFromString(name)
	if err != nil {
		return 0, err
	}
	n, _, e := unix.Syscall6(unix.SYS_LISTXATTRAT, uintptr(dir), uintptr(unsafe.Pointer(p)), unix.AT_SYMLINK_NOFOLLOW,
		uintptr(unsafe.Pointer(&buf[0])), uintptr(len(buf)), 0)
	switch e {
	case 0:
		return int(n), nil
	case unix.ENOSYS, unix.EPERM: // or a filter around us does not know it
		olderKernel.Store(true)
		return unix.Llistxattr(at, buf)
	}
	return 0, e
}
