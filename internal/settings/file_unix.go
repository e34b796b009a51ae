//go:build unix

package settings

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// ownFile refuses what belongs to somebody else, and what has other names,
// which would keep the old content.
func ownFile(info fs.FileInfo) error {
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok:
		return nil
	case int(st.Uid) != os.Geteuid():
		return fmt.Errorf("it belongs to user %d, and you are %d", st.Uid, os.Geteuid())
	case st.Nlink > 1:
		return fmt.Errorf("it has %d names (hard links), and replacing it would part them\nhint: use a symlink, or edit it by hand", st.Nlink)
	}
	return nil
}

// keep gives a new file the group, the extended attributes (with them the
// access control list) and the mode of the old one.
func keep(from *os.File, info fs.FileInfo, to *os.File) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		if now, err := to.Stat(); err == nil && now.Sys().(*syscall.Stat_t).Gid != st.Gid {
			if err := to.Chown(-1, int(st.Gid)); err != nil {
				return fmt.Errorf("keeping its group %d: %w", st.Gid, reason(err))
			}
		}
	}
	if err := to.Chmod(info.Mode().Perm()); err != nil {
		return fmt.Errorf("keeping its mode %04o: %w", info.Mode().Perm(), reason(err))
	}
	return keepAttributes(from, to)
}
