package target

import (
	"context"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/named"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"carrel/internal/statedir"
	"github.com/spf13/cobra"
)

// Desks lists all workspaces with names; what runs is asked itself.
func Desks(ctx context.Context, env *cmdenv.Env) ([]api.Desk, error) {
	state := statedir.Path(env.Getenv)
	list, err := named.List(state)
	if err != nil {
		return nil, err
	}
	entries, err := Running(env)
	if err != nil {
		return nil, err
	}
	for i := range list {
		for _, e := range entries {
			if e.Name == list[i].Name {
				refresh(ctx, e, &list[i])
			}
		}
	}
	return list, nil
}

// Desk gives one workspace with a name as it is now.
func Desk(ctx context.Context, env *cmdenv.Env, name string) (api.Desk, error) {
	if err := named.CheckName(name); err != nil {
		return api.Desk{}, err
	}
	d, err := named.Read(statedir.Path(env.Getenv), name)
	if err != nil {
		return d, err
	}
	d.Paused = statedir.At(statedir.Path(env.Getenv)).Pauses().Of(d.Project)
	if e, ok, _ := WholeName(env, name); ok {
		refresh(ctx, e, &d)
	}
	return d, nil
}

// refresh puts in what a running workspace says itself.
func refresh(ctx context.Context, e supervisor.Entry, d *api.Desk) {
	r, err := Call(ctx, e, api.Request{Op: api.OpStatus})
	if err != nil {
		if d.State = api.StateNoAnswer; !e.Alive() {
			d.State = api.StateStopped
		}
		return
	}
	d.Manifest, d.State, d.Pending, d.Events = e.Manifest, r.Status.State, r.Status.Pending, r.Status.Events
	d.Purpose, d.Profile, d.Policy, d.Digest, d.Ceiling = r.Status.Purpose, r.Status.Profile, r.Status.Policy, r.Status.Digest, r.Status.Ceiling
	d.Paused = r.Status.ProjectPaused
	if r.Status.Control != nil {
		d.Control = *r.Status.Control
	}
	ctx, cancel := context.WithTimeout(ctx, AnswerTime)
	defer cancel()
	if apps, err := e.Apps(ctx); err == nil {
		d.Apps = apps
	}
}

// SameCeiling refuses to take away what is left of a workspace that was started under
// another ceiling than the caller's.
func SameCeiling(env *cmdenv.Env, op string, d api.Desk) error {
	u, err := env.Session()
	if err != nil || u.Session == nil {
		return err
	}
	return sameCeiling(u.Hash(), op, d)
}

// sameCeiling is SameCeiling for a caller that is held to the ceiling of a hash.
func sameCeiling(hash, op string, d api.Desk) error {
	own, from := "", "none"
	if d.Ceiling != nil && d.Ceiling.Hash != "" {
		own, from = d.Ceiling.Hash, d.Ceiling.Hash+" ("+d.Ceiling.Source+")"
	}
	if own == hash {
		return nil
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: op, Subject: hash, Rule: "ceiling", Source: from,
		Message: fmt.Sprintf("ceiling: the caller is held to %q, and workspace %q was started under %s", hash, d.Name, from),
		Hint:    "`carrel stop` and `carrel status` work"}
}

// StoppedSame is SameCeiling for a workspace by its name. It lets one pass that is not
// there: the command that looks for it reports that.
func StoppedSame(env *cmdenv.Env, op, name string) error {
	if named.CheckName(name) != nil {
		return nil
	}
	d, err := named.Read(statedir.Path(env.Getenv), name)
	if err != nil {
		return nil
	}
	return SameCeiling(env, op, d)
}

// CompleteDesk names the workspaces that stay.
func CompleteDesk(env *cmdenv.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		list, _ := named.List(statedir.Path(env.Getenv))
		var names []string
		for _, d := range list {
			names = append(names, d.Name+"\t"+show.OneLine(show.Shorten(d.Purpose, show.ColumnMax)))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// CompleteApp names workspaces first and their apps then.
func CompleteApp(env *cmdenv.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) != 1 {
			return CompleteDesk(env)(cmd, args, word)
		}
		d, _ := Desk(cmd.Context(), env, args[0])
		var names []string
		for _, one := range d.Apps {
			names = append(names, one.ID+"\t"+show.OneLine(one.Name))
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
