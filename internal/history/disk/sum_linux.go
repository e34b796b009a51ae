package disk

import (
	"crypto/sha256"
	"io"

	"carrel/internal/gitconf"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// SumBytes is the length up to which the content of a file is looked at.
const SumBytes = 1 << 20

// SumAt gives the SHA-256 of a file, "" where it is not what has the state, or
// may not be read. like is the sum that it is compared with, "" for none.
func SumAt(dir int, name string, st *journal.State, like journal.Bytes) journal.Bytes {
	fd, err := OpenAt(dir, name, unix.O_RDONLY|unix.O_NOATIME)
	if err == unix.EPERM {
		fd, err = OpenAt(dir, name, unix.O_RDONLY)
	}
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	return SumOf(fd, st, like)
}

// SumOf is SumAt for an open file. That of an index of git is of what a `git status` does
// not change in it, after one byte that says so; steps of before that have the plain one.
func SumOf(fd int, st *journal.State, like journal.Bytes) journal.Bytes {
	if now, err := StateAt(fd, "", 0); err != nil || !Unmoved(&now, st) {
		return ""
	}
	var sum journal.Bytes
	if len(like) != sha256.Size && st.Size <= SumBytes && IsIndex(fd) {
		text := make([]byte, st.Size+1)
		n, err := io.ReadFull(io.NewSectionReader(Descriptor(fd), 0, st.Size+1), text)
		if err != io.ErrUnexpectedEOF || int64(n) != st.Size {
			return ""
		}
		if same := gitconf.IndexWithoutStat(text[:n]); same != nil {
			h := sha256.Sum256(same)
			sum = "i" + journal.Bytes(h[:])
		}
	}
	if sum == "" {
		h := sha256.New()
		if n, err := io.Copy(h, io.NewSectionReader(Descriptor(fd), 0, st.Size+1)); err != nil || n != st.Size {
			return ""
		}
		sum = journal.Bytes(h.Sum(nil))
	}
	if now, err := StateAt(fd, "", 0); err != nil || !Unmoved(&now, st) {
		return ""
	}
	return sum
}

// IsIndex says whether a file begins as an index of git does.
func IsIndex(fd int) bool {
	var head [4]byte
	n, err := unix.Pread(fd, head[:], 0)
	return err == nil && string(head[:n]) == "DIRC"
}

// Descriptor reads an open file without taking it over.
type Descriptor int

// ReadAt implements [io.ReaderAt].
func (fd Descriptor) ReadAt(p []byte, off int64) (int, error) {
	n, err := unix.Pread(int(fd), p, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return max(n, 0), err
}

// Unmoved says whether nothing at all has happened to a file.
func Unmoved(now, st *journal.State) bool {
	return now.Kind == journal.File && now.ID == st.ID && now.Size == st.Size && now.Mtime == st.Mtime && now.Ctime == st.Ctime
}
