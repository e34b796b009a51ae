package review

import (
	"bytes"
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// isWhiteout says whether a name of an upper directory stands for nothing: a device 0:0, or an
// empty file that is marked so in a directory that says that it has some.
func isWhiteout(up int, name string, st *Stat) bool {
	switch {
	case st.Kind == Device:
		return st.Rdev == 0
	case st.Kind != File || st.Size != 0:
		return false
	}
	if has, err := xattr(up, opaqueAttr); err != nil || string(has) != "x" {
		return false
	}
	fd, err := openFile(up, name)
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	_, err = xattr(fd, whiteoutAttr)
	return err == nil
}

func openIn(dir int, name string) (int, error) { return openDir(dir, name, 0) }

// opened opens what is in a layer. Where its mode keeps that from the user, it has the mode need
// for as long as that takes.
func opened(dir int, name string, st *Stat, need uint32, open func(int, string) (int, error)) (int, error) {
	fd, err := open(dir, name)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	if err := unix.Fchmodat(dir, name, st.Perm|need, 0); err != nil {
		return -1, err
	}
	fd, err = open(dir, name)
	if back := unix.Fchmodat(dir, name, st.Perm, 0); err == nil && back != nil {
		unix.Close(fd)
		return -1, back
	}
	return fd, err
}

// openDeep opens a directory of a layer, also below one that is closed.
func openDeep(root int, rel string) (int, error) {
	fd, err := openDir(root, rel, 0)
	if !errors.Is(err, unix.EACCES) {
		return fd, err
	}
	if fd, err = openDir(root, ".", 0); err != nil {
		return -1, err
	}
	for name := range strings.SplitSeq(rel, "/") {
		st, err := statAt(fd, name)
		next := -1
		if err == nil {
			next, err = opened(fd, name, &st, 0o700, openIn)
		}
		unix.Close(fd)
		if err != nil {
			return -1, err
		}
		fd = next
	}
	return fd, nil
}

// linkAt reads a symlink.
func linkAt(dir int, name string) (string, error) {
	buf := make([]byte, unix.PathMax+1)
	n, err := unix.Readlinkat(dir, name, buf)
	if err == nil && n == len(buf) {
		err = unix.ENAMETOOLONG
	}
	return string(buf[:max(n, 0)]), err
}

// sameBytes compares two files of the same size.
func sameBytes(a, b *os.File) (bool, error) {
	x, y := make([]byte, 128<<10), make([]byte, 128<<10)
	for {
		n, err := io.ReadFull(a, x)
		if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
			return false, err
		}
		m, other := io.ReadFull(b, y)
		if other != nil && other != io.EOF && other != io.ErrUnexpectedEOF {
			return false, other
		}
		if !bytes.Equal(x[:n], y[:m]) {
			return false, nil
		}
		if n < len(x) {
			return true, nil
		}
	}
}
