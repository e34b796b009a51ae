package writer

import (
	"errors"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// CopyGranted has files copied, and not linked, that a step before opened for
// writing and that now go: whoever had one open can open it again without asking,
// and would change what is kept. To be called before the first step.
func (w *Writer) CopyGranted(g *Granted) { w.granted = g }

// Written is a file that somebody can write to without asking.
type Written struct {
	Path string
	ID   journal.ID
}

// StillWritten lists the files of the step that somebody can write to without
// asking again: by a descriptor or a mapping that was granted before. It is for
// the end of the step: what is pinned for it is let go.
func (w *Writer) StillWritten() []Written {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []Written
	known := make(map[journal.ID]bool)
	w.eachWritten(func(at string, st *journal.State) {
		known[st.ID] = true
		out = append(out, Written{at, st.ID})
	})
	if w.step == 0 {
		return nil
	}
	return append(out, w.otherNames(known)...)
}

// WrittenBytes is how large the files are that somebody can write to, by names
// that the step knows.
func (w *Writer) WrittenBytes() (n int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.eachWritten(func(_ string, st *journal.State) { n += st.Size })
	return n
}

func (w *Writer) eachWritten(do func(at string, st *journal.State)) {
	if w.step == 0 {
		return
	}
	w.tree.each(func(s *slot) {
		if s.is == nil || !s.is.opened || s.is.grant().closed() && w.granted == nil {
			return
		}
		if at := s.path(); at != "" {
			if st, yes := w.hasWriter(at); yes {
				do(at, &st)
			}
		}
	})
}

// written says whether a file that was just opened is open for writing elsewhere,
// and closes it: a read lease is refused then. What cannot be asked counts as
// written.
func written(fd int, err error) bool {
	if err != nil {
		return err != unix.ENOENT && err != unix.ELOOP
	}
	defer unix.Close(fd)
	return readLease(fd) != nil
}

// Keep keeps the content of files as they are, before anybody writes on. A step
// has to be open.
func (w *Writer) Keep(files []Written) error { return w.keepWritten(files, 0) }

// keepWritten keeps the content of files before anybody writes on. What they are
// by then is what the step before left, though it was looked at earlier.
func (w *Writer) keepWritten(files []Written, before uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.step == 0 {
		return errors.New("no step is open")
	}
	for _, f := range files {
		s := w.tree.find(f.Path)
		if s == nil || s.is == nil {
			continue
		}
		s.is.mayLose = true // whoever has it open was allowed to write
		if err := w.keepOpen(s); err != nil {
			return err
		}
		w.watch(s.is)
		left := w.left[f.Path]
		if now := s.is.found; now != nil && len(left.Path) > 0 && !journal.AsLeft(now, &left.State) {
			left.State = *now
			if err := w.writeOf(before, &journal.Record{Post: &left}); err != nil {
				return err
			}
		}
	}
	w.left = nil
	return nil
}

// keepOpen keeps the content of a file that somebody has open, where nobody may
// search for it by now as well.
func (w *Writer) keepOpen(s *slot) error {
	if dir, name, err := disk.ParentIn(w.roots, s.path()); err == nil {
		defer unix.Close(dir)
		defer disk.Widened(dir, 0o100)()
		s.via = &via{dir: dir, name: name}
		defer func() { s.via = nil }()
	}
	new(Change).begin(s) // who has it open may change it
	return w.content(s, false)
}
