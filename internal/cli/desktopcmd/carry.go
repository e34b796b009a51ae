package desktopcmd

import (
	"context"
	"fmt"
	"time"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/clipboard"
	"carrel/internal/cmdline"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

// carryTime is how long a clipboard may take to be carried: a program has to hand it out.
const carryTime = 90 * time.Second

// clipboardBridgeCommands are the commands by which a person carries something between
// the clipboard of their desktop and that of a workspace.
func clipboardBridgeCommands(env *cmdenv.Env) []*cobra.Command {
	return []*cobra.Command{
		carryCommand(env, "send", "Give a workspace what you copied on your desktop",
			`Reads the clipboard of your desktop (Wayland or X11) once and puts it on that of the
workspace: text, or a picture where there is no text. Programs inside paste it as they
always do; xclip, xsel, wl-paste and wl-copy are there. Nothing inside can read your
clipboard by itself, unless you allow it with display.clipboard.`,
			"  carrel desktop clipboard send dev\n  carrel desktop clipboard send dev --image",
			func(ctx context.Context, e supervisor.Entry, image bool) (clipboard.Carried, error) {
				return clipboard.Send(ctx, e, env.Getenv, image)
			}),
		carryCommand(env, "take", "Put what was copied in a workspace on your desktop's clipboard",
			`Puts what the workspace has on its clipboard on that of your desktop: text, or a picture
where there is no text. What comes from a workspace may be anything: look before you
paste it into a shell.`,
			"  carrel desktop clipboard take dev\n  carrel desktop clipboard take dev --image",
			func(ctx context.Context, e supervisor.Entry, image bool) (clipboard.Carried, error) {
				return clipboard.Take(ctx, e, env.Getenv, env.Environ, image)
			}),
	}
}

func carryCommand(env *cmdenv.Env, verb, short, long, example string, carry func(context.Context, supervisor.Entry, bool) (clipboard.Carried, error)) *cobra.Command {
	var image, asJSON bool
	cmd := &cobra.Command{
		Use:   verb + " NAME [--image]",
		Short: short,
		Long: long + `

It takes a person at a terminal outside the workspace: what is on your clipboard is
yours. The workspace is one that stays, or a run by its id (carrel ps).
` + cmdline.PlainStatus,
		Example: example,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return nil
			}
			return fmt.Errorf("%q takes one workspace, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), carryTime)
			defer cancel()
			what, err := carry(ctx, e, image)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, what)
			}
			fmt.Fprintf(env.Out, "%d bytes of %s\n", what.Bytes, show.OneLine(what.Type))
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().BoolVar(&image, "image", false, "a picture, also where there is text")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print what was carried as JSON")
	return cmd
}
