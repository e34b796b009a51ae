package store

import (
	"os"
	"strconv"

	"carrel/internal/history/steplog"

	"golang.org/x/sys/unix"
)

// A journal that its writer closed is read-only, and has its length in an
// attribute where the file system has them: what is missing from it then is no
// step that was interrupted.

const lengthXattr = "user.carrel.length"

// Seal marks a journal as closed; that cannot be wrong, so an error is none.
func Seal(fd int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		_ = unix.Fsetxattr(fd, lengthXattr, strconv.AppendInt(nil, st.Size, 10), 0)
		_ = unix.Fchmod(fd, 0o400)
	}
}

// cutShort says why a journal is not what its writer closed; nil where it is, or was
// never closed.
func cutShort(f *os.File, s *steplog.Segment) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&0o200 != 0 || s.Live {
		return err
	}
	buf := make([]byte, 24)
	n, err := unix.Fgetxattr(int(f.Fd()), lengthXattr, buf)
	if err != nil {
		return s.Cut(-1)
	}
	length, err := strconv.ParseInt(string(buf[:n]), 10, 64)
	if err != nil {
		return s.Cut(-1)
	}
	return s.Cut(length)
}
