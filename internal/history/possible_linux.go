package history

import (
	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
)

// possible says whether the kernel would let the caller's user make a change that
// destroys what is at a path: nobody is asked about one that fails in any case.
func (w *Writer) possible(c *Change, path string) bool {
	if (c.Op == Rename || c.Op == Exchange) && !c.Copied && onTwoMounts(c.Dir, c.ToDir) {
		return false
	}
	dir, name, err := w.parent(path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	if c.Op == Content {
		return unix.Faccessat2(dir, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	st, err := disk.StateAt(dir, name, 0)
	return err == nil && disk.MayRename(dir, st.UID)
}

// onTwoMounts says whether nothing can be moved from one directory to the other.
func onTwoMounts(a, b int) bool {
	var one, other unix.Statx_t
	if a <= 0 || b <= 0 || unix.Statx(a, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &one) != nil || unix.Statx(b, "", unix.AT_EMPTY_PATH, unix.STATX_MNT_ID, &other) != nil {
		return false
	}
	return one.Mask&other.Mask&unix.STATX_MNT_ID != 0 && one.Mnt_id != other.Mnt_id
}
