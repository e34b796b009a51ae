package gitdir

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
)

// maxPointer bounds what is read of a ".git" file or "commondir"; both hold one path.
const maxPointer = 64 << 10

// ErrTooLong says that a file is longer than the limit it was read with.
var ErrTooLong = errors.New("it is longer than is looked at")

// ReadSmall reads a file that holds a line, and of a longer one the first 64 KiB. It follows no link and waits for no named pipe.
func ReadSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|noFollow, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, maxPointer)
	n, err := f.Read(buf)
	if n == 0 && err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(buf[:n], []byte{0})), nil
}

// Read gives all of a regular file, through links as git reads it; limit is in bytes. What
// is none is [os.ErrNotExist], what is longer [ErrTooLong].
func Read(at string, limit int) ([]byte, error) { return read(at, limit, syscall.O_NONBLOCK) }

// ReadPlain is [Read] for a file that is no link.
func ReadPlain(at string, limit int) ([]byte, error) { return read(at, limit, noFollow) }

func read(at string, limit, flag int) ([]byte, error) {
	f, err := os.OpenFile(at, os.O_RDONLY|flag, 0) // no waiting for the writer of a FIFO
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, os.ErrNotExist // git reads nothing from it that stays the same
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		return nil, ErrTooLong
	}
	return data, err
}

// Files are the files of the host, for [gitconf.Load].
type Files struct{}

// Read is [Read].
func (Files) Read(at string, limit int) ([]byte, error) { return Read(at, limit) }

// Link gives the text of a symlink, false for what is none.
func (Files) Link(at string) (string, bool) {
	text, err := os.Readlink(at)
	return text, err == nil
}

// Dir says whether there is a directory.
func (Files) Dir(at string) bool {
	st, err := os.Lstat(at)
	return err == nil && st.IsDir()
}

// Regular says whether there is a regular file.
func (Files) Regular(at string) bool {
	st, err := os.Lstat(at)
	return err == nil && st.Mode().IsRegular()
}

// Missing says whether an error is that there is no such file, see [IsMissing].
func (Files) Missing(err error) bool { return IsMissing(err) }

// IsMissing says whether an error is that there is no such file: what cannot be read may
// hold anything, and its mode can be set back.
func IsMissing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}
