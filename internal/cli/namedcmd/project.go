package namedcmd

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/named"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// projectHeld is what a pause of a project, or its end, comes to.
type projectHeld struct {
	Project    string             `json:"project"`
	Paused     *api.ProjectPause  `json:"paused,omitempty"`
	Workspaces []projectWorkspace `json:"workspaces"` // that ran
}

type projectWorkspace struct {
	ID    string `json:"id"`
	Name  string `json:"name,omitempty"`
	State string `json:"state,omitempty"` // as it says itself afterwards
	Error string `json:"error,omitempty"` // it could not be reached, or has not stopped altogether
}

// maxPauseReason bounds what is kept of a reason, in bytes.
const maxPauseReason = 512

// holdProject pauses the project of a directory, or ends its pause. What is written down in
// the state directory decides; the workspaces that run are told to read it anew.
func holdProject(ctx context.Context, env *cmdenv.Env, op, dir, reason string, asJSON bool) error {
	if env.Inside() {
		return errors.New("a project is paused outside the walls\nhint: `carrel control NAME paused` works in here")
	}
	state, err := statedir.Open(statedir.Path(env.Getenv))
	if err != nil {
		return err
	}
	project, err := heldProject(env, state, op, dir)
	if err != nil {
		return err
	}
	done := projectHeld{Project: project}
	was := state.Pauses().Of(project)
	if op == api.OpPause {
		by := "caller"
		if env.ByAgent() != nil {
			by = "agent"
		}
		done.Paused, err = state.Pauses().Begin(api.ProjectPause{Project: project, Since: time.Now(), By: by, Reason: reason[:min(len(reason), maxPauseReason)]})
	} else {
		err = unpause(env, state, project)
	}
	if err != nil {
		return err
	}
	failed := done.tell(ctx, env)
	if asJSON {
		return errors.Join(show.JSON(env.Out, done), failed)
	}
	name := show.OneLine(show.QuoteIf(project))
	switch {
	case done.Paused != nil:
		fmt.Fprintf(env.Out, "paused %s: nothing is started there\n", name)
	case was == nil:
		fmt.Fprintf(env.Out, "%s was not paused\n", name)
	default:
		fmt.Fprintf(env.Out, "resumed %s\n", name)
	}
	for _, w := range done.Workspaces {
		if w.Error == "" {
			fmt.Fprintf(env.Out, "  %s %s\n", w.called(), w.State)
		}
	}
	return failed
}

func (w *projectWorkspace) called() string {
	if w.Name != "" {
		return w.Name
	}
	return w.ID
}

// heldProject is the project that a pause, or its end, is about: that of dir, "" for the
// working directory. A pause is ended by the path or the id that it has, too: the directory
// may be gone.
func heldProject(env *cmdenv.Env, state *statedir.Dir, op, dir string) (string, error) {
	at := dir
	if !statedir.IsProjectID(dir) {
		var err error
		if at, err = filepath.Abs(dir); err != nil {
			return "", fmt.Errorf("%w\nhint: `carrel ps` lists what is paused; its directory can be given", err)
		}
	}
	if op == api.OpResume {
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
	if err := cmdenv.IsDirectory(at); err != nil {
		return "", err
	}
	return env.ProjectOf(at)
}

// unpause ends the pause of a project, for a person who types its name.
func unpause(env *cmdenv.Env, state *statedir.Dir, project string) error {
	p := state.Pauses().Of(project)
	if p == nil {
		return nil // workspaces may still have to be told
	}
	if p.Project != project {
		return fmt.Errorf("%s, which is around %s\nhint: `carrel resume --project %s` ends that",
			apiview.PausedText(p), show.OneLine(show.QuoteIf(project)), show.OneLine(show.QuoteIf(p.Project)))
	}
	why := env.ByAgent()
	if why == nil {
		word := show.TypedName(project)
		typed, err := supervisor.Confirm(fmt.Sprintf("%s. Type %s to let it go on: ", apiview.PausedText(p), word), word)
		switch {
		case err == nil && typed:
			return state.Pauses().End(project)
		case err == nil:
			return errors.New("that is not its name; nothing was changed")
		case !errors.As(err, &why):
			return err
		}
	}
	why.Operation, why.Message = api.OpResume, "only a person at a terminal may end the pause of a project: "+why.Subject
	why.Rule, why.Hint = "less control needs the human channel",
		"type `carrel resume --project` yourself, in a terminal of your own outside the workspace"
	return why
}

// tell has the workspaces of the project that run read its pause anew. The error names those
// that have not done as it says.
func (h *projectHeld) tell(ctx context.Context, env *cmdenv.Env) error {
	entries, err := ofProject(env, h.Project)
	ctx, cancel := context.WithTimeout(ctx, target.PauseTime)
	defer cancel()
	h.Workspaces = make([]projectWorkspace, len(entries))
	var wg sync.WaitGroup
	for i, e := range entries {
		wg.Go(func() {
			w := projectWorkspace{ID: e.ID, Name: e.Name}
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
			failed = append(failed, w.called()+": "+show.OneLine(w.Error))
		}
	}
	if err == nil && len(failed) > 0 {
		err = fmt.Errorf("it is written down, but not every workspace has done so: %s\nhint: `carrel stop` ends one", strings.Join(failed, "; "))
	}
	return err
}

// ofProject lists the workspaces that run in a project and in those below it, also those that
// were started with another XDG_RUNTIME_DIR and have a name.
func ofProject(env *cmdenv.Env, project string) ([]supervisor.Entry, error) {
	dirs := target.Places(env)
	list, err := named.List(statedir.Path(env.Getenv))
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
