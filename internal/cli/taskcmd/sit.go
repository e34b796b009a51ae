package taskcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/api"
	"carrel/internal/attach"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/taskop"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// runIn runs a command in a task's workspace and ends as it ended.
func runIn(ctx context.Context, env *cmdenv.Env, e supervisor.Entry, argv []string, tty bool) error {
	c, err := attach.Command(e.Project, e.Project, argv, "", nil)
	if err != nil {
		return err
	}
	c.Terminal = tty
	_, status, err := attach.Exec(ctx, e, c)
	if err != nil {
		return &cmdenv.ExitError{Status: status, Err: err}
	}
	env.Status = status
	return nil
}

// runOutside runs a command in another workspace for a coordinator inside its own.
func runOutside(ctx context.Context, env *cmdenv.Env, name string, argv []string) error {
	r, err := new(taskop.Remote).Run(ctx, name, argv)
	if err != nil {
		return err
	}
	_, err = io.WriteString(env.Out, string(r.Stdout))
	_, err2 := io.WriteString(env.Err, string(r.Stderr))
	env.Status = r.Exit
	return errors.Join(err, err2)
}

// sitDown hands this terminal to that of a task's agent.
func sitDown(ctx context.Context, env *cmdenv.Env, one *api.Task) error {
	t, err := tasks(env)
	if err != nil {
		return err
	}
	e, err := t.Entry(ctx, one.Name)
	if err != nil {
		return err
	}
	if !show.IsTerminal(env.Out) || !isTerminal(os.Stdin) {
		return fmt.Errorf("sitting down at a task needs a terminal here\n"+
			"hint: `carrel task capture %s` shows its screen, `carrel task send` types", one.Name)
	}
	last, detached, err := attach.To(ctx, e, one.App)
	if err != nil {
		return err
	}
	if detached {
		fmt.Fprintf(env.Out, "\r\ncarrel: let go of %s; `carrel task open %s` comes back\r\n", one.Name, one.Name)
		return nil
	}
	env.Status = last.Exit
	return nil
}

func openCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "open NAME [flags]",
		Short: "Go on with a task: start what does not run, and sit down at it",
		Long: `Starts the workspace of a task and its agent where they do not run. At a terminal you sit
down at the agent's then; Ctrl-] lets go of it. Elsewhere the worktree is printed. An
agent that had ended is started anew, without the prompt that it began with.
` + cmdline.PlainStatus,
		Example: "  carrel task open fix-login\n  cd $(carrel task open fix-login)",
		Args:    cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return openTask(cmd.Context(), env, args[0], asJSON)
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the task as JSON, and stay here")
	return cmd
}

// openTask goes on with a task, at this terminal where it is one.
func openTask(ctx context.Context, env *cmdenv.Env, name string, asJSON bool) error {
	t, err := tasks(env)
	if err != nil {
		return err
	}
	_, one, err := t.Open(ctx, name)
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		return show.JSON(env.Out, one)
	case one.App == "" || !show.IsTerminal(env.Out) || !isTerminal(os.Stdin):
		fmt.Fprintln(env.Out, string(one.Path))
		return nil
	}
	return sitDown(ctx, env, one)
}

func closeCommand(env *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "close NAME", Short: "End what runs at a task's desk, and keep the task",
		Long:    "Stops the workspace of a task, and its agent with it. Branch, worktree and history stay.\n" + cmdline.PlainStatus,
		Example: "  carrel task close fix-login\n  carrel task open fix-login",
		Args:    cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := operator(env)
			if err == nil {
				err = t.Close(cmd.Context(), args[0])
			}
			if err == nil {
				fmt.Fprintf(env.Out, "closed %s\n", args[0])
			}
			return err
		},
		ValidArgsFunction: completeTask(env),
	}
}

func dropCommand(env *cmdenv.Env) *cobra.Command {
	var force bool
	cmd := &cobra.Command{
		Use:   "drop NAME [flags]",
		Short: "Throw a task away: its workspace, worktree and branch",
		Long: `Ends what runs at the task's desk, and removes its worktree and its branch. Where that
would lose work that is in no other branch or in no commit, --force says that it may.
` + cmdline.PlainStatus,
		Example: "  carrel task drop fix-login\n  carrel task drop fix-login --force",
		Args:    cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := operator(env)
			if err != nil {
				return err
			}
			if err := t.Drop(cmd.Context(), args[0], force); err != nil {
				return err
			}
			fmt.Fprintf(env.Out, "dropped %s\n", args[0])
			return nil
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().BoolVar(&force, "force", false, "also where work is lost")
	return cmd
}
