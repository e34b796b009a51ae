package writer

import (
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// A file that a step opened for writing may lose the name that it was opened by
// and be written to all the same: by another name it is still there, and no step
// may have met that. Such files are pinned, and looked for when the step ends.

// maxLoose bounds how many are pinned, and so open, at once.
const maxLoose = 256

// leaves keeps what is about to lose a name.
func (w *preimages) leaves(s *slot) error {
	err := w.name(s, true)
	if err == nil {
		if err = w.pinLoose(s); err != nil {
			w.settle(s, err)
		}
	}
	return err
}

// pinLoose pins a file that is about to lose a name, if somebody may write to it
// unasked and it has others.
func (w *preimages) pinLoose(s *slot) error {
	if s.is == nil || !s.is.opened || s.is.origin == "" {
		return nil
	}
	st, err := w.look(s)
	if _, known := w.loose[st.ID]; err != nil || known || st.Kind != journal.File || st.Links < 2 {
		return err
	}
	if len(w.loose) >= maxLoose {
		w.dropLoose()
	}
	if len(w.loose) >= maxLoose {
		return fmt.Errorf("more than %d files with other names were removed while they are open for writing: %w", maxLoose, unix.EMFILE)
	}
	at, err := w.reach(s, s.path())
	if err != nil {
		return err
	}
	defer at.close()
	var fd int
	if at.name == "" { // it is pinned itself
		fd, err = unix.FcntlInt(uintptr(at.dir), unix.F_DUPFD_CLOEXEC, 0)
	} else {
		fd, err = unix.Openat(at.dir, at.name, unix.O_PATH|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	}
	if err != nil {
		return err
	}
	if w.loose == nil {
		w.loose = make(map[journal.ID]int)
	}
	w.loose[st.ID] = fd
	return nil
}

// dropLoose lets go of what nobody writes to any more.
func (w *preimages) dropLoose() {
	for id, fd := range w.loose {
		if !written(unix.Open(disk.ProcPath(fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)) {
			unix.Close(fd)
			delete(w.loose, id)
		}
	}
}

// otherNames gives a name of each file that is pinned and written to, but for
// those that are known; nothing is pinned afterwards. Every directory of the roots
// is read for that.
func (w *preimages) otherNames(known map[journal.ID]bool) (out []Written) {
	w.dropLoose()
	wanted := make(map[journal.ID]bool)
	for id, fd := range w.loose {
		if st, err := disk.StateAt(fd, "", 0); err == nil && st.Links > 0 && !known[id] {
			wanted[id] = true
		}
	}
	_ = disk.NamesOf(w.roots, wanted, func(path string, id journal.ID) (bool, error) {
		known[id] = true
		out = append(out, Written{path, id})
		return true, nil
	})
	for id, fd := range w.loose {
		unix.Close(fd)
		delete(w.loose, id)
	}
	return out
}
