package history

import (
	"bytes"
	"errors"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	wanted = unix.STATX_BASIC_STATS | unix.STATX_BTIME
	// withXattrs asks stateAt for the attributes too.
	withXattrs = 1
	// allXattrs makes it an error if they are more than are kept.
	allXattrs = 3
)

// stateAt looks at a name in a directory, at the directory itself where the name
// is "". What is not there is Absent and no error.
func stateAt(dir int, name string, with int) (State, error) {
	if err := try("look"); err != nil {
		return State{}, err
	}
	var st unix.Statx_t
	flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_STATX_DONT_SYNC
	if name == "" {
		flags |= unix.AT_EMPTY_PATH
	}
	if err := unix.Statx(dir, name, flags, wanted, &st); err == unix.ENOENT || err == unix.ENOTDIR {
		return State{}, nil
	} else if err != nil {
		return State{}, err
	}
	s := State{
		Kind: kindOf(uint32(st.Mode)), Mode: uint32(st.Mode) & 0o7777, UID: st.Uid, GID: st.Gid,
		Mtime: nanoseconds(st.Mtime), Ctime: nanoseconds(st.Ctime), Links: st.Nlink,
		ID: ID{Dev: unix.Mkdev(st.Dev_major, st.Dev_minor), Ino: st.Ino},
	}
	if st.Mask&unix.STATX_BTIME != 0 {
		s.ID.Birth = nanoseconds(st.Btime)
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
			return State{}, err
		}
		s.Target = Bytes(buf[:n])
		return s, nil
	}
	if with&withXattrs != 0 && (s.Kind == File || s.Kind == Dir) {
		var err error
		s.Xattrs, err = xattrsOf(dir, name)
		if err == unix.E2BIG && with&allXattrs != allXattrs {
			return s, nil // who only compares or moves it does without
		}
		if err != nil {
			return State{}, err
		}
	}
	return s, nil
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
	n, err := unix.Llistxattr(at, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 64<<10)
		n, err = unix.Llistxattr(at, buf)
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
