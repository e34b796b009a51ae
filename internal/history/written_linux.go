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
	w.tree.each(func(s *slot) {
		if s.is == nil || !s.is.opened {
			return
		}
		if at := s.path(); at != "" && w.hasWriter(at) {
			out = append(out, at)
		}
	})
	return out
}

// hasWriter says whether a file is open for writing: a read lease is refused then.
// What cannot be asked counts as written.
func (w *Writer) hasWriter(path string) bool {
	dir, name, err := w.parent(path)
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	fd, err := unix.Openat(dir, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return err != unix.ENOENT && err != unix.ELOOP
	}
	defer unix.Close(fd)
	st, err := stateAt(fd, "", 0)
	if err != nil || st.Kind != File {
		return false
	}
	_, err = unix.FcntlInt(uintptr(fd), unix.F_SETLEASE, unix.F_RDLCK)
	return err != nil
}

// keepWritten keeps the content of files before anybody writes on.
func (w *Writer) keepWritten(paths []string) error {
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
	}
	return nil
}
