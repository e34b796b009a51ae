package history

import (
	"crypto/sha256"
	"io"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// What a step left is known by its inode, size and times; of the first files of a
// step also by their content. So who writes the same bytes again, or puts them
// there by another file, is not in the way of an undo.

// Bounds of what a step pays for that at its end.
const (
	sumFiles = 256
	sumBytes = 1 << 20 // of one file
)

// sum adds the content to what was just seen at a path, if it is still that.
func (w *Writer) sum(at string, st *journal.State) {
	if st.Kind != journal.File || st.Size > sumBytes || w.summed >= sumFiles {
		return
	}
	w.summed++
	dir, name, err := disk.ParentIn(w.roots, at)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	st.Sum = sumAt(dir, name, st)
}

// sumAt gives the SHA-256 of a file, "" where it is not what has the state, or
// may not be read.
func sumAt(dir int, name string, st *journal.State) journal.Bytes {
	fd, err := disk.OpenAt(dir, name, unix.O_RDONLY|unix.O_NOATIME)
	if err == unix.EPERM {
		fd, err = disk.OpenAt(dir, name, unix.O_RDONLY)
	}
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	return sumOf(fd, st)
}

// sumOf is sumAt for an open file.
func sumOf(fd int, st *journal.State) journal.Bytes {
	h := sha256.New()
	if now, err := disk.StateAt(fd, "", 0); err != nil || !unmoved(&now, st) {
		return ""
	}
	if n, err := io.Copy(h, io.NewSectionReader(descriptor(fd), 0, st.Size+1)); err != nil || n != st.Size {
		return ""
	}
	if now, err := disk.StateAt(fd, "", 0); err != nil || !unmoved(&now, st) {
		return ""
	}
	return journal.Bytes(h.Sum(nil))
}

// descriptor reads an open file without taking it over.
type descriptor int

// ReadAt implements [io.ReaderAt].
func (fd descriptor) ReadAt(p []byte, off int64) (int, error) {
	n, err := unix.Pread(int(fd), p, off)
	if err == nil && n < len(p) {
		err = io.EOF
	}
	return max(n, 0), err
}

// unmoved says whether nothing at all has happened to a file.
func unmoved(now, st *journal.State) bool {
	return now.Kind == journal.File && now.ID == st.ID && now.Size == st.Size && now.Mtime == st.Mtime && now.Ctime == st.Ctime
}

// keptAsLeft reports whether what a later step found, and kept, has the content that a
// step left.
func (s *Store) keptAsLeft(later *journal.Pre, left *journal.State) bool {
	if !alike(&later.State, left) || !journal.AgreeXattrs(&later.State, left) || later.Object == (journal.Object{}) || later.Lost != "" {
		return false
	}
	objects, err := s.objectsOf(later.Object.Segment, false)
	if err != nil {
		return false
	}
	defer unix.Close(objects)
	kept, err := disk.StateAt(objects, journal.ObjectName(later.Object.Number), 0)
	return err == nil && kept.Size == left.Size && s.isSum(later.Object, left.Sum)
}

// alike says whether two files may have one content. Of several names of a file
// none can be replaced alone.
func alike(found, left *journal.State) bool {
	return len(left.Sum) > 0 && found.Kind == journal.File && left.Kind == journal.File && found.Size == left.Size &&
		found.Mode == left.Mode && found.UID == left.UID && found.GID == left.GID && found.Links == 1 && left.Links == 1
}

// isSum reports whether an object has a SHA-256.
func (s *Store) isSum(o journal.Object, sum journal.Bytes) bool {
	dir, err := s.objectsOf(o.Segment, false)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	fd, err := openToCopy(dir, journal.ObjectName(o.Number)) // it may be the file itself, with the mode that it had
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	st, err := disk.StateAt(fd, "", 0)
	return err == nil && sumOf(fd, &st) == sum
}
