package openhistory

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/named"
	"carrel/internal/policy"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
)

// Release has the named workspaces of a project stand still and let go of its history,
// until what it gives is called. One that belongs to a single command holds on: it is
// the command that comes after this that says so.
func Release(env *cmdenv.Env, project string) (func(), error) {
	if err := env.MayUndo("undo", policy.UndoAll); err != nil {
		return nil, err
	}
	at, err := env.ProjectOf(project)
	if err != nil {
		return func() {}, nil // the command that opens the history says it better
	}
	desks, err := named.List(statedir.Path(env.Getenv))
	if err != nil {
		return nil, err
	}
	var talks []*supervisor.Conversation
	release := func() {
		for _, t := range talks {
			t.Close()
		}
	}
	for _, d := range desks {
		if d.State == api.StateStopped || d.Project != at {
			continue
		}
		e, ok, err := target.WholeName(env, d.Name)
		if err != nil || !ok {
			continue // what is in the way is told by the command that comes after this
		}
		t, err := e.Open(context.Background(), api.Request{Op: api.OpYield, Reason: "carrel " + env.Args[0]})
		if err == nil {
			talks = append(talks, t)
			_, _, err = t.Next()
		}
		var why *api.Denial
		if errors.As(err, &why) {
			release()
			return nil, fmt.Errorf("workspace %q holds the history: %w", e.Name, err)
		}
		if err != nil && e.Alive() {
			release()
			return nil, err
		}
	}
	return release, nil
}
