package workspace

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"carrel/internal/agents"
)

// maxShared bounds what is looked at in each shared place.
const maxShared = 1_000_000

// sharedRun is written down while a run shares the home: what it leaves is found when
// it was killed. The file's name is when it began, in nanoseconds, and it is locked as
// long as the run lives.
type sharedRun struct {
	file   string
	since  time.Time
	unlock func()
}

// beginShared writes down that a run begins, and removes what killed ones have left.
// The agent's logins are locked, so no other run begins at the same time.
func (p *Prepared) beginShared() error {
	dir := filepath.Join(p.state.path, "agents", p.Agent.Name+".shared")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	var killed []sharedRun
	for _, e := range entries {
		began, err := strconv.ParseInt(e.Name(), 10, 64)
		file := filepath.Join(dir, e.Name())
		if err != nil {
			continue
		}
		if unlock, err := lockFile(file, 0); err == nil {
			defer unlock()
			killed = append(killed, sharedRun{file: file, since: time.Unix(0, began)})
		}
	}
	if len(killed) > 0 {
		since := killed[0].since
		for _, k := range killed {
			if k.since.Before(since) {
				since = k.since
			}
		}
		if p.dropLeft(since) {
			for _, k := range killed {
				os.Remove(k.file)
			}
		}
	}
	if p.shared != nil {
		return nil
	}
	// A moment before: what the kernel stamps files with is a little behind the clock.
	since := time.Now().Add(-time.Second)
	file := filepath.Join(dir, strconv.FormatInt(since.UnixNano(), 10))
	unlock, err := lockFile(file, 0)
	if err != nil {
		return fmt.Errorf("agent_home shared: %w", err)
	}
	p.shared = &sharedRun{file, since, unlock}
	return nil
}

// dropLinks ends what beginShared began.
func (p *Prepared) dropLinks() {
	if p.shared == nil {
		return
	}
	if p.dropLeft(p.shared.since) {
		os.Remove(p.shared.file) // else the next start looks again
	}
	p.shared.unlock()
	p.shared = nil
}

// dropLeft removes what was made in shared places since a time and would lead an agent
// outside astray: links out of them, through which it would write elsewhere when it goes
// on with a transcript, and pipes, at which it would wait for ever. It reports false
// where it has not seen all.
func (p *Prepared) dropLeft(since time.Time) bool {
	all := true
	for _, s := range p.Agent.Shared {
		if !s.File {
			all = p.dropLeftIn(s, since, maxShared) && all
		}
	}
	return all
}

func (p *Prepared) dropLeftIn(s agents.SharedPlace, since time.Time, most int) bool {
	root, err := os.OpenRoot(filepath.Join(p.place.home, s.Place))
	if err != nil {
		return false
	}
	defer root.Close()
	left, all := most, true
	_ = fs.WalkDir(root.FS(), ".", func(place string, d fs.DirEntry, err error) error {
		if left--; left < 0 {
			p.note("%s: ~/%s has too many files to look for links in all of them: from %.200q on none was looked at", p.Agent.Name, s.Place, place)
			all = false
			return fs.SkipAll
		}
		if err != nil {
			all = false
			return nil
		}
		if d.IsDir() {
			// One that is closed would hide what is in it until another run opens it.
			if st, err := root.Lstat(place); err == nil && st.Mode().Perm()&0o700 != 0o700 && !changeTime(st).Before(since) {
				_ = root.Chmod(place, st.Mode().Perm()|0o700)
			}
			return nil
		}
		if d.Type()&(fs.ModeSymlink|fs.ModeNamedPipe) == 0 {
			return nil
		}
		st, err := root.Lstat(place)
		if err != nil || changeTime(st).Before(since) {
			return nil
		}
		what := "a pipe in"
		if st.Mode()&fs.ModeSymlink != 0 {
			if _, leads := root.Stat(place); leads == nil {
				return nil // it stays within
			}
			what = "a link out of"
		}
		if root.Remove(place) == nil {
			p.note("%s: removed %s ~/%s that was made inside: %q", p.Agent.Name, what, s.Place, place)
		} else {
			all = false
		}
		return nil
	})
	return all
}
