package guard

import (
	"carrel/internal/broker"
	"carrel/internal/pathname"
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// second gives the protected file of which a change writes to another name, "" for none.
func (c *Config) second(ch *broker.Change, at string) string {
	if len(c.Seconds) == 0 || c.Exactly {
		return ""
	}
	switch ch.Op {
	case broker.OpOpen, broker.OpTruncate, broker.OpChmod, broker.OpChown, broker.OpSetxattr:
	default:
		return ""
	}
	in := broker.Inode{Dev: ch.Was.Dev, Ino: ch.Was.Ino}
	var st unix.Stat_t
	if in == (broker.Inode{}) && ch.Pinned > 0 && unix.Fstat(ch.Pinned, &st) == nil {
		in = broker.Inode{Dev: st.Dev, Ino: st.Ino}
	}
	if of := c.Seconds[in]; of != "" && !pathname.Within(at, of) {
		return of
	}
	return ""
}

// SecondNames finds which of these files, and of those in these directories, have another
// name, by their inode: who writes to that one writes to them.
func SecondNames(files, trees []string) map[broker.Inode]string {
	found := make(map[broker.Inode]string)
	look := func(at string) {
		var st syscall.Stat_t
		if syscall.Stat(at, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
			found[broker.Inode{Dev: st.Dev, Ino: st.Ino}] = at
		}
	}
	for _, at := range files {
		look(at)
	}
	for _, top := range trees {
		left := MaxLinkEntries
		_ = filepath.WalkDir(top, func(at string, e fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err == nil && e.Type().IsRegular() && !strings.HasSuffix(at, ".sample") {
				look(at)
			}
			return nil
		})
	}
	return found
}
