package desktopcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func watchCommand(env *cmdenv.Env) *cobra.Command {
	w := &api.Watch{}
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "watch NAME [flags]",
		Short: "See a workspace's desktop in a VNC viewer",
		Long: `Lets any VNC viewer on this machine show the hidden desktop, until it is interrupted
(Ctrl-C) or the workspace ends. Prints where to connect and with which password. One
viewer watches at a time. The password is drawn anew each time.

A viewer only looks. While you have taken over (carrel control NAME takeover) its keys and
its pointer go in, and no others do; the programs of the workspace can see what is
typed there. For that this command has to be started at a terminal of your own.

With display.watch_vnc: true the desktop can be watched as long as the workspace runs:
then this command prints where, and ends. It takes x11vnc, which runs within the
desktop's walls. NAME may be an id of carrel ps, also of a carrel run --display virtual.
` + cmdline.PlainStatus,
		Example: `  carrel desktop watch dev
  carrel desktop watch dev --view-only --port 5950
  vncviewer 127.0.0.1:5910`,
		Args: cmdline.OneArg("a workspace"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return watchDesktop(cmd.Context(), env, args[0], w, asJSON)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	cmd.Flags().Uint16Var(&w.Port, "port", 0, "listen on this port of 127.0.0.1 (default the first free one from 5910 on)")
	cmd.Flags().BoolVar(&w.ViewOnly, "view-only", false, "look only, also while you have taken over")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print address and password as JSON, on one line")
	return cmd
}

// watchDesktop stays as long as the person wants to watch: the right to ends with it.
func watchDesktop(ctx context.Context, env *cmdenv.Env, name string, w *api.Watch, asJSON bool) error {
	e, err := env.Caller().Named(name)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c, err := e.Open(ctx, api.Request{Op: api.OpWatch, Follow: true, Watch: w})
	if err != nil {
		return err
	}
	defer c.Close()
	r, _, err := c.Next()
	if err != nil {
		return err
	}
	if r.Watching == nil {
		return errors.New("the workspace does not say where to watch: is the program that runs there another version?")
	}
	if err := tellWatching(env, name, *r.Watching, asJSON); err != nil || r.Watching.Stays {
		return err
	}
	_, _, err = c.Next()
	if ctx.Err() != nil {
		return nil // enough
	}
	if err == nil {
		fmt.Fprintf(env.Err, "carrel: %s has ended\n", show.OneLine(name))
	}
	return err
}

func tellWatching(env *cmdenv.Env, name string, w api.Watching, asJSON bool) error {
	if asJSON {
		return show.Line(env.Out, w)
	}
	_, err := fmt.Fprintf(env.Out, "address   %s\npassword  %s\n", w.Address, w.Password)
	switch {
	case err != nil:
	case w.Acts:
		fmt.Fprintf(env.Err, "carrel: a viewer looks, until `carrel control %s takeover`; then %s\n", show.OneLine(name), show.OneLine(w.Human))
	default:
		fmt.Fprintln(env.Err, "carrel: a viewer with this password looks, and types nothing")
	}
	if err == nil && !w.Stays {
		fmt.Fprintln(env.Err, "carrel: Ctrl-C ends it")
	}
	return err
}
