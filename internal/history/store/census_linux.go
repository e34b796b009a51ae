package store

import (
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// BlockBytes is the unit of st_blocks of stat(2).
const BlockBytes = 512

func lookStored(dir int, name string) (stored, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(dir, name, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stored{}, err
	}
	return stored{
		kind: disk.KindOf(st.Mode), mode: st.Mode & 0o7777, size: st.Size, disk: st.Blocks * BlockBytes,
		links: uint64(st.Nlink), device: st.Dev, inode: st.Ino,
	}, nil
}

// entry is a name in a directory of the store.
type entry struct {
	dir      int
	name, at string
	is       stored
}

// eachObject calls do for everything that lies where objects do. What has no name
// that we give is told with the zero Object.
func (s *objects) eachObject(do func(o journal.Object, e entry) error) error {
	return s.eachName("objects", func(e entry) error {
		if e.is.kind != journal.Dir || !journal.ValidSegment(e.name) {
			return do(journal.Object{}, e)
		}
		segment := e.name
		err := s.eachName(e.at, func(e entry) error {
			n, ok := journal.ObjectNumber(e.name)
			if !ok {
				return do(journal.Object{}, e)
			}
			return do(journal.Object{Segment: segment, Number: n}, e)
		})
		if errors.Is(err, unix.ENOENT) {
			return nil // it has gone meanwhile
		}
		return err
	})
}

// eachName calls do for every name in a directory of the store.
func (s *objects) eachName(at string, do func(entry) error) error {
	fd, err := unix.Openat2(s.fd, at, &unix.OpenHow{
		Flags: unix.O_RDONLY | unix.O_DIRECTORY | unix.O_CLOEXEC, Resolve: unix.RESOLVE_BENEATH | unix.RESOLVE_NO_SYMLINKS,
	})
	if err != nil {
		return fmt.Errorf("listing %q of the history: %w", at, err)
	}
	f := os.NewFile(uintptr(fd), at)
	defer f.Close()
	for {
		names, err := f.Readdirnames(namesAtOnce)
		for _, name := range names {
			is, err := lookStored(fd, name)
			if err == unix.ENOENT {
				continue // it has gone meanwhile
			}
			if err != nil {
				return fmt.Errorf("looking at %q of the history: %w", at+"/"+name, err)
			}
			if err := do(entry{fd, name, at + "/" + name, is}); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("listing %q of the history: %w", at, err)
		}
	}
}

const namesAtOnce = 1000
