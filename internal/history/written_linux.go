package history

import "golang.org/x/sys/unix"

// stillWritten lists the files of the step that somebody can write to without
// asking again: by a descriptor or a mapping that was granted before.
func (w *Writer) stillWritten() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	if w.step == 0 {
		return nil
	}
	known := make(map[ID]bool)
	w.tree.each(func(s *slot) {
		if s.is == nil || !s.is.opened {
			return
		}
		at := s.path()
		if at == "" {
			return
		}
		if id, yes := w.hasWriter(at); yes {
			known[id] = true
			out = append(out, at)
		}
	})
	return append(out, w.otherNames(known)...)
}

// hasWriter says whether a file is open for writing.
func (w *Writer) hasWriter(path string) (ID, bool) {
	dir, name, err := w.parent(path)
	if err != nil {
		return ID{}, false
	}
	defer unix.Close(dir)
	st, err := stateAt(dir, name, 0)
	if err != nil || st.Kind != File {
		return ID{}, false
	}
	return st.ID, written(unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0))
}

// written says whether a file that was just opened is open for writing elsewhere,
// and closes it: a read lease is refused then. What cannot be asked counts as
// written.
func written(fd int, err error) bool {
	if err != nil {
		return err != unix.ENOENT && err != unix.ELOOP
	}
	defer unix.Close(fd)
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err != nil
}

// keepWritten keeps the content of files before anybody writes on. What they are
// by then is what the step before left, though it was looked at earlier.
func (w *Writer) keepWritten(paths []string, before uint64) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, at := range paths {
		s := w.tree.find(at)
		if s == nil || s.is == nil {
			continue
		}
		s.is.mayLose = true // whoever has it open was allowed to write
		if err := w.content(s, false); err != nil {
			return err
		}
		left := w.left[at]
		if now := s.is.found; now != nil && len(left.Path) > 0 && !asLeft(now, &left.State) {
			left.State = *now
			if err := w.writeOf(before, &Record{Post: &left}); err != nil {
				return err
			}
		}
	}
	w.left = nil
	return nil
}

// writeOf appends a record of another step than the open one.
func (w *Writer) writeOf(step uint64, r *Record) error {
	open := w.step
	w.step = step
	defer func() { w.step = open }()
	return w.write(r)
}
