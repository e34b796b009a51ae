package store

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/procfs"

	"golang.org/x/sys/unix"
)

// A segment that is being written has a name in "open", so that whoever comes
// next sees at once whether a writer was killed, and need not read all journals.

func (s *place) markOpen(segment string) error {
	f, err := s.file("open/"+segment, os.O_WRONLY|os.O_CREATE|os.O_EXCL)
	if err != nil {
		return err
	}
	_, err = f.WriteString(BootID())
	return errors.Join(err, f.Close())
}

// BootID is [procfs.BootID]; tests start the machine anew.
var BootID = procfs.BootID

// bootNumber is BootID in one word; 0 where that is not known.
func bootNumber() uint64 {
	id := BootID()
	if id == "" {
		return 0
	}
	sum := sha256.Sum256([]byte(id))
	return binary.LittleEndian.Uint64(sum[:]) | 1
}

// BegunThisBoot says whether the machine has not been started again since a segment was
// begun: then its writer was killed, and no power was lost.
func (s *place) BegunThisBoot(segment string) bool {
	f, err := s.file("open/"+segment, os.O_RDONLY)
	if err != nil {
		return false
	}
	defer f.Close()
	id, err := io.ReadAll(io.LimitReader(f, 100))
	return err == nil && len(id) > 0 && string(id) == BootID()
}

// MarkClosed says of a segment that nothing of it is missing.
func (s *place) MarkClosed(segment string) {
	if fd, err := s.directory("open"); err == nil {
		_ = disk.UnlinkAt(fd, segment, 0)
		unix.Close(fd)
	}
}

// isOpen says whether a segment was not closed.
func (s *place) isOpen(segment string) bool {
	fd, err := s.directory("open")
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	var st unix.Stat_t
	return unix.Fstatat(fd, segment, &st, unix.AT_SYMLINK_NOFOLLOW) == nil
}

// CloseSegments closes what no step is open in any more; no writer is open. What is cut off
// says nothing.
func (s *place) CloseSegments(l *Log) error {
	for name, whole := range l.Torn {
		if err := s.cut(name, whole); err != nil {
			return fmt.Errorf("cutting off the end of %q, which was not written whole: %w", "journal/"+name, err)
		}
	}
	f, err := s.file("open", unix.O_DIRECTORY)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	names, err := f.Readdirnames(-1)
	for _, name := range names {
		if journal.ValidSegment(name) {
			s.MarkClosed(name)
		}
	}
	return err
}

func (s *place) cut(segment string, size int64) error {
	f, err := s.file("journal/"+segment, os.O_RDWR)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := disk.Truncate(int(f.Fd()), size); err != nil {
		return err
	}
	return disk.SyncFile(int(f.Fd()))
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
		if !journal.ValidSegment(name) {
			continue
		}
		j, err := s.file("journal/"+name, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			s.MarkClosed(name) // it was not made, or is discarded
			continue
		}
		if err != nil {
			return false, err
		}
		live := disk.Locked(j)
		j.Close()
		if !live {
			return true, nil
		}
	}
	return false, nil
}
