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
