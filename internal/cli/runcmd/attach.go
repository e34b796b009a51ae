package runcmd

import (
	"context"
	"fmt"
	"os"

	"carrel/internal/api"
	"carrel/internal/attach"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func attachCommand(env *cmdenv.Env) *cobra.Command {
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
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			app := ""
			if len(args) == 2 {
				app = args[1]
			} else if app, err = onlyTerminal(cmd.Context(), e); err != nil {
				return err
			}
			return attachTo(cmd.Context(), env, e, app)
		},
		ValidArgsFunction: target.CompleteApp(env),
	}
	return cmd
}

func attachTo(ctx context.Context, env *cmdenv.Env, e supervisor.Entry, app string) error {
	if !show.IsTerminal(env.Out) || !term.IsTerminal(int(os.Stdin.Fd())) {
		return fmt.Errorf("attach needs a terminal here\nhint: `carrel terminal read %s APP` shows the screen as text", e.Name)
	}
	last, detached, err := attach.To(ctx, e, app)
	if err != nil {
		return err
	}
	if detached {
		fmt.Fprintf(env.Out, "\r\ncarrel: let go of %s; `carrel attach %s %s` comes back\r\n", app, e.Name, app)
		return nil
	}
	env.Status = last.Exit
	return nil
}

// onlyTerminal is the one terminal that runs.
func onlyTerminal(ctx context.Context, e supervisor.Entry) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, supervisor.AnswerTime)
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
