package statedir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"carrel/internal/api"
	"carrel/internal/hostfile"
	"carrel/internal/ownfile"
	"carrel/internal/pathname"
	"carrel/internal/spool"
)

// pausedSuffix follows the name of a project's directory in that of the file beside it that
// says that the project is paused: a removal of what is kept leaves it.
const pausedSuffix = ".paused"

// maxPaused bounds that file, in bytes.
const maxPaused = 64 << 10

// ErrPaused means that a project is paused, and only a person ends that.
var ErrPaused = errors.New("a project is paused")

// ErrTasks means that there are tasks, whose worktrees lie elsewhere.
var ErrTasks = errors.New("there are tasks, with worktrees of their own")

// Pauses are the pauses of projects that a state directory keeps.
type Pauses struct{ dir string }

// Pauses gives those of this one.
func (s *Dir) Pauses() Pauses { return Pauses{filepath.Join(s.path, "projects")} }

// Of is the pause that holds for a project, its own or that of a directory around it, nil for
// none. What cannot be read is a pause: what the person wanted is not known.
func (s Pauses) Of(project string) *api.ProjectPause {
	p, err := s.Now(project)
	if err == nil {
		return p
	}
	u := unread(err)
	u.Project = project
	return &u
}

// Now is Of for a workspace, which would stand still for it. The error says that for want of
// descriptors it cannot be read now: that is no pause, which would never end.
func (s Pauses) Now(project string) (*api.ProjectPause, error) {
	for dir := project; ; dir = filepath.Dir(dir) {
		if p, err := s.own(dir); p != nil || err != nil || dir == filepath.Dir(dir) {
			return p, err
		}
	}
}

// PausedWith reports whether the pause of a project holds for another one: the same, or one below.
func PausedWith(project, paused string) bool {
	if !IsProjectID(paused) {
		return pathname.Within(project, paused)
	}
	for dir := project; ; dir = filepath.Dir(dir) {
		if ProjectID(dir) == paused || dir == filepath.Dir(dir) {
			return ProjectID(dir) == paused
		}
	}
}

// idOf is the id of a project, which All names by it where its path cannot be told.
func idOf(project string) string {
	if IsProjectID(project) {
		return project
	}
	return ProjectID(project)
}

// own is the pause of a project itself, nil for none.
func (s Pauses) own(project string) (*api.ProjectPause, error) {
	p, err := s.read(idOf(project))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE):
		return nil, fmt.Errorf("whether the project is paused cannot be read: %w", err)
	case err != nil:
		p = unread(err)
	}
	p.Project = project
	return &p, nil
}

// unread is a pause that cannot be read.
func unread(err error) api.ProjectPause {
	return api.ProjectPause{Since: time.Now(), By: "supervisor", Reason: "whether the project is paused cannot be read: " + err.Error()}
}

func (s Pauses) read(id string) (p api.ProjectPause, err error) {
	// Each request of a workspace asks, for each directory around its project, and there is
	// seldom one: a look at the name takes a tenth of what opening takes.
	if _, err := os.Lstat(filepath.Join(s.dir, id+pausedSuffix)); errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	dir, err := os.Open(s.dir)
	if err != nil {
		return p, err
	}
	defer dir.Close()
	text, err := spool.ReadFile(dir, id+pausedSuffix, maxPaused)
	if err != nil {
		return p, err
	}
	return p, json.Unmarshal(text, &p)
}

// Begin writes down that a project is paused, until End. A pause that there is stays as
// it is.
func (s Pauses) Begin(p api.ProjectPause) (*api.ProjectPause, error) {
	if was, err := s.own(p.Project); was != nil || err != nil {
		return was, err
	}
	dir, err := s.open()
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	text, err := json.Marshal(p)
	if err == nil {
		err = spool.WriteFile(dir, ProjectID(p.Project)+pausedSuffix, append(text, '\n'))
	}
	if err == nil {
		err = dir.Sync()
	}
	if err != nil {
		return nil, fmt.Errorf("writing down that the project is paused: %w", err)
	}
	return &p, nil
}

// End ends the pause of a project.
func (s Pauses) End(project string) error {
	dir, err := s.open()
	if err != nil {
		return err
	}
	defer dir.Close()
	err = ownfile.Remove(dir, idOf(project)+pausedSuffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return errors.Join(err, dir.Sync())
}

// open opens the directory of all projects, and makes it where it is missing.
func (s Pauses) open() (*os.File, error) {
	if err := os.MkdirAll(s.dir, 0o700); err != nil {
		return nil, err
	}
	return os.OpenFile(s.dir, os.O_RDONLY|hostfile.NoFollow, 0)
}

// All lists the projects that are paused. Where its path cannot be told, a project is
// named by its id.
func (s Pauses) All() ([]api.ProjectPause, error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !os.IsNotExist(err) {
		return nil, err
	}
	var out []api.ProjectPause
	for _, e := range entries {
		id, ok := strings.CutSuffix(e.Name(), pausedSuffix)
		if !ok || !IsProjectID(id) {
			continue
		}
		p, err := s.read(id)
		if errors.Is(err, fs.ErrNotExist) {
			continue // a person has ended it
		}
		if err != nil {
			p = unread(err)
		}
		if ProjectID(p.Project) != id {
			p.Project = id
		}
		out = append(out, p)
	}
	return out, nil
}
