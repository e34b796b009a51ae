package runcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"carrel/internal/api"
	"carrel/internal/attach"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/desktopentry"
	"carrel/internal/show"
	"carrel/internal/stdio"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// commandFlags are those of everything that starts a command in a workspace.
type commandFlags struct {
	cwd  string
	env  []string
	json bool
}

func (f *commandFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.cwd, "cwd", "", "start it in this directory (default: where you are, if the workspace has that)")
	cmd.Flags().StringArrayVar(&f.env, "env", nil, "give it NAME=VALUE, or NAME as it is here")
	cmd.Flags().BoolVar(&f.json, "json", false, "print how it ended, as JSON")
}

// command makes what a workspace is asked to start.
func (f *commandFlags) command(e supervisor.Entry, argv []string) (api.Command, error) {
	at, err := os.Getwd()
	if err != nil && f.cwd != "" && !filepath.IsAbs(f.cwd) {
		return api.Command{}, err
	}
	return attach.Command(e.Project, at, argv, f.cwd, f.env)
}

func execCommand(env *cmdenv.Env) *cobra.Command {
	f := &commandFlags{}
	var tty, noTTY bool
	cmd := &cobra.Command{
		Use:   "exec NAME [flags] [--] COMMAND [ARG...]",
		Short: "Run a command in a workspace that stays, and wait for its end",
		Long: `Runs COMMAND in the running workspace NAME, with this terminal or these pipes. What
it changes is a step of the history. It ends with this command: a signal is handed
on, and when its caller is gone it is ended.
` + cmdline.CommandStatus,
		Example: `  carrel exec dev ls -la
  carrel exec dev --env DEBUG=1 -- npm run build
  git diff | carrel exec dev -- wc -l`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, argv := cmdline.NameAndCommand(cmd, args)
			if len(argv) == 0 {
				return fmt.Errorf("no command given\nhint: %s", cmdline.Usage(cmd))
			}
			auto := term.IsTerminal(int(os.Stdin.Fd())) && term.IsTerminal(int(os.Stdout.Fd()))
			return execIn(cmd.Context(), env, f, name, argv, (auto || tty) && !noTTY)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	f.register(cmd)
	cmdline.CommandAfterName(cmd)
	cmd.Flags().BoolVarP(&tty, "tty", "t", false, "give it a terminal (default: if this is one)")
	cmd.Flags().BoolVarP(&noTTY, "no-tty", "T", false, "give it pipes")
	return cmd
}

// execIn runs a command in a workspace and ends as it ended.
func execIn(ctx context.Context, env *cmdenv.Env, f *commandFlags, name string, argv []string, tty bool) error {
	if last, status, ok, err := attach.Taken(); ok {
		return told(env, f, false)(last, status, err)
	}
	e, err := env.Caller().Named(name)
	if err != nil {
		return err
	}
	return execAt(ctx, env, f, e, argv, tty)
}

// execAt runs a command in a workspace that was found.
func execAt(ctx context.Context, env *cmdenv.Env, f *commandFlags, e supervisor.Entry, argv []string, tty bool) error {
	c, err := f.command(e, argv)
	if err != nil {
		return err
	}
	if c.Terminal = tty; tty && !term.IsTerminal(int(os.Stdin.Fd())) {
		return errors.New("--tty: standard input is no terminal\nhint: `carrel terminal` makes one that is read as text")
	}
	return told(env, f, tty)(attach.Exec(ctx, e, c))
}

// told tells how a command ended, and has this process end in the same way.
func told(env *cmdenv.Env, f *commandFlags, tty bool) func(api.App, int, error) error {
	return func(last api.App, status int, err error) error {
		if err != nil {
			return &cmdenv.ExitError{Status: status, Err: err}
		}
		if f.json {
			if err := show.JSON(env.Err, last); err != nil {
				return err
			}
		}
		env.Status = status
		if last.Signal != "" && !tty {
			stdio.DieBy(syscall.Signal(status - 128))
		}
		return nil
	}
}

func launchCommand(env *cmdenv.Env) *cobra.Command {
	f := &commandFlags{}
	var name, wait, desktopFile string
	cmd := &cobra.Command{
		Use:   "launch NAME [flags] [--] COMMAND [ARG...]",
		Short: "Start a command in a workspace that stays, and leave it running",
		Long: `Starts COMMAND in the running workspace NAME and returns; what it writes is kept
(carrel logs). With --wait exit it returns when the command has ended, with its
status. --desktop-file starts what a .desktop launcher names, without a shell.
` + cmdline.CommandStatus,
		Example: `  carrel launch dev --name server -- npm run dev
  carrel launch dev --wait exit -- make
  carrel launch dev --desktop-file /usr/share/applications/gedit.desktop`,
		RunE: func(cmd *cobra.Command, args []string) error {
			workspace, argv := cmdline.NameAndCommand(cmd, args)
			return launchIn(env, cmd, f, workspace, argv, name, wait, desktopFile)
		},
		ValidArgsFunction: target.CompleteWorkspace(env),
	}
	f.register(cmd)
	cmdline.CommandAfterName(cmd)
	cmd.Flags().StringVar(&name, "name", "", "call the app so (default: the program's name)")
	cmd.Flags().StringVar(&wait, "wait", "none", "return when it has started (none) or ended (exit)")
	cmd.Flags().StringVar(&desktopFile, "desktop-file", "", "start what this .desktop launcher names; further words are its files")
	cmdline.CompleteFlag(cmd, "wait", cobra.FixedCompletions([]string{"none", "exit"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func launchIn(env *cmdenv.Env, cmd *cobra.Command, f *commandFlags, workspace string, argv []string, name, wait, desktopFile string) error {
	if wait != "none" && wait != "exit" {
		return fmt.Errorf("--wait %q: want none or exit", wait)
	}
	if desktopFile != "" {
		var err error
		var title string
		if argv, title, err = launcher(desktopFile, argv); err != nil {
			return err
		}
		if name == "" {
			name = title
		}
	}
	if len(argv) == 0 {
		return fmt.Errorf("no command given\nhint: %s", cmdline.Usage(cmd))
	}
	e, err := env.Caller().Named(workspace)
	if err != nil {
		return err
	}
	c, err := f.command(e, argv)
	if err != nil {
		return err
	}
	c.Name = name
	r, err := e.Call(cmd.Context(), api.Request{Op: api.OpLaunch, Command: &c})
	if err != nil {
		return &cmdenv.ExitError{Status: exitOf(r), Err: err}
	}
	if wait == "exit" {
		if r, err = e.Call(cmd.Context(), api.Request{Op: api.OpWait, App: r.App.ID}); err != nil {
			return err
		}
		env.Status = r.App.Exit
	}
	if f.json {
		return show.JSON(env.Out, r.App)
	}
	fmt.Fprintf(env.Out, "%s %s\n", r.App.ID, show.OneLine(r.App.Name))
	return nil
}

// exitOf is the status that a refusal to start something comes with.
func exitOf(r api.Reply) int {
	if r.Exit != nil {
		return *r.Exit
	}
	return api.ExitOurs
}

// launcher reads a .desktop file.
func launcher(path string, files []string) (argv []string, name string, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, "", err
	}
	defer f.Close()
	e, err := desktopentry.Parse(f)
	if err == nil {
		argv, err = e.Argv(files)
	}
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, err)
	}
	return argv, e.Name, nil
}
