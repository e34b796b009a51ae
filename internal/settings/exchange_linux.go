package settings

import (
	"bytes"
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// exchange puts what is staged in place of the file, and looks at what came out: a writer
// of the last moment gets theirs back. What was there has the staged name then.
func (f *File) exchange(text []byte) error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	swap := func() error {
		return unix.Renameat2(int(dir.Fd()), f.staged, int(dir.Fd()), f.base, unix.RENAME_EXCHANGE)
	}
	if err := swap(); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) || errors.Is(err, unix.EOPNOTSUPP) {
		return f.root.Rename(f.staged, f.base) // this file system cannot
	} else if errors.Is(err, unix.ENOENT) {
		return ErrChanged
	} else if err != nil {
		return err
	}
	out, err := f.stagedText()
	if err == nil && bytes.Equal(out, f.Text) {
		return nil
	}
	// What came out is somebody's, and newer than what we put there, so it goes back; and
	// so on, until what comes out then is what we had put there.
	for put := text; err == nil; {
		newer := out
		if err = swap(); err == nil {
			out, err = f.stagedText()
		}
		if err == nil && bytes.Equal(out, put) {
			return ErrChanged
		}
		put = newer
	}
	kept := f.staged
	f.staged = "" // somebody's text, which is not ours to remove
	return fmt.Errorf("what somebody wrote meanwhile is beside it, as %q: %w", kept, err)
}
