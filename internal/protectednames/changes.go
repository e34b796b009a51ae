package protectednames

import (
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"carrel/internal/hostfile"
)

// maxCounted bounds the walk that counts changes: it is for a summary, and a
// large tree must not make a run's end slow.
const maxCounted = 20_000

// Changed lists what a run left in the project.
type Changed struct {
	Files    int      // regular files and links whose content or status changed
	Risky    []string // among them: files that could make somebody run code later
	Complete bool     // false: the tree has more entries than were looked at
}

// ChangedSince looks for what has a change time at or after start. Change times
// are set by the kernel, so a command cannot turn them back; their grain is
// coarser than the clock's, hence the slack.
func ChangedSince(project string, start time.Time) Changed {
	c := Changed{Complete: true}
	since := start.Add(-10 * time.Millisecond)
	seen := 0
	_ = filepath.WalkDir(project, func(p string, d fs.DirEntry, err error) error {
		if seen++; seen > maxCounted {
			c.Complete = false
			return filepath.SkipAll
		}
		if err != nil || d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if err != nil || !hostfile.ChangeTime(info).After(since) {
			return nil
		}
		rel := strings.TrimPrefix(p, project)
		if strings.HasPrefix(rel, "/.git/") && !strings.Contains(rel, "/hooks/") {
			return nil // the repository's own bookkeeping
		}
		c.Files++
		if Risky(rel) && len(c.Risky) < 20 {
			c.Risky = append(c.Risky, strings.TrimPrefix(rel, "/"))
		}
		return nil
	})
	return c
}
