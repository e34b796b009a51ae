package namedcmd

import (
	"context"
	"errors"
	"fmt"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/inside"
	"carrel/internal/op"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

var controlWords = []string{api.ControlActive, api.ControlReadOnly, api.ControlTakeover, api.ControlPaused}

func controlCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, ask bool
	var reason string
	cmd := &cobra.Command{
		Use:   "control NAME [MODE] [flags]",
		Short: "Say who may do what in a workspace, from now on",
		Long: `Shows the control of a running workspace, or changes it:

  active     everything that its policy allows
  read_only  what runs goes on; nothing is started, ended or typed
  takeover   you act (at a terminal of your own, or in a viewer: carrel desktop watch), and only you
  paused     and all its processes are frozen

Any program may ask for less. Back to more, only a person at a terminal outside the
workspace may go, who types the workspace's name. The mode is kept: a workspace that is started anew is under it.
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
				return changeControl(cmd.Context(), env, args[0], req, asJSON)
			}
			if req.Mode == "" {
				return fmt.Errorf("--ask needs a mode to ask for\nhint: %s", cmdline.Usage(cmd))
			}
			req.Op = api.OpAsk
			return askControl(cmd.Context(), env, args[0], req, asJSON)
		},
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) == 1 {
				return controlWords, cobra.ShellCompDirectiveNoFileComp
			}
			return target.CompleteWorkspace(env)(cmd, args, word)
		},
	}
	cmd.Flags().StringVar(&reason, "reason", "", "say why; it is shown to those who are refused")
	cmd.Flags().BoolVar(&ask, "ask", false, "file it for a person to approve, instead of changing it")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the control as JSON; with --ask the approval")
	return cmd
}

func changeControl(ctx context.Context, env *cmdenv.Env, name string, req api.Request, asJSON bool) error {
	e, err := env.Caller().Named(name)
	if err != nil {
		if req.Mode != "" && target.Inside(env) {
			return holdFromInside(env, func() error { return inside.Control(req.Mode) }, req.Mode)
		}
		return err
	}
	if req.Mode != "" {
		if err := confirmLooser(ctx, e, req.Mode); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, op.PauseTime)
	defer cancel()
	r, err := e.Call(ctx, req)
	if err != nil {
		return err
	}
	if asJSON {
		return show.JSON(env.Out, r.Control)
	}
	fmt.Fprintf(env.Out, "%s %s\n", name, r.Control.Mode)
	if req.Mode == api.ControlTakeover && show.IsTerminal(env.Err) {
		fmt.Fprintf(env.Err, "carrel: you have taken over: what is typed there can be seen by the programs of the workspace; `carrel control %s active` hands back\n", name)
	}
	return nil
}

// confirmLooser wants the workspace's name typed before it may do more. The supervisor
// looks at us first, so that no one types for nothing; it looks again at the change.
func confirmLooser(ctx context.Context, e supervisor.Entry, mode string) error {
	r, err := e.Ask(ctx, api.Request{Op: api.OpControl, Mode: mode, Check: true})
	if err != nil || r.Control == nil || !supervisor.Looser(r.Control.Mode, mode) {
		return err
	}
	typed, err := supervisor.Confirm(fmt.Sprintf("%s is %s. Type %s to make it %s: ", e.Name, r.Control.Mode, e.Name, mode), e.Name)
	if err == nil && !typed {
		err = errors.New("that is not its name; nothing was changed")
	}
	return err
}

// askControl files a change of the control for a person.
func askControl(ctx context.Context, env *cmdenv.Env, name string, req api.Request, asJSON bool) error {
	e, err := env.Caller().Named(name)
	if err != nil {
		return err
	}
	r, err := e.Ask(ctx, req)
	switch {
	case err != nil:
		return err
	case r.Approval == nil && asJSON: // it is that already
		return show.JSON(env.Out, r.Control)
	case r.Approval == nil:
		fmt.Fprintf(env.Out, "%s %s\n", name, r.Control.Mode)
	case asJSON:
		return show.JSON(env.Out, r.Approval)
	default:
		fmt.Fprintf(env.Out, "%s waits: a person types `carrel approve %s`\n", r.Approval.ID, r.Approval.ID)
	}
	return nil
}

// holdFromInside asks the supervisor of the workspace that this process is in.
func holdFromInside(env *cmdenv.Env, ask func() error, done string) error {
	if err := ask(); err != nil {
		return err
	}
	fmt.Fprintln(env.Out, done)
	return nil
}
