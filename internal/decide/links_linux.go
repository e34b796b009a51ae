package decide

import (
	"io/fs"
	"path/filepath"
	"strings"
	"syscall"

	"carrel/internal/broker"
	"carrel/internal/guard"
	"carrel/internal/protectednames"

	"golang.org/x/sys/unix"
)

// secondNames are protected files of which there is another name, found at the start: who
// writes to that one writes to them.
func secondNames(p *Decision) map[broker.Inode]string {
	found := make(map[broker.Inode]string)
	note := func(at string, st *syscall.Stat_t) {
		if st.Mode&unix.S_IFMT == unix.S_IFREG && st.Nlink > 1 {
			found[broker.Inode{Dev: st.Dev, Ino: st.Ino}] = at
		}
	}
	file := func(at string) {
		var st syscall.Stat_t
		if syscall.Stat(at, &st) == nil {
			note(at, &st)
		}
	}
	for i := range p.Guarded.Named {
		if t := &p.Guarded.Named[i]; t.Path != "" {
			file(t.Path)
		}
	}
	if p.Place.Git.Dir != "" {
		for _, dir := range p.Place.Git.Repositories() {
			for _, name := range protectednames.ProtectedGitNames {
				file(dir + "/" + name)
			}
		}
	}
	for _, top := range p.Guarded.Places {
		left := guard.MaxLinkEntries
		_ = filepath.WalkDir(top.Pattern, func(at string, e fs.DirEntry, err error) error {
			if left--; left < 0 {
				return filepath.SkipAll
			}
			if err == nil && e.Type().IsRegular() && !strings.HasSuffix(at, ".sample") {
				file(at)
			}
			return nil
		})
	}
	return found
}
