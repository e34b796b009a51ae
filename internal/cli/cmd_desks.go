package cli

import (
	"context"
	"fmt"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cmdline"
	"carrel/internal/named"
	"carrel/internal/show"
	"carrel/internal/statedir"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

func (a *app) listCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the workspaces that stay, running or stopped",
		Long: `Lists the workspaces that were started with a name: those that run, and those that
have stopped and left something to look at (carrel cleanup removes it). carrel ps
lists everything that runs, also what carrel run has started.
` + cmdline.PlainStatus,
		Example: "  carrel list\n  carrel list --json",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.desks(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(a.out, show.NotNil(list))
			}
			if len(list) == 0 {
				fmt.Fprintln(a.out, "no workspace has been started")
				return nil
			}
			apiview.PrintWorkspaces(a.out, list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmdline.ExplainFlagErrors(cmd)
}

// desks lists all workspaces with names; what runs is asked itself.
func (a *app) desks(ctx context.Context) ([]api.Desk, error) {
	state := statedir.Path(a.getenv)
	list, err := named.List(state)
	if err != nil {
		return nil, err
	}
	entries, err := a.running()
	if err != nil {
		return nil, err
	}
	for i := range list {
		for _, e := range entries {
			if e.Name == list[i].Name {
				a.refresh(ctx, e, &list[i])
			}
		}
	}
	return list, nil
}

// refresh puts in what a running workspace says itself.
func (a *app) refresh(ctx context.Context, e supervisor.Entry, d *api.Desk) {
	r, err := a.call(ctx, e, api.Request{Op: api.OpStatus})
	if err != nil {
		if d.State = api.StateNoAnswer; !e.Alive() {
			d.State = api.StateStopped
		}
		return
	}
	d.Manifest, d.State, d.Pending, d.Events = e.Manifest, r.Status.State, r.Status.Pending, r.Status.Events
	d.Purpose, d.Profile, d.Policy, d.Digest, d.Ceiling = r.Status.Purpose, r.Status.Profile, r.Status.Policy, r.Status.Digest, r.Status.Ceiling
	if r.Status.Control != nil {
		d.Control = *r.Status.Control
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	if apps, err := e.Apps(ctx); err == nil {
		d.Apps = apps
	}
}

// desk gives one workspace as it is now.
func (a *app) desk(ctx context.Context, name string) (api.Desk, error) {
	if err := named.CheckName(name); err != nil {
		return api.Desk{}, err
	}
	d, err := named.Read(statedir.Path(a.getenv), name)
	if err != nil {
		return d, err
	}
	if e, ok, _ := a.deskRunning(name); ok {
		a.refresh(ctx, e, &d)
	}
	return d, nil
}

// lookCommand is a command that shows something of one workspace, running or stopped.
func (a *app) lookCommand(use, short, long, example string, tell func(d api.Desk, asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use + " NAME [flags]", Short: short, Long: long + cmdline.PlainStatus, Example: example, Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, err := a.desk(cmd.Context(), args[0])
			if err == nil && use != "status" { // which every caller may have
				err = a.sameCeiling(use, d)
			}
			if err != nil {
				return err
			}
			return tell(d, asJSON)
		},
		ValidArgsFunction: a.completeDesk,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) statusCommand() *cobra.Command {
	return a.lookCommand("status", "Show what a workspace is, what it may, and what runs in it",
		"Shows one workspace with its policy, its control, and its apps.\n", "  carrel status dev\n  carrel status dev --json",
		func(d api.Desk, asJSON bool) error {
			if asJSON {
				return show.JSON(a.out, d)
			}
			apiview.PrintWorkspace(a.out, d)
			return nil
		})
}

func (a *app) manifestCommand() *cobra.Command {
	return a.lookCommand("manifest", "Print what is written down of a workspace, as JSON", `Prints the manifest of a workspace: what it was started as, what ran in it, how
that ended. It is there after the workspace has stopped, until carrel cleanup.
`, "  carrel manifest dev", func(d api.Desk, _ bool) error { return show.JSON(a.out, d) })
}

func (a *app) artifactsCommand() *cobra.Command {
	return a.lookCommand("artifacts", "List the files that a workspace keeps outside", `Lists the files that a workspace keeps in the state directory: manifest, events,
the output of its apps, its supervisor's own log.
`, "  carrel artifacts dev", func(d api.Desk, asJSON bool) error { return a.printArtifacts(d.Artifact, asJSON) })
}

func (a *app) printArtifacts(list []api.Artifact, asJSON bool) error {
	if asJSON {
		return show.JSON(a.out, show.NotNil(list))
	}
	apiview.PrintArtifacts(a.out, list)
	return nil
}

func (a *app) cleanupCommand() *cobra.Command {
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use:   "cleanup [NAME] [flags]",
		Short: "Remove what stopped workspaces have left",
		Long: `Removes the files of a stopped workspace, or of all of them: manifest, events and
output. The history of the project stays. Where a person had paused it, that is
remembered. What runs is left alone.
` + cmdline.PlainStatus,
		Example: "  carrel cleanup --dry-run\n  carrel cleanup dev",
		Args:    cmdline.AtMostOne("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.cleanup(cmd.Context(), args, dry, asJSON)
		},
		ValidArgsFunction: a.completeDesk,
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmdline.ExplainFlagErrors(cmd)
}

// swept is one workspace of which something was removed.
type swept struct {
	Name    string         `json:"name"`
	Skipped string         `json:"skipped,omitempty"` // why
	Removed []api.Artifact `json:"removed"`
}

func (a *app) cleanup(ctx context.Context, args []string, dry, asJSON bool) error {
	list, err := a.desks(ctx) // sweeps the registry of the dead, too
	if err != nil {
		return err
	}
	var out []swept
	for _, d := range list {
		if len(args) == 1 && args[0] != d.Name {
			continue
		}
		one := swept{Name: d.Name}
		if d.State != api.StateStopped {
			one.Skipped = "it runs"
		} else if why := a.sameCeiling("cleanup", d); why != nil {
			one.Skipped = why.Error()
		} else if one.Removed, err = named.Sweep(statedir.Path(a.getenv), d.Name, dry, false); err != nil {
			one.Skipped = err.Error()
		}
		one.Removed = show.NotNil(one.Removed)
		out = append(out, one)
	}
	if len(args) == 1 && len(out) == 0 {
		return fmt.Errorf("no workspace %q\nhint: `carrel list` names them", args[0])
	}
	if asJSON {
		return show.JSON(a.out, show.NotNil(out))
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	for _, s := range out {
		if s.Skipped != "" {
			fmt.Fprintf(a.out, "left %s: %s\n", s.Name, show.OneLine(s.Skipped))
			continue
		}
		fmt.Fprintf(a.out, "%s %s: %s\n", verb, s.Name, show.Count(len(s.Removed), "file", "files"))
	}
	if len(out) == 0 {
		fmt.Fprintln(a.out, "nothing is left")
	}
	return nil
}

func (a *app) revokeCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "revoke NAME [flags]",
		Short: "Stop a workspace and remove what it has left",
		Long: `Stops a workspace, as carrel stop does, and removes its files, as carrel cleanup
does. The history of the project stays.
` + cmdline.PlainStatus,
		Example: "  carrel revoke dev",
		Args:    cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, ok, err := a.deskRunning(args[0])
			if err != nil {
				return err
			}
			var removed []api.Artifact
			if d, err := named.Read(statedir.Path(a.getenv), args[0]); err == nil {
				if err := a.sameCeiling("revoke", d); err != nil {
					return err
				}
			}
			if ok {
				if err := a.end(cmd.Context(), e); err != nil {
					return err
				}
			}
			for end := time.Now().Add(time.Second); ; time.Sleep(10 * time.Millisecond) {
				removed, err = named.Sweep(statedir.Path(a.getenv), args[0], false, false)
				if err == nil || time.Now().After(end) {
					break
				}
			}
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(a.out, swept{Name: args[0], Removed: show.NotNil(removed)})
			}
			fmt.Fprintf(a.out, "removed %s: %s\n", args[0], show.Count(len(removed), "file", "files"))
			return nil
		},
		ValidArgsFunction: a.completeDesk,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	return cmdline.ExplainFlagErrors(cmd)
}

// completeDesk names the workspaces that stay.
func (a *app) completeDesk(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	list, _ := named.List(statedir.Path(a.getenv))
	var names []string
	for _, d := range list {
		names = append(names, d.Name+"\t"+show.OneLine(show.Shorten(d.Purpose, show.ColumnMax)))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
