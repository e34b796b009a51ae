// Package openhistory opens the history of a project for a command: it tells what is found
// there, such as a step that was interrupted, and has the named workspaces of the project
// release the history for as long as a command needs it. It also takes steps back and
// tells how that went, which both carrel undo and a rollback of carrel deny do.
//
// Package workspace decides what may be undone and told. This package prints.
package openhistory

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/history/journal"
	"carrel/internal/policy"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// Open opens the history of a project and tells what was found there.
func Open(env *cmdenv.Env, project string) (*projecthistory.History, error) {
	req, err := Request(env, project)
	if err != nil {
		return nil, err
	}
	return OpenFor(env, req, "")
}

// MayChange refuses what a program asks for in a paused project, for itself or for the
// workspace tellAs. A person may undo there.
func MayChange(env *cmdenv.Env, dir, tellAs string) error {
	if tellAs == "" && env.ByAgent() == nil {
		return nil
	}
	project, err := env.ProjectOf(dir)
	if err != nil {
		return err
	}
	if p := statedir.At(statedir.Path(env.Getenv)).Pauses().Of(project); p != nil {
		return supervisor.RefusePaused("undo", p)
	}
	return nil
}

// OpenFor is Open for a request. It tells only what the running workspace tellAs shows,
// "" for no such limit.
func OpenFor(env *cmdenv.Env, req projecthistory.Request, tellAs string) (*projecthistory.History, error) {
	if err := cmdenv.IsDirectory(req.Cwd); err != nil {
		return nil, err
	}
	debug.SetGCPercent(50) // a step of a million paths is large, and all of it is looked at once
	h, err := projecthistory.Open(req)
	if err != nil {
		return nil, err
	}
	if tellAs != "" {
		h.TellAs(sighted(env, tellAs))
	}
	TellElsewhere(env, h)
	for _, n := range h.Closed {
		if err := tellClosed(env, h, n); err != nil {
			h.Close()
			return nil, err
		}
	}
	if h.Open != nil {
		fmt.Fprintf(env.Err, "carrel: %s\n", show.OneLine(h.Redacted(h.Open).Error()))
	}
	for _, d := range h.Log.Damaged {
		fmt.Fprintf(env.Err, "carrel: the history is damaged: %s\n", show.OneLine(d))
	}
	return h, nil
}

// TellElsewhere says where a history is that is no longer looked at: history.dir was
// changed, and what is kept stays where it is.
func TellElsewhere(env *cmdenv.Env, h *projecthistory.History) {
	if h.Elsewhere != "" {
		fmt.Fprintf(env.Err, "carrel: there are no steps in %s; an older history of this project is in %s, from when history.dir was another\n", show.OneLine(show.QuoteIf(h.Dir)), show.OneLine(show.QuoteIf(h.Elsewhere)))
	}
}

// maxSighted bounds the paths of one question, in bytes: as base64 they are a line.
const maxSighted = 256 << 10

// sighted asks a running workspace how much it shows of paths.
func sighted(env *cmdenv.Env, id string) projecthistory.Sighted {
	return func(paths []string) (out []api.Sight, err error) {
		entries, err := target.Running(env)
		i := slices.IndexFunc(entries, func(e supervisor.Entry) bool { return e.ID == id })
		if err == nil && i < 0 {
			err = fmt.Errorf("workspace %q does not run any more", id)
		}
		for err == nil && len(paths) > 0 {
			req, size := api.Request{Op: api.OpSight}, 0
			for len(paths) > 0 && (size == 0 || size+len(paths[0]) < maxSighted) {
				req.Paths, size = append(req.Paths, []byte(paths[0])), size+len(paths[0])+1
				paths = paths[1:]
			}
			var r api.Reply
			r, err = target.Call(context.Background(), entries[i], req)
			out = append(out, []api.Sight(r.Sights)...)
		}
		return out, err
	}
}

// tellClosed tells of a step that had been interrupted: of none for an undo that
// had not changed anything.
func tellClosed(env *cmdenv.Env, h *projecthistory.History, n uint64) error {
	s := h.Log.Step(n)
	switch {
	case s == nil:
		fmt.Fprintf(env.Err, "carrel: an undo was interrupted before it changed anything\n")
	case s.Begin.Kind == journal.StepRun || s.Begin.Kind == journal.StepJob:
		fmt.Fprintf(env.Err, "carrel: step %d was interrupted; `carrel show %d` lists what it had done, `carrel undo --step %d` takes it back\n", n, n, n)
	default:
		fmt.Fprintf(env.Err, "carrel: the %s of step %d was interrupted and is finished now\n", s.Begin.Kind, s.Begin.Of)
		if s.End == nil {
			return nil
		}
		for _, at := range s.End.Left {
			unnamed, err := h.Unnamed([]string{string(at)})
			if err != nil {
				return err
			}
			if !unnamed[string(at)] {
				fmt.Fprintf(env.Err, "carrel: %s was changed by another process meanwhile and is left as it is\n", show.OneLine(string(at)))
			}
		}
	}
	return nil
}

// Request is what the history of a project is opened by.
func Request(env *cmdenv.Env, project string) (projecthistory.Request, error) {
	under, err := env.Ceilings("")
	return projecthistory.Request{Cwd: project, Environ: env.Environ, Ceilings: under, Default: policy.Human, Version: cmdenv.Version()}, err
}
