package namedcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"carrel/internal/api"
	"carrel/internal/apiview"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/named"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

func appsCommand(env *cmdenv.Env) *cobra.Command {
	return lookCommand(env, "apps", "List what was started in a workspace",
		"Lists the commands that were started in a workspace, also after it has stopped.\n", "  carrel apps dev\n  carrel apps dev --json",
		func(d api.Desk, asJSON bool) error {
			switch {
			case asJSON:
				return show.JSON(env.Out, show.NotNil(d.Apps))
			case len(d.Apps) == 0:
				fmt.Fprintln(env.Out, "nothing was started")
			default:
				apiview.PrintApps(env.Out, "", d.Apps)
			}
			return nil
		})
}

// appCommand is a request about one app that is answered with what it is then.
func appCommand(env *cmdenv.Env, op, short, long, example string, limit bool, tell func(api.App)) *cobra.Command {
	var asJSON bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: op + " NAME APP [flags]", Short: short, Long: long, Example: example, Args: cmdline.TwoArgs("an app"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			r, err := e.Call(ctx, api.Request{Op: op, App: args[1]})
			if errors.Is(err, context.DeadlineExceeded) {
				return &cmdenv.ExitError{Status: api.ExitTimeout, Err: fmt.Errorf("app %s still runs after %s", show.OneLine(args[1]), timeout)}
			}
			if err != nil {
				return err
			}
			if asJSON {
				err = show.JSON(env.Out, r.App)
			} else {
				tell(*r.App)
			}
			if op == api.OpWait {
				env.Status = r.App.Exit
			}
			return err
		},
		ValidArgsFunction: target.CompleteApp(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the app as JSON")
	if limit {
		cmd.Flags().DurationVar(&timeout, "timeout", 0, "give up after this time, with status 124; 0 for never")
	}
	return cmd
}

func waitCommand(env *cmdenv.Env) *cobra.Command {
	return appCommand(env, api.OpWait, "Wait for the end of an app", `Waits until an app has ended, and ends with its status.
`+cmdline.CommandStatus, "  carrel wait dev server\n  carrel wait dev 3f2a91c0 --timeout 5m", true, func(one api.App) {
		fmt.Fprintf(env.Out, "%s %s: %s\n", one.ID, show.OneLine(one.Name), apiview.AppState(one))
	})
}

func killCommand(env *cmdenv.Env) *cobra.Command {
	return appCommand(env, api.OpKill, "End an app, and all that it has started", `Asks an app and everything that it has started to end, as SIGTERM does, and after five
seconds makes them: also what has left its session or its parents.
`+cmdline.PlainStatus, "  carrel kill dev server", false, func(one api.App) {
		fmt.Fprintf(env.Out, "ended %s %s\n", one.ID, show.OneLine(one.Name))
	})
}

func logsCommand(env *cmdenv.Env) *cobra.Command {
	req := api.Request{Op: api.OpLogs}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "logs NAME [APP] [flags]",
		Short: "Print what an app has written",
		Long: `Prints the output of an app that was launched, standard output to standard output
and the rest to standard error, as it was written: on a terminal what could do harm
is escaped. The newest 8 MiB of each are kept, also after the workspace has stopped.
APP may be left out where only one was launched.
` + cmdline.PlainStatus,
		Example: "  carrel logs dev\n  carrel logs dev server --tail 4096\n  carrel logs dev server --follow --stream stderr",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return cmdline.TwoArgs("an app")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error { return printLogs(cmd.Context(), env, args, req, asJSON) },

		ValidArgsFunction: target.CompleteApp(env),
	}
	cmd.Flags().BoolVarP(&req.Follow, "follow", "f", false, "go on until the app ends")
	cmd.Flags().StringVar(&req.Stream, "stream", "", "only stdout or stderr")
	cmd.Flags().Int64Var(&req.Tail, "tail", 0, "only the last BYTES of each")
	cmd.Flags().Uint64Var(&req.Since, "since", 0, "only from this place on, as --json tells it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each piece as one JSON value a line")
	cmdline.CompleteFlag(cmd, "stream", cobra.FixedCompletions([]string{api.StreamStdout, api.StreamStderr}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func printLogs(ctx context.Context, env *cmdenv.Env, args []string, req api.Request, asJSON bool) error {
	tell := func(o *api.Output) error {
		if asJSON {
			return show.Line(env.Out, o)
		}
		to := env.Out
		if o.Stream == api.StreamStderr {
			to = env.Err
		}
		if o.Lost > 0 {
			fmt.Fprintf(env.Err, "carrel: %d bytes before this are kept no more\n", o.Lost)
		}
		return writeSafely(to, o.Data)
	}
	return env.Caller().Logs(ctx, args, req, tell)
}

// writeSafely prints bytes from inside: escaped where a terminal shows them.
func writeSafely(to io.Writer, b []byte) error {
	if show.IsTerminal(to) {
		_, err := io.WriteString(to, show.Escape(string(b)))
		return err
	}
	_, err := to.Write(b)
	return err
}

func eventsCommand(env *cmdenv.Env) *cobra.Command {
	req := api.Request{Op: api.OpEvents}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "events NAME [flags]",
		Short: "Print what has happened in a workspace",
		Long: `Prints the events of a workspace, oldest first: what was started and how it ended,
what was refused, who changed its control. What was typed, and values of variables,
are never among them, only sizes. They are there after the workspace has stopped.
` + cmdline.PlainStatus,
		Example: "  carrel events dev --since 120\n  carrel events dev --follow --json",
		Args:    cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return printEvents(cmd.Context(), env, args[0], req, asJSON)
		},

		ValidArgsFunction: target.CompleteDesk(env),
	}
	cmd.Flags().BoolVarP(&req.Follow, "follow", "f", false, "go on with what happens")
	cmd.Flags().Uint64Var(&req.Since, "since", 0, "only those after this number")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print each as one JSON value a line")
	return cmd
}

func printEvents(ctx context.Context, env *cmdenv.Env, name string, req api.Request, asJSON bool) error {
	tell := func(e api.Event) error {
		if asJSON {
			return show.Line(env.Out, e)
		}
		_, err := fmt.Fprintln(env.Out, apiview.EventText(e))
		return err
	}
	e, ok, err := env.Caller().WholeName(name)
	if err != nil {
		return err
	}
	if !ok {
		if err := env.Caller().StoppedSame("events", name); err != nil {
			return err
		}
		return named.Events(env.Caller().State(), name, req.Since, tell)
	}
	return streamEvents(ctx, e, req, tell)
}

func streamEvents(ctx context.Context, e supervisor.Entry, req api.Request, tell func(api.Event) error) error {
	return e.Stream(ctx, req, func(r api.Reply) error {
		if r.Event == nil {
			return nil
		}
		return tell(*r.Event)
	})
}
