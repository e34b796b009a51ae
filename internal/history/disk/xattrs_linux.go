package disk

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"carrel/internal/history/journal"
)

// keptXattr reports whether an attribute is one of those that are kept and restored.
func keptXattr(name string) bool {
	return strings.HasPrefix(name, journal.UserXattrs) || name == "system.posix_acl_access" || name == "system.posix_acl_default"
}

// Bounds of all of one object.
const (
	maxXattrs  = 64 << 10 // bytes, with their names
	manyXattrs = 2000     // fewer than a record may hold
)

// XattrsOf reads the attributes of what is at a name in a directory, of the
// directory itself where the name is "". unread says that there are some that the mode
// keeps from being read: also the owner's.
func XattrsOf(dir int, name string) (all map[string][]byte, unread bool, err error) {
	buf := make([]byte, 256)
	n, err := listXattrs(dir, name, buf)
	if err == unix.ERANGE {
		buf = make([]byte, 64<<10)
		n, err = listXattrs(dir, name, buf)
	}
	if errors.Is(err, unix.EOPNOTSUPP) || err == unix.ENOENT {
		return nil, false, nil
	}
	if err != nil || n == 0 {
		return nil, false, err
	}
	all = make(map[string][]byte)
	total := 0
	for _, key := range bytes.Split(bytes.TrimRight(buf[:n], "\x00"), []byte{0}) {
		if !keptXattr(string(key)) {
			continue
		}
		value := make([]byte, 64<<10)
		n, err := getXattr(dir, name, string(key), value)
		if err == unix.EACCES {
			unread = true
		}
		if err == unix.ENODATA || err == unix.EACCES {
			continue
		}
		if err != nil {
			return nil, false, err
		}
		if total += len(key) + n; total > maxXattrs || len(all) >= manyXattrs {
			return nil, false, unix.E2BIG
		}
		all[string(key)] = slices.Clone(value[:n])
	}
	if len(all) == 0 {
		all = nil
	}
	return all, unread, nil
}

// olderKernel says that there is no listxattrat(2), which Linux 6.13 brought.
var olderKernel atomic.Bool

// listXattrs is listxattr(2) for a name in a directory: without a walk through
// procfs where the kernel can do that.
func listXattrs(dir int, name string, buf []byte) (int, error) {
	if name == "" {
		return unix.Listxattr(ProcPath(dir), buf)
	}
	if olderKernel.Load() {
		return unix.Llistxattr(procName(dir, name), buf)
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
		return unix.Llistxattr(procName(dir, name), buf)
	}
	return 0, e
}

// The calls below reach what a descriptor pins through its link in procfs, which they
// follow; a name in a directory is never followed.

func getXattr(dir int, name, key string, value []byte) (int, error) {
	if name == "" {
		return unix.Getxattr(ProcPath(dir), key, value)
	}
	return unix.Lgetxattr(procName(dir, name), key, value)
}

func setXattr(dir int, name, key string, value []byte) error {
	if err := Try("setxattr"); err != nil {
		return err
	}
	if name == "" {
		return unix.Setxattr(ProcPath(dir), key, value, 0)
	}
	return unix.Lsetxattr(procName(dir, name), key, value, 0)
}

func removeXattr(dir int, name, key string) error {
	if err := Try("removexattr"); err != nil {
		return err
	}
	if name == "" {
		return unix.Removexattr(ProcPath(dir), key)
	}
	return unix.Lremovexattr(procName(dir, name), key)
}

func procName(dir int, name string) string { return ProcPath(dir) + "/" + name }

// setXattrs gives an object, which is in the state now, the attributes of another state.
// Those that either does not know stay.
func setXattrs(dir int, name string, now, st *journal.State) error {
	if now.Unread && !st.Unread || now.Mode&ownerAll != ownerAll && !journal.AgreeXattrs(now, st) {
		return setHiddenXattrs(dir, name, st)
	}
	return setKnownXattrs(dir, name, now, st)
}

// ownerAll is what the owner needs to read and to set attributes.
const ownerAll = 0o600

// setHiddenXattrs is setXattrs of what its mode keeps its owner from: that is another one
// for a moment.
func setHiddenXattrs(dir int, name string, st *journal.State) error {
	pin, err := unix.Openat(dir, DirName(name), unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(pin)
	defer Widened(pin, ownerAll)()
	now, err := StateAt(pin, "", WithXattrs)
	if err == nil && now.Kind != st.Kind {
		err = ErrChanged
	}
	if err != nil {
		return err
	}
	return setKnownXattrs(pin, "", &now, st)
}

func setKnownXattrs(dir int, name string, now, st *journal.State) error {
	if journal.AgreeXattrs(now, st) {
		return nil
	}
	for _, k := range slices.Sorted(maps.Keys(now.Xattrs)) {
		if _, ok := st.Xattrs[k]; ok || !st.Knows(k) {
			continue
		}
		if err := removeXattr(dir, name, k); err != nil && err != unix.ENODATA {
			return err
		}
	}
	for _, k := range slices.Sorted(maps.Keys(st.Xattrs)) {
		if old, ok := now.Xattrs[k]; ok && bytes.Equal(old, st.Xattrs[k]) {
			continue
		}
		if err := setXattr(dir, name, k, st.Xattrs[k]); err != nil {
			return err
		}
	}
	return nil
}
