package runcmd

import (
	"fmt"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func terminalCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "terminal",
		Short: "Start a terminal in a workspace, read its screen as text, type into it",
		Long: `A terminal of a workspace has a screen that is kept outside: programs read it as text
and send keys, people sit down at it with carrel attach. It runs until its program
ends, whether it is attached or not.
` + cmdline.PlainStatus,
		Example: `  carrel terminal start dev -- bash
  carrel terminal send dev 3f2a91c0 --text 'make test' Enter
  carrel terminal read dev 3f2a91c0`,
	}
	return cmdline.Group(cmd, terminalStartCommand(env), terminalReadCommand(env), terminalSendCommand(env))
}

func terminalStartCommand(env *cmdenv.Env) *cobra.Command {
	f := &commandFlags{}
	var name string
	var columns, rows int
	cmd := &cobra.Command{
		Use:     "start NAME [flags] [[--] COMMAND [ARG...]]",
		Short:   "Start a terminal with your shell, or with COMMAND",
		Long:    "Starts a terminal of 100 by 30 and prints its id.\n" + cmdline.CommandStatus,
		Example: "  carrel terminal start dev\n  carrel terminal start dev --columns 120 --rows 40 -- claude",
		RunE: func(cmd *cobra.Command, args []string) error {
			workspace, argv := cmdline.NameAndCommand(cmd, args)
			e, err := env.Caller().Named(workspace)
			if err != nil {
				return err
			}
			c, err := f.command(e, argv)
			if err != nil {
				return err
			}
			c.Name, c.Columns, c.Rows = name, columns, rows
			r, err := e.Call(cmd.Context(), api.Request{Op: api.OpTerminal, Command: &c})
			if err != nil {
				return &cmdenv.ExitError{Status: exitOf(r), Err: err}
			}
			if f.json {
				return show.JSON(env.Out, r.App)
			}
			fmt.Fprintf(env.Out, "%s %s\n", r.App.ID, show.OneLine(r.App.Name))
			return nil
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	f.register(cmd)
	cmdline.CommandAfterName(cmd)
	cmd.Flags().StringVar(&name, "name", "", "call the app so (default: the program's name)")
	cmd.Flags().IntVar(&columns, "columns", 0, "its width")
	cmd.Flags().IntVar(&rows, "rows", 0, "its height")
	return cmd
}

func terminalReadCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, full bool
	cmd := &cobra.Command{
		Use:     "read NAME APP [flags]",
		Short:   "Print a terminal's screen as text",
		Long:    "Prints the lines of a terminal's screen; what has left it at the top too, with --full.\n" + cmdline.PlainStatus,
		Example: "  carrel terminal read dev 3f2a91c0 --full",
		Args:    cmdline.TwoArgs("an app"),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			r, err := e.Ask(cmd.Context(), api.Request{Op: api.OpTerminalRead, App: args[1], Full: full})
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, r.Screen)
			}
			lines := append(r.Screen.Scrollback, r.Screen.Lines...)
			for len(lines) > 0 && lines[len(lines)-1] == "" {
				lines = lines[:len(lines)-1]
			}
			for _, l := range lines {
				fmt.Fprintln(env.Out, show.Escape(l))
			}
			return nil
		},
		ValidArgsFunction: target.CompleteApp(env),
	}
	cmd.Flags().BoolVar(&full, "full", false, "with what has left the screen")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the screen as JSON")
	return cmd
}

func terminalSendCommand(env *cmdenv.Env) *cobra.Command {
	in := &api.Input{}
	cmd := &cobra.Command{
		Use:   "send NAME APP [KEY...] [flags]",
		Short: "Type text and keys into a terminal",
		Long: `Types text, and then keys by their names: Enter, Tab, Escape, Backspace, Up, Home, PageUp, F5,
ctrl+c, alt+x, shift+Tab. What is typed is not written down, only how much.
` + cmdline.PlainStatus,
		Example: "  carrel terminal send dev 3f2a91c0 --text 'make test' Enter\n  carrel terminal send dev 3f2a91c0 ctrl+c",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) < 2 {
				return fmt.Errorf("%q takes a workspace, an app and keys, got %q\nhint: %s", cmd.CommandPath(), args, cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			e, err := env.Caller().Named(args[0])
			if err != nil {
				return err
			}
			if in.Keys = args[2:]; in.Text == "-" {
				text, err := cmdenv.ReadText(env.In)
				if err != nil {
					return err
				}
				in.Text = strings.TrimSuffix(text, "\n")
			}
			_, err = e.Ask(cmd.Context(), api.Request{Op: api.OpTerminalSend, App: args[1], Input: in})
			return err
		},
		ValidArgsFunction: target.CompleteApp(env),
	}
	cmd.Flags().StringVar(&in.Text, "text", "", "text to type first; - reads it from standard input")
	cmd.Flags().IntVar(&in.Columns, "columns", 0, "a new width, with --rows")
	cmd.Flags().IntVar(&in.Rows, "rows", 0, "a new height, with --columns")
	return cmd
}
