package statedir

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"carrel/internal/dirlist"
	"carrel/internal/hostfile"
)

// asidePrefix begins the name of a project's directory that is being removed.
const asidePrefix = ".purged-"

// ErrUsed means that a run, or a command of the history, uses what was to be removed.
var ErrUsed = errors.New("a workspace of this project runs, or its history is open")

// usedSuffix follows the name of a project's directory in that of the lock beside it.
const usedSuffix = ".used"

// purgeWait is how long a run waits for a removal, which holds the lock for a moment.
const purgeWait = 5 * time.Second

// Hold keeps what is kept of a project from being removed, until release.
func (s *Dir) Hold(project string) (release func(), err error) {
	if err := os.MkdirAll(filepath.Join(s.path, "projects"), 0o700); err != nil {
		return nil, err
	}
	return hostfile.Share(s.Project(project)+usedSuffix, purgeWait)
}

// Remove removes all that is kept of one project, or nothing and gives [ErrUsed].
func (s *Dir) Remove(id string) error {
	if err := s.putAside(id); err != nil {
		return err
	}
	return s.removeAside(id)
}

// aside is where a directory of a project lies while it is removed.
func aside(dir string) string { return filepath.Dir(dir) + "/" + asidePrefix + filepath.Base(dir) }

// putAside puts the directories of a project where no run finds them.
func (s *Dir) putAside(id string) error {
	if !IsProjectID(id) {
		return fmt.Errorf("%q is no project of the state directory", id)
	}
	from := s.projectDir(id)
	unlock, err := hostfile.Lock(from+usedSuffix, 0)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return ErrUsed
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.removeAside(id); err != nil { // of a removal that was interrupted
		return err
	}
	for _, dir := range append(historiesElsewhere(from, id), from) {
		if err := dirlist.RemoveTree(aside(dir)); err != nil {
			return err
		}
		// A history may be named twice, and is put aside then.
		if err := os.Rename(dir, aside(dir)); err != nil && (dir == from || !errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return os.Remove(from + usedSuffix)
}

// removeAside removes what was put aside of one project.
func (s *Dir) removeAside(id string) (failed error) {
	dir := aside(s.projectDir(id))
	for _, at := range ReadPlaces(dir) {
		if filepath.IsAbs(at) && filepath.Base(at) == id {
			failed = errors.Join(failed, dirlist.RemoveTree(aside(at)))
		}
	}
	return errors.Join(failed, dirlist.RemoveTree(dir))
}

// RemoveAll removes the state directory with all that is in it.
func (s *Dir) RemoveAll() error {
	if id, err := s.used(); err != nil || id != "" {
		return errors.Join(ErrUsed, err)
	}
	if paused, err := s.Pauses().All(); err != nil || len(paused) > 0 {
		return errors.Join(ErrPaused, err)
	}
	if tasks, err := filepath.Glob(filepath.Join(s.Root(), "tasks", "*", "*.json")); err != nil || len(tasks) > 0 {
		return errors.Join(ErrTasks, err)
	}
	ids, err := s.projectIDs()
	if err != nil {
		return err
	}
	for _, id := range ids {
		if err := s.Remove(id); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(s.Root())
	if err != nil {
		return err
	}
	var failed error
	for _, e := range entries {
		at := filepath.Join(s.Root(), e.Name())
		if e.IsDir() {
			failed = errors.Join(failed, dirlist.RemoveTree(at))
		} else {
			failed = errors.Join(failed, os.Remove(at))
		}
	}
	return errors.Join(failed, os.Remove(s.Root()))
}

// used finds a project of which a run uses something, "" for none.
func (s *Dir) used() (string, error) {
	ids, err := s.projectIDs()
	for _, id := range ids {
		unlock, err := hostfile.Lock(s.projectDir(id)+usedSuffix, 0)
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return id, nil
		}
		if err != nil {
			return "", err
		}
		unlock()
	}
	return "", err
}

// How often and after what time projects that are gone are swept.
const (
	sweepPace  = 24 * time.Hour
	sweepAfter = 30 * 24 * time.Hour
)

// sweptFile is beside the projects: its time is that of the last sweep. goneFile is in
// the directory of a project since it was first seen gone.
const (
	sweptFile = "/projects/.swept"
	goneFile  = "/gone"
)

// Sweep removes what is kept of projects whose directory has been gone for a month, and
// says of how many. It looks once a day. A directory whose parent is missing as well may
// be on a disk that is not mounted, and is not gone.
func (s *Dir) Sweep() (removed int, err error) {
	last := s.Root() + sweptFile
	if st, err := os.Lstat(last); err == nil && time.Since(st.ModTime()) < sweepPace {
		return 0, nil
	}
	s.FinishRemovals()
	ids, err := s.projectIDs()
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	if err := touch(last); err != nil {
		return 0, err
	}
	var failed error
	for _, id := range ids {
		path, mark := s.NotedPath(id), s.projectDir(id)+goneFile
		if !gone(path) || gone(filepath.Dir(path)) {
			_ = os.Remove(mark)
			continue
		}
		st, err := os.Lstat(mark)
		if err != nil {
			failed = errors.Join(failed, touch(mark))
			continue
		}
		if time.Since(st.ModTime()) < sweepAfter {
			continue
		}
		switch err := s.Remove(id); {
		case err == nil:
			removed++
		case !errors.Is(err, ErrUsed):
			failed = errors.Join(failed, err)
		}
	}
	return removed, failed
}

// FinishRemovals removes what removals that were interrupted have left.
func (s *Dir) FinishRemovals() {
	entries, _ := os.ReadDir(s.Root() + "/projects")
	for _, e := range entries {
		if id, ok := strings.CutPrefix(e.Name(), asidePrefix); ok && IsProjectID(id) {
			_ = s.removeAside(id)
		}
	}
}

// touch makes a file, or gives it the present time.
func touch(file string) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err != nil {
		return err
	}
	now := time.Now()
	return errors.Join(f.Close(), os.Chtimes(file, now, now))
}

// historiesElsewhere are the directories outside the state directory where the history of
// a project is or has been. Only what is one is named.
func historiesElsewhere(dir, id string) (out []string) {
	for _, at := range ReadPlaces(dir) {
		st, err := os.Lstat(at + "/journal")
		if filepath.IsAbs(at) && filepath.Base(at) == id && err == nil && st.IsDir() {
			out = append(out, at)
		}
	}
	return out
}

// sizeOf counts what a name in a directory takes of the disk. What cannot be looked at
// counts as nothing.
func sizeOf(dir, name string) (sum int64) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return 0
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), name, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil
		}
		if info, err := e.Info(); err == nil {
			if st, ok := info.Sys().(*syscall.Stat_t); ok {
				sum += st.Blocks * 512
			}
		}
		return nil
	})
	return sum
}
