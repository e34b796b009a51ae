package history

import (
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// A journal that its writer closed is read-only, and has its length in an
// attribute where the file system has them: what is missing from it then is no
// step that was interrupted.

const lengthXattr = "user.carrel.length"

// seal marks a journal as closed; that cannot be wrong, so an error is none.
func seal(fd int) {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) == nil {
		_ = unix.Fsetxattr(fd, lengthXattr, strconv.AppendInt(nil, st.Size, 10), 0)
		_ = unix.Fchmod(fd, 0o400)
	}
}

// cut says why a journal of which some bytes are whole records is not what its
// writer closed; nil where it is, or was never closed.
func (s *segment) cut(f *os.File) error {
	var st unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &st); err != nil || st.Mode&0o200 != 0 || s.live {
		return err
	}
	buf := make([]byte, 24)
	if n, err := unix.Fgetxattr(int(f.Fd()), lengthXattr, buf); err == nil {
		if length, err := strconv.ParseInt(string(buf[:n]), 10, 64); err == nil && s.whole < length {
			return fmt.Errorf("it was cut short: %d of %d bytes are left", s.whole, length)
		}
	}
	for _, step := range s.steps {
		if step.End == nil {
			return errors.New("it was cut short: its writer had closed it, and the end of a step is missing")
		}
	}
	return nil
}
