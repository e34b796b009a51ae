package history

import (
	"path"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// What a step left is known by its inode, size and times; of the first files of a
// step also by their content. So who writes the same bytes again, or puts them
// there by another file, is not in the way of an undo.

// sumFiles bounds what a step pays for that at its end.
const sumFiles = 256

// sum adds the content to what was just seen at a path, if it is still that.
func (w *Writer) sum(at string, st *journal.State) {
	if st.Kind != journal.File || st.Size > disk.SumBytes || w.summed >= sumFiles {
		return
	}
	w.summed++
	dir, name, err := disk.ParentIn(w.roots, at)
	if err != nil {
		return
	}
	defer unix.Close(dir)
	st.Sum = disk.SumAt(dir, name, st, "")
}

// indexSum is the sum of what was kept of a path, if it is an index of git: that is written
// anew by everybody who looks at the repository, so that the state tells nothing.
func indexSum(objects int, number uint64, at string) journal.Bytes {
	if path.Base(at) != "index" {
		return ""
	}
	fd, err := openToCopy(objects, journal.ObjectName(number))
	if err != nil {
		return ""
	}
	defer unix.Close(fd)
	st, err := disk.StateAt(fd, "", 0)
	if err != nil || !disk.IsIndex(fd) {
		return ""
	}
	return disk.SumOf(fd, &st, "")
}

// keptAsLeft reports whether what a later step found, and kept, has the content that a
// step left.
func (s *Store) keptAsLeft(later *journal.Pre, left *journal.State) bool {
	if !alike(&later.State, left) || !journal.AgreeXattrs(&later.State, left) || later.Object == (journal.Object{}) || later.Lost != "" {
		return false
	}
	if sum := later.State.Sum; len(sum) == len(left.Sum) { // the object may have been given away by now
		return sum == left.Sum
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
	return err == nil && disk.SumOf(fd, &st, sum) == sum
}
