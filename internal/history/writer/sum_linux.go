package writer

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

// sums counts the files of which the content was looked at.
type sums struct {
	roots []disk.Root
	n     int
}

// add adds the content to what was just seen at a path, if it is still that.
func (s *sums) add(at string, st *journal.State) {
	if st.Kind != journal.File || st.Size > disk.SumBytes || s.n >= sumFiles {
		return
	}
	s.n++
	dir, name, err := disk.ParentIn(s.roots, at)
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
	fd, err := disk.OpenToCopy(objects, journal.ObjectName(number))
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
