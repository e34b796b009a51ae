// Package target finds the workspace that an argument of a command names: one that runs,
// by its id, the beginning of that, or its name; or one that has stopped and left
// something to look at. It also offers the names to a shell that completes a line.
//
// What it finds carries the ceiling that the caller is held to, so that a supervisor
// under another ceiling refuses the caller. What is left of a stopped workspace has no
// supervisor, and SameCeiling compares the two here.
//
// The package asks and reads. It starts and changes nothing but for End, which stops a
// workspace and waits.
package target

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/inside"
	"carrel/internal/named"
	"carrel/internal/registry"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"carrel/internal/statedir"
	"github.com/spf13/cobra"
)

// AnswerTime is how long a supervisor may take for an answer. What it holds is
// in memory; only pausing takes longer.
const (
	AnswerTime = 3 * time.Second
	PauseTime  = 20 * time.Second
)

// endTime is how long a workspace has to end: it gets five seconds to do it in
// order, and then is made to.
const endTime = 15 * time.Second

// Places are where running workspaces are registered, for the environment of a command.
func Places(env *cmdenv.Env) []string {
	return registry.Dirs(env.Getenv("XDG_RUNTIME_DIR"), statedir.Path(env.Getenv))
}

// Running finds the live workspaces. A place of the registry that cannot be
// looked into is told, and does not hide the others.
func Running(env *cmdenv.Env) ([]supervisor.Entry, error) {
	entries, err := supervisor.Find(Places(env))
	if err != nil && len(entries) > 0 {
		fmt.Fprintf(env.Err, "carrel: %s\n", show.OneLine(err.Error()))
		err = nil
	}
	if err != nil {
		return entries, err
	}
	return env.Held(entries)
}

// Named finds the running workspace that an argument names.
func Named(env *cmdenv.Env, prefix string) (supervisor.Entry, error) {
	entries, err := Running(env)
	if err != nil {
		return supervisor.Entry{}, err
	}
	e, err := supervisor.Pick(entries, prefix)
	if err != nil && named.CheckName(prefix) == nil {
		if whole, ok, _ := WholeName(env, prefix); ok {
			return whole, nil
		}
	}
	if err != nil && !errors.Is(err, supervisor.ErrAmbiguous) && named.CheckName(prefix) == nil {
		if d, e := named.Read(statedir.Path(env.Getenv), prefix); e == nil && d.State == api.StateStopped {
			return supervisor.Entry{}, fmt.Errorf("workspace %q does not run\nhint: `carrel start %s` starts it anew, `carrel status %s` says what became of it", prefix, prefix, prefix)
		}
	}
	if err != nil {
		return e, NoSuch("workspace", prefix, "carrel ps", err)
	}
	return e, nil
}

// WholeName finds a running workspace by its whole name.
func WholeName(env *cmdenv.Env, name string) (supervisor.Entry, bool, error) {
	entries, err := Running(env)
	for _, e := range entries {
		if e.Name == name {
			return e, true, nil
		}
	}
	// It may have been started with another XDG_RUNTIME_DIR.
	if d, e := named.Read(statedir.Path(env.Getenv), name); e == nil && d.State != api.StateStopped && d.Runtime != "" {
		entries, _ = supervisor.Find([]string{d.Runtime})
		if entries, err = env.Held(entries); err != nil {
			return supervisor.Entry{}, false, err
		}
		for _, e := range entries {
			if e.Name == name {
				return e, true, nil
			}
		}
	}
	return supervisor.Entry{}, false, err
}

// NoSuch says why an id or its beginning names nothing.
func NoSuch(what, prefix, list string, err error) error {
	if errors.Is(err, supervisor.ErrAmbiguous) {
		return fmt.Errorf("%s %q: %w\nhint: give more of the id", what, prefix, err)
	}
	return fmt.Errorf("no %s %q\nhint: `%s` lists them", what, prefix, list)
}

// Called is what people call a workspace.
func Called(e supervisor.Entry) string { return cmp.Or(e.Name, e.ID) }

// Call asks a workspace for something that it answers at once.
func Call(ctx context.Context, e supervisor.Entry, req api.Request) (api.Reply, error) {
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	return e.Call(ctx, req)
}

// End stops a workspace and returns when it has ended.
func End(ctx context.Context, e supervisor.Entry) error {
	ctx, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	if _, err := e.Call(ctx, api.Request{Op: api.OpStop}); err != nil && e.Alive() {
		return err
	}
	if err := e.WaitEnd(ctx); err != nil {
		return fmt.Errorf("%w\nhint: kill -KILL %d ends its supervisor and everything inside", err, e.PID)
	}
	return nil
}

// Inside says whether this process is behind walls of ours.
func Inside(env *cmdenv.Env) bool {
	_, err := os.Stat(inside.Socket)
	return env.Inside() && err == nil
}

// CompleteWorkspace names the running workspaces.
func CompleteWorkspace(env *cmdenv.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		entries, _ := Running(env)
		var names []string
		for _, e := range entries {
			names = append(names, Called(e)+"\t"+show.OneLine(show.Shorten(strings.Join(e.Argv, " "), show.ColumnMax)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
