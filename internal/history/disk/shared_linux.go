package disk

import (
	"os"

	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// MayRename says whether the kernel would let the caller's user take a name in a directory
// from something of this owner.
func MayRename(dir int, owner uint32) bool {
	if unix.Faccessat2(dir, "", unix.W_OK|unix.X_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) != nil {
		return false
	}
	above, err := StateAt(dir, "", 0)
	own := uint32(os.Geteuid()) // in a shared directory names belong to users
	return err == nil && (above.Mode&unix.S_ISVTX == 0 || owner == own || above.UID == own)
}

// Fixed says whether a name belongs to this file as long as another user wants it to: the
// directory is that user's, and the caller's may not put another file there.
func Fixed(roots []Root, path string, owner uint32) bool {
	dir, _, err := ParentIn(roots, path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	above, err := StateAt(dir, "", 0)
	return err == nil && above.UID != uint32(os.Geteuid()) && !MayRename(dir, owner)
}

// Immovable gives what cannot be changed at a path, or the directory in which names cannot
// be changed: it has the attribute i or a, see chattr(1). "" is nothing.
func (d *DirWalk) Immovable(path string) string {
	dir, name, err := d.Parent(path)
	if err != nil {
		return ""
	}
	for _, at := range []struct{ name, path string }{{"", pathname.Parent(path)}, {name, path}} {
		var st unix.Statx_t
		flags := unix.AT_SYMLINK_NOFOLLOW | unix.AT_NO_AUTOMOUNT | unix.AT_EMPTY_PATH
		err := unix.Statx(dir, at.name, flags, 0, &st)
		if err == nil && st.Attributes&(unix.STATX_ATTR_IMMUTABLE|unix.STATX_ATTR_APPEND) != 0 {
			return at.path
		}
	}
	return ""
}
