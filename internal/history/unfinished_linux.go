package history

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// A segment that is being written has a name in "open", so that whoever comes
// next sees at once whether a writer was killed, and need not read all journals.

func (s *Store) markOpen(segment string) error {
	if err := mkdirAt(s.fd, "open", 0o700); err != nil && err != unix.EEXIST {
		return err
	}
	f, err := s.file("open/"+segment, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	return f.Close()
}

func (s *Store) markClosed(segment string) {
	if fd, err := s.directory("open"); err == nil {
		_ = unlinkAt(fd, segment, 0)
		unix.Close(fd)
	}
}

// Unfinished says whether a writer ended without closing what it wrote.
func (s *Store) Unfinished() (bool, error) {
	f, err := s.file("open", os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	if err != nil {
		return false, err
	}
	for _, name := range names {
		if !validSegment(name) {
			continue
		}
		j, err := s.file("journal/"+name, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			s.markClosed(name) // it was not made, or is discarded
			continue
		}
		if err != nil {
			return false, err
		}
		live := writing(j)
		j.Close()
		if !live {
			return true, nil
		}
	}
	return false, nil
}
