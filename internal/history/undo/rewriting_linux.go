package undo

import (
	"io"
	"os"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// rewriting reports whether a file holds what an interrupted rewrite may have left in
// it: each byte is that of its former content, which is kept, or of the new one, or
// zero, as a loss of power leaves what was not on the disk yet. Anything else another
// program has written since.
func (u *actor) rewriting(dir int, name string, kept int, number string, a *journal.Action) (bool, error) {
	now, err := openPlain(dir, name)
	if err != nil {
		return false, err
	}
	defer now.Close()
	before, err := openPlain(kept, number)
	if err != nil {
		return false, err
	}
	defer before.Close()
	if a.Object == (journal.Object{}) {
		return mixed(now, before, nil)
	}
	objects, object, err := u.object(a.Object)
	if err != nil {
		return false, err
	}
	defer unix.Close(objects)
	after, err := openPlain(objects, object)
	if err != nil {
		return false, err
	}
	defer after.Close()
	return mixed(now, before, after)
}

// openPlain opens a file for reading, whatever its mode is.
func openPlain(dir int, name string) (*os.File, error) {
	fd, err := disk.OpenToCopy(dir, name)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), name), nil
}

// mixed reports whether a file is no longer than one of two others and has at each place
// the byte of one of them, or zero: it grows as it is written, and may have been stopped
// anywhere. The second may be nil, for an empty one.
func mixed(f, a, b *os.File) (bool, error) {
	size, err := sizeOfFile(f)
	if err != nil || size == 0 {
		return err == nil, err
	}
	of, err := sizeOfFile(a)
	if err != nil {
		return false, err
	}
	to := int64(0)
	if b != nil {
		if to, err = sizeOfFile(b); err != nil {
			return false, err
		}
	}
	if size > max(of, to) {
		return false, nil
	}
	const piece = 64 << 10
	x, y, z := make([]byte, piece), make([]byte, piece), make([]byte, piece)
	for at := int64(0); at < size; at += piece {
		n := int(min(piece, size-at))
		if _, err := f.ReadAt(x[:n], at); err != nil && err != io.EOF {
			return false, err
		}
		clear(y)
		clear(z)
		if _, err := a.ReadAt(y[:n], at); err != nil && err != io.EOF {
			return false, err
		}
		if b != nil {
			if _, err := b.ReadAt(z[:n], at); err != nil && err != io.EOF {
				return false, err
			}
		}
		for i, c := range x[:n] {
			if c != 0 && c != y[i] && c != z[i] {
				return false, nil
			}
		}
	}
	return true, nil
}

func sizeOfFile(f *os.File) (int64, error) {
	st, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return st.Size(), nil
}
