package cli

import (
	"context"
	"fmt"
	"os"

	"carrel/internal/api"
	"carrel/internal/attach"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/inside"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

var controlWords = []string{api.ControlActive, api.ControlReadOnly, api.ControlTakeover, api.ControlPaused}

func (a *app) controlCommand() *cobra.Command {
	var asJSON, ask bool
	var reason string
	cmd := &cobra.Command{
		Use:   "control NAME [MODE] [flags]",
		Short: "Say who may do what in a workspace, from now on",
		Long: `Shows the control of a running workspace, or changes it:

  active     everything that its policy allows
  read_only  what runs goes on; nobody starts, ends or types anything
  takeover   you act (at a terminal of your own, or in a viewer: carrel watch), nobody else
  paused     and all its processes are frozen

Any program may ask for less. Back to more, only a person at a terminal outside the
workspace may go. The mode is kept: a workspace that is started anew is under it.
Looking, and carrel stop, work in every mode.

With --ask a program that may not change it back files that as something to approve:
the id is printed, carrel approvals ID says what became of it.
` + cmdline.PlainStatus,
		Example: "  carrel control dev\n  carrel control dev read_only --reason \"I look at the diff\"\n  carrel control dev active\n  carrel control dev active --ask --reason \"the tests pass\"",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return fmt.Errorf("%q takes a workspace and a mode, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			req := api.Request{Op: api.OpControl, Reason: reason}
			if len(args) == 2 {
				req.Mode = args[1]
			}
			if !ask {
				return a.control(cmd.Context(), args[0], req, asJSON)
			}
			if req.Mode == "" {
				return fmt.Errorf("--ask needs a mode to ask for\nhint: %s", cmdline.Usage(cmd))
			}
			req.Op = api.OpAsk
			return a.askControl(cmd.Context(), args[0], req, asJSON)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return controlWords, cobra.ShellCompDirectiveNoFileComp
			}
			return target.CompleteWorkspace(a.Env)(cmd, args, word)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "say why; it is shown to whoever is refused")
	cmd.Flags().BoolVar(&ask, "ask", false, "file it for a person to approve, instead of changing it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the control as JSON; with --ask the approval")
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) control(ctx context.Context, name string, req api.Request, asJSON bool) error {
	e, err := target.Named(a.Env, name)
	if err != nil {
		if req.Mode != "" && target.Inside(a.Env) {
			return a.holdFromInside(func() error { return inside.Control(req.Mode) }, req.Mode)
		}
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, target.PauseTime)
	defer cancel()
	r, err := e.Call(ctx, req)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(a.Out, r.Control)
	}
	fmt.Fprintf(a.Out, "%s %s\n", name, r.Control.Mode)
	if req.Mode == api.ControlTakeover && show.IsTerminal(a.Err) {
		fmt.Fprintf(a.Err, "carrel: you have taken over: what is typed there can be seen by the programs of the workspace; `carrel control %s active` hands back\n", name)
	}
	return nil
}

// askControl files a change of the control for a person.
func (a *app) askControl(ctx context.Context, name string, req api.Request, asJSON bool) error {
	e, err := target.Named(a.Env, name)
	if err != nil {
		return err
	}
	r, err := target.Call(ctx, e, req)
	switch {
	case err != nil:
		return err
	case r.Approval == nil && asJSON: // it is that already
		return show.JSON(a.Out, r.Control)
	case r.Approval == nil:
		fmt.Fprintf(a.Out, "%s %s\n", name, r.Control.Mode)
	case asJSON:
		return show.JSON(a.Out, r.Approval)
	default:
		fmt.Fprintf(a.Out, "%s waits: a person types `carrel approve %s`\n", r.Approval.ID, r.Approval.ID)
	}
	return nil
}

// holdFromInside asks the supervisor of the workspace that this process is in.
func (a *app) holdFromInside(ask func() error, done string) error {
	if err := ask(); err != nil {
		return err
	}
	fmt.Fprintln(a.Out, done)
	return nil
}

func (a *app) attachCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "attach NAME [APP]",
		Short: "Sit down at a terminal of a workspace",
		Long: `Hands this terminal to one that was started with carrel terminal: you see its
screen, and what you type goes there. Ctrl-] lets go of it; it runs on.
` + cmdline.CommandStatus,
		Example: "  carrel attach dev\n  carrel attach dev 3f2a91c0",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 || len(args) == 2 {
				return nil
			}
			return fmt.Errorf("%q takes a workspace and an app, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := target.Named(a.Env, args[0])
			if err != nil {
				return err
			}
			app := ""
			if len(args) == 2 {
				app = args[1]
			} else if app, err = a.onlyTerminal(cmd.Context(), e); err != nil {
				return err
			}
			return a.attach(cmd.Context(), e, app)
		},
		ValidArgsFunction: target.CompleteApp(a.Env),
	}
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) attach(ctx context.Context, e supervisor.Entry, app string) error {
	if !show.IsTerminal(a.Out) || !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("attach needs a terminal here\nhint: `carrel terminal read %s APP` shows the screen as text", e.Name)
	}
	last, detached, err := attach.To(ctx, e, app)
	if err != nil {
		return err
	}
	if detached {
		fmt.Fprintf(a.Out, "\r\ncarrel: let go of %s; `carrel attach %s %s` comes back\r\n", app, e.Name, app)
		return nil
	}
	a.Status = last.Exit
	return nil
}

// onlyTerminal is the one terminal that runs.
func (a *app) onlyTerminal(ctx context.Context, e supervisor.Entry) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, target.AnswerTime)
	defer cancel()
	apps, err := e.Apps(ctx)
	if err != nil {
		return "", err
	}
	var ids []string
	for _, one := range apps {
		if one.Kind == api.AppTerminal && one.Running {
			ids = append(ids, one.ID)
		}
	}
	switch len(ids) {
	case 1:
		return ids[0], nil
	case 0:
		return "", fmt.Errorf("no terminal runs in %s\nhint: `carrel terminal start %s` makes one", e.Name, e.Name)
	}
	return "", fmt.Errorf("several terminals run in %s: %q\nhint: name one of them", e.Name, ids)
}
