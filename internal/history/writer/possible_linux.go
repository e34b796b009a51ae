package writer

import (
	"carrel/internal/history/disk"

	"golang.org/x/sys/unix"
)

// possible says whether the kernel would let the caller's user make a change that
// destroys what is at a path: nobody is asked about one that fails in any case.
func (w *Writer) possible(c *Change, path string) bool {
	if (c.Op == Rename || c.Op == Exchange) && !c.Copied && disk.OnTwoMounts(c.Dir, c.ToDir) {
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
