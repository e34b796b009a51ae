package history

import (
	"os"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
)

// possible says whether the kernel would let the caller's user make a change that
// destroys what is at a path: nobody is asked about one that fails in any case.
func (w *Writer) possible(op Op, path string) bool {
	dir, name, err := w.parent(path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	if op == Content {
		return unix.Faccessat2(dir, name, unix.W_OK, unix.AT_EACCESS|unix.AT_SYMLINK_NOFOLLOW) == nil
	}
	if unix.Faccessat2(dir, "", unix.W_OK|unix.X_OK, unix.AT_EACCESS|unix.AT_EMPTY_PATH) != nil {
		return false
	}
	above, err := disk.StateAt(dir, "", 0)
	if err != nil || above.Mode&unix.S_ISVTX == 0 {
		return err == nil
	}
	st, err := disk.StateAt(dir, name, 0) // in a shared directory names belong to users
	own := uint32(os.Geteuid())
	return err == nil && (st.UID == own || above.UID == own)
}
