package op

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/named"
	"carrel/internal/registry"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// A ProjectHeld is what a pause of a project, or its end, comes to.
type ProjectHeld struct {
	Project    string             `json:"project"`
	Paused     *api.ProjectPause  `json:"paused,omitempty"`
	Workspaces []ProjectWorkspace `json:"workspaces"` // that ran

	Was *api.ProjectPause `json:"-"` // before it; nil for none
}

// ProjectWorkspace is one workspace of it.
type ProjectWorkspace struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	State string `json:"state,omitempty"` // as it says itself afterwards
	Error string `json:"error,omitempty"` // it could not be reached, or has not stopped altogether
}

// maxPauseReason bounds what is kept of a reason, in bytes.
const maxPauseReason = 512

// PauseProject pauses the project of a directory. What is written down in the state directory
// decides; the workspaces that run are told to read it anew.
func (c *Caller) PauseProject(ctx context.Context, dir, reason string) (*ProjectHeld, error) {
	return holdProject(ctx, c, api.OpPause, dir, func(state *statedir.Dir, project string) (*api.ProjectPause, error) {
		by := "caller"
		if c.ByAgent() != nil {
			by = "agent"
		}
		return state.Pauses().Begin(api.ProjectPause{Project: project, Since: time.Now(), By: by, Reason: reason[:min(len(reason), maxPauseReason)]})
	})
}

// ResumeProject ends the pause of the project of a directory, once what is given has let it.
func (c *Caller) ResumeProject(ctx context.Context, dir string, may func(project string, p *api.ProjectPause) error) (*ProjectHeld, error) {
	return holdProject(ctx, c, api.OpResume, dir, func(state *statedir.Dir, project string) (*api.ProjectPause, error) {
		p := state.Pauses().Of(project)
		if p == nil {
			return nil, nil // workspaces may still have to be told
		}
		if err := may(project, p); err != nil {
			return nil, err
		}
		return nil, state.Pauses().End(project)
	})
}

// Pauses are those of all projects.
func (c *Caller) Pauses() ([]api.ProjectPause, error) { return statedir.At(c.State()).Pauses().All() }

// holdProject has a pause begun or ended, and tells the workspaces. An error with an answer
// names those that have not done as it says.
func holdProject(
	ctx context.Context, c *Caller, operation, dir string, change func(state *statedir.Dir, project string) (*api.ProjectPause, error),
) (*ProjectHeld, error) {
	if err := NoZeroBytes(operation, dir); err != nil {
		return nil, err
	}
	if c.Inside() {
		return nil, errors.New("a project is paused outside the walls\nhint: `carrel control NAME paused` works in here")
	}
	state, err := statedir.Open(c.State())
	if err != nil {
		return nil, err
	}
	project, err := heldProject(c, state, operation, dir)
	if err != nil {
		return nil, err
	}
	done := &ProjectHeld{Project: project, Was: state.Pauses().Of(project)}
	if done.Paused, err = change(state, project); err != nil {
		return nil, err
	}
	return done, done.tell(ctx, c)
}

// Called is what people call it.
func (w *ProjectWorkspace) Called() string {
	if w.Name != "" {
		return w.Name
	}
	return w.ID
}

// heldProject is the project that a pause, or its end, is about: that of dir, "" for the
// working directory. A pause is ended by the path or the id that it has, too: the directory
// may be gone.
func heldProject(c *Caller, state *statedir.Dir, operation, dir string) (string, error) {
	at := dir
	if !statedir.IsProjectID(dir) {
		var err error
		if at, err = c.Abs(dir); err != nil {
			return "", fmt.Errorf("%w\nhint: `carrel ps` lists what is paused; its directory can be given", err)
		}
	}
	if operation == api.OpResume {
		paused, err := state.Pauses().All()
		if err != nil {
			return "", err
		}
		for _, p := range paused {
			if p.Project == at || at == statedir.ProjectID(p.Project) {
				return p.Project, nil
			}
		}
	}
	if err := IsDirectory(at); err != nil {
		return "", err
	}
	return c.ProjectOf(at)
}

// tell has the workspaces of the project that run read its pause anew. The error names those
// that have not done as it says.
func (h *ProjectHeld) tell(ctx context.Context, c *Caller) error {
	entries, err := ofProject(c, h.Project)
	ctx, cancel := context.WithTimeout(ctx, PauseTime)
	defer cancel()
	h.Workspaces = make([]ProjectWorkspace, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			w := ProjectWorkspace{ID: e.ID, Name: e.Name}
			if r, err := e.Call(ctx, api.Request{Op: api.OpProject}); err != nil && e.Alive() {
				w.Error = err.Error()
			} else if err != nil {
				w.State = api.StateStopping
			} else {
				w.State = r.Status.State
			}
			h.Workspaces[i] = w
		})
	}
	wg.Wait()
	var failed []string
	for _, w := range h.Workspaces {
		if w.Error != "" {
			failed = append(failed, w.Called()+": "+show.OneLine(w.Error))
		}
	}
	if err == nil && len(failed) > 0 {
		err = fmt.Errorf("it is written down, but not every workspace has done so: %s\nhint: `carrel stop` ends one", strings.Join(failed, "; "))
	}
	return err
}

// ofProject lists the workspaces that run in a project and in those below it, also those that
// were started with another XDG_RUNTIME_DIR and have a name.
func ofProject(c *Caller, project string) ([]supervisor.Entry, error) {
	dirs := registry.Dirs(c.Getenv("XDG_RUNTIME_DIR"), c.State())
	list, err := named.List(c.State())
	if err != nil {
		return nil, err
	}
	for _, d := range list {
		if d.State != api.StateStopped && d.Runtime != "" && !slices.Contains(dirs, d.Runtime) {
			dirs = append(dirs, d.Runtime)
		}
	}
	entries, err := supervisor.Find(dirs)
	entries = slices.DeleteFunc(entries, func(e supervisor.Entry) bool { return !statedir.PausedWith(e.Project, project) })
	return entries, err
}
