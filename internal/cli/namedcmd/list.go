package namedcmd

import (
	"context"
	"fmt"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/named"
	"carrel/internal/op"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func listCommand(env *cmdenv.Env) *cobra.Command {
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
			list, err := env.Caller().Desks(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, show.NotNil(list))
			}
			if len(list) == 0 {
				fmt.Fprintln(env.Out, "no workspace has been started")
				return nil
			}
			apiview.PrintWorkspaces(env.Out, list)
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

// lookCommand is a command that shows something of one workspace, running or stopped.
func lookCommand(env *cmdenv.Env, use, short, long, example string, tell func(d api.Desk, asJSON bool) error) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: use + " NAME [flags]", Short: short, Long: long + cmdline.PlainStatus, Example: example, Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			look := env.Caller().Look
			if use == "status" { // which every caller may have
				look = func(ctx context.Context, _, name string) (api.Desk, error) { return env.Caller().Desk(ctx, name) }
			}
			d, err := look(cmd.Context(), use, args[0])
			if err != nil {
				return err
			}
			return tell(d, asJSON)
		},
		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func statusCommand(env *cmdenv.Env) *cobra.Command {
	return lookCommand(env, "status", "Show what a workspace is, what it may, and what runs in it",
		"Shows one workspace with its policy, its control, and its apps.\n", "  carrel status dev\n  carrel status dev --json",
		func(d api.Desk, asJSON bool) error {
			if asJSON {
				return show.JSON(env.Out, d)
			}
			apiview.PrintWorkspace(env.Out, d)
			return nil
		})
}

func manifestCommand(env *cmdenv.Env) *cobra.Command {
	return lookCommand(env, "manifest", "Print what is written down of a workspace, as JSON", `Prints the manifest of a workspace: what it was started as, what ran in it, how
that ended. It is there after the workspace has stopped, until carrel cleanup.
`, "  carrel manifest dev", func(d api.Desk, _ bool) error { return show.JSON(env.Out, d) })
}

func artifactsCommand(env *cmdenv.Env) *cobra.Command {
	return lookCommand(env, "artifacts", "List the files that a workspace keeps outside", `Lists the files that a workspace keeps in the state directory: manifest, events,
the output of its apps, its supervisor's own log.
`, "  carrel artifacts dev", func(d api.Desk, asJSON bool) error { return printArtifacts(env, d.Artifact, asJSON) })
}

func printArtifacts(env *cmdenv.Env, list []api.Artifact, asJSON bool) error {
	if asJSON {
		return show.JSON(env.Out, show.NotNil(list))
	}
	apiview.PrintArtifacts(env.Out, list)
	return nil
}

func cleanupCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, dry bool
	cmd := &cobra.Command{
		Use:   "cleanup [NAME] [flags]",
		Short: "Remove what stopped workspaces have left",
		Long: `Removes the files of a stopped workspace, or of all of them: manifest, events and
output. Its audit log moves to those of runs (carrel audit list). The history of the
project stays. Where a person had paused it, that is remembered. What runs is left
alone.
` + cmdline.PlainStatus,
		Example: "  carrel cleanup --dry-run\n  carrel cleanup dev",
		Args:    cmdline.AtMostOne("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return cleanUp(cmd.Context(), env, args, dry, asJSON)
		},
		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().BoolVar(&dry, "dry-run", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

// rmCommand is cleanup of one workspace, by the name that containers have taught.
func rmCommand(env *cmdenv.Env) *cobra.Command {
	cmd := cleanupCommand(env)
	cmd.Use, cmd.Short = "rm NAME [flags]", "Remove what one stopped workspace has left"
	cmd.Example, cmd.Args = "  carrel stop dev\n  carrel rm dev", cmdline.OneArg("a workspace")
	return cmd
}

func cleanUp(ctx context.Context, env *cmdenv.Env, args []string, dry, asJSON bool) error {
	out, err := env.Caller().CleanUp(ctx, strings.Join(args, ""), dry)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, out)
	}
	verb := "removed"
	if dry {
		verb = "would remove"
	}
	for _, s := range out {
		if s.Skipped != "" {
			fmt.Fprintf(env.Out, "left %s: %s\n", s.Name, show.OneLine(s.Skipped))
			continue
		}
		fmt.Fprintf(env.Out, "%s %s: %s\n", verb, s.Name, show.Count(len(s.Removed), "file", "files"))
	}
	if len(out) == 0 {
		fmt.Fprintln(env.Out, "nothing is left")
	}
	return nil
}

func revokeCommand(env *cmdenv.Env) *cobra.Command {
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
			e, ok, err := env.Caller().WholeName(args[0])
			if err != nil {
				return err
			}
			var removed []api.Artifact
			if d, err := named.Read(env.Caller().State(), args[0]); err == nil {
				if err := env.Caller().SameCeiling("revoke", d); err != nil {
					return err
				}
			}
			if ok {
				if err := op.End(cmd.Context(), e); err != nil {
					return err
				}
			}
			for end := time.Now().Add(time.Second); ; time.Sleep(10 * time.Millisecond) {
				removed, err = named.Sweep(env.Caller().State(), args[0], false, false)
				if err == nil || time.Now().After(end) {
					break
				}
			}
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, op.Swept{Name: args[0], Removed: show.NotNil(removed)})
			}
			fmt.Fprintf(env.Out, "removed %s: %s\n", args[0], show.Count(len(removed), "file", "files"))
			return nil
		},
		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was removed as JSON")
	return cmd
}
