package taskcmd

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/config"
	"carrel/internal/op/taskop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

func listCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON, all, git bool
	cmd := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the tasks of this repository, and how each stands",
		Long: `Lists tasks with their state: working, waiting (for you), done, failed, running (no agent
says how it is), paused or stopped. With --git each says how much it has changed.
` + cmdline.PlainStatus,
		Example: "  carrel task list\n  carrel task list --git\n  carrel task list --all --json",
		Args:    cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			t, err := operator(env)
			if err != nil {
				return err
			}
			list, err := t.List(cmd.Context(), all, git)
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, list)
			}
			printTasks(env, list, all, git)
			return nil
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "those of all repositories")
	cmd.Flags().BoolVar(&git, "git", false, "how much each has changed, too")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON, one list")
	return cmd
}

func printTasks(env *cmdenv.Env, list []api.Task, all, git bool) {
	if len(list) == 0 {
		fmt.Fprintln(env.Out, "there is no task")
		return
	}
	t := &show.Table{}
	head := []string{"TASK", "STATE", "AGENT", "COMMITS", "INTO"}
	if git {
		head = append(head, "CHANGED")
	}
	if all {
		head = append(head, "WORKTREE")
	}
	t.Row(head...)
	for _, one := range list {
		state := one.State
		if one.Pending > 0 {
			state += fmt.Sprintf(" (%s)", show.Count(one.Pending, "approval", "approvals"))
		}
		row := []string{one.Name, state, show.Dash(one.Agent), fmt.Sprint(one.Commits), show.Dash(one.Into)}
		if git {
			row = append(row, show.Dash(sizeText(one.Diff)))
		}
		if all {
			row = append(row, show.QuoteIf(string(one.Path)))
		}
		t.Row(row...)
	}
	t.Print(env.Out, "")
}

func statusCommand(env *cmdenv.Env) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status NAME [flags]", Short: "Show one task",
		Long:    "Shows a task: state, branch, worktree, workspace, agent.\n" + cmdline.PlainStatus,
		Example: "  carrel task status fix-login\n  carrel task status fix-login --json", Args: cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := operator(env)
			if err != nil {
				return err
			}
			one, err := t.Status(cmd.Context(), args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return show.JSON(env.Out, one)
			}
			printTask(env, one)
			return nil
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

func diffCommand(env *cmdenv.Env) *cobra.Command {
	var stat bool
	cmd := &cobra.Command{
		Use:   "diff NAME [flags]",
		Short: "Show what a task has changed since it parted from its branch",
		Long: `Compares the task's worktree with the commit at which its branch parted from the one
that it is merged into. What is in no commit is part of it, new files too. It is read
behind walls of its own: nothing that runs in the task can change what you see.
` + cmdline.PlainStatus,
		Example: "  carrel task diff fix-login\n  carrel task diff fix-login --stat", Args: cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := operator(env)
			if err != nil {
				return err
			}
			text, err := t.Diff(cmd.Context(), args[0], stat)
			if err != nil {
				return err
			}
			_, err = env.Out.Write([]byte(paintDiff(env, text)))
			return err
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().BoolVar(&stat, "stat", false, "only which files, and how much of each")
	return cmd
}

// paintDiff colours a diff for a terminal, and escapes what a terminal would obey. Elsewhere it is
// as git has printed it.
func paintDiff(env *cmdenv.Env, text string) string {
	if !show.IsTerminal(env.Out) {
		return text
	}
	paint := env.Paint(env.Out)
	var b strings.Builder
	for line := range strings.Lines(text) {
		plain := strings.TrimSuffix(line, "\n")
		shown := show.Escape(plain)
		switch {
		case strings.HasPrefix(plain, "diff --git "), strings.HasPrefix(plain, "+++"), strings.HasPrefix(plain, "---"):
			shown = paint.Bold(shown)
		case strings.HasPrefix(plain, "+"):
			shown = paint.Green(shown)
		case strings.HasPrefix(plain, "-"):
			shown = paint.Red(shown)
		case strings.HasPrefix(plain, "@@"):
			shown = paint.Yellow(shown)
		}
		b.WriteString(shown + "\n")
	}
	return b.String()
}

// Exit statuses of task wait, as workmux has them.
const (
	exitTime  = 1
	exitNone  = 2
	exitEnded = 3
)

// waitStates are the states that can be waited for.
var waitStates = []string{api.TaskWorking, api.TaskWaiting, api.TaskDone, api.TaskFailed, api.TaskRunning, api.TaskPaused, api.TaskStopped}

func waitCommand(env *cmdenv.Env) *cobra.Command {
	var r taskop.WaitRequest
	var limit string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "wait NAME... [flags]",
		Short: "Wait until tasks are done, or in another state",
		Long: `Waits until all tasks, or one of them with --any, are in one of the states.

Exit status: 0 they are; 1 the time is over; 2 there is no such task; 3 an agent has
ended, or a workspace, so that it will not come to it; 125 if carrel failed.`,
		Example: "  carrel task wait fix-login\n  carrel task wait a b c --any --status done --status waiting --timeout 10m",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%q takes the names of tasks\nhint: %s", cmd.CommandPath(), cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit != "" {
				d, err := config.ParseDuration(limit)
				if err != nil {
					return fmt.Errorf("--timeout %q: %w", limit, err)
				}
				r.For = max(d, time.Nanosecond)
			}
			for _, s := range r.States {
				if !slices.Contains(waitStates, s) {
					return fmt.Errorf("--status %q: want one of %s", s, strings.Join(waitStates, ", "))
				}
			}
			t, err := operator(env)
			if err != nil {
				return err
			}
			r.Names = args
			list, err := t.Wait(cmd.Context(), &r)
			if asJSON && list != nil {
				if err := show.JSON(env.Out, list); err != nil {
					return err
				}
			} else if list != nil {
				printTasks(env, list, false, false)
			}
			for status, why := range map[int]error{exitTime: taskop.ErrWaitTime, exitNone: taskop.ErrWaitNone, exitEnded: taskop.ErrWaitEnded} {
				if errors.Is(err, why) {
					return &cmdenv.ExitError{Status: status, Err: err}
				}
			}
			return err
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().BoolVar(&r.Any, "any", false, "until one of them is")
	cmd.Flags().StringArrayVar(&r.States, "status", nil, "the state that is waited for; several may be given (default: done)")
	cmd.Flags().StringVar(&limit, "timeout", "", "wait no longer than this (30s, 10m)")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the tasks as JSON, one list")
	cmdline.CompleteFlag(cmd, "status", cobra.FixedCompletions(waitStates, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func captureCommand(env *cmdenv.Env) *cobra.Command {
	lines := 200
	cmd := &cobra.Command{
		Use: "capture NAME [flags]", Short: "Print the last lines of the terminal of a task's agent",
		Long:    "Prints the end of the terminal in which the agent works, as text, with what has left the screen.\n" + cmdline.PlainStatus,
		Example: "  carrel task capture fix-login\n  carrel task capture fix-login -n 40", Args: cmdline.OneArg("a task"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if lines < 1 {
				return fmt.Errorf("--lines %d: want 1 or more", lines)
			}
			t, err := operator(env)
			if err != nil {
				return err
			}
			list, err := t.Capture(cmd.Context(), args[0], lines)
			for _, l := range list {
				fmt.Fprintln(env.Out, show.Escape(l))
			}
			return err
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().IntVarP(&lines, "lines", "n", lines, "at most so many")
	return cmd
}

func sendCommand(env *cmdenv.Env) *cobra.Command {
	file := ""
	cmd := &cobra.Command{
		Use: "send NAME [TEXT...] [flags]", Short: "Type a message to a task's agent, and Enter",
		Long: `Types a text into the terminal of the task's agent, and then Enter. The task counts as
working from then on, until its agent says otherwise.
` + cmdline.PlainStatus,
		Example: "  carrel task send fix-login 'Add a test, too.'\n  carrel task send fix-login --file more.md",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 || (len(args) == 1) == (file == "") {
				return fmt.Errorf("%q takes a task, and a text or --file\nhint: %s", cmd.CommandPath(), cmdline.Usage(cmd))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := strings.Join(args[1:], " ")
			if file != "" {
				read, err := readPrompt(env, file)
				if err != nil {
					return err
				}
				text = strings.TrimRight(read, "\n")
			}
			t, err := operator(env)
			if err != nil {
				return err
			}
			return t.Send(cmd.Context(), args[0], text)
		},
		ValidArgsFunction: completeTask(env),
	}
	cmd.Flags().StringVar(&file, "file", "", "a file with the text; - reads standard input")
	return cmd
}

func renameCommand(env *cmdenv.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rename NAME NEW", Short: "Give a task another name, and its branch",
		Long:    "Renames a task that does not run, and its branch. The worktree and the workspace keep their names.\n" + cmdline.PlainStatus,
		Example: "  carrel task rename fix-login fix-session", Args: cmdline.TwoArgs("a new name"),
		RunE: func(cmd *cobra.Command, args []string) error {
			t, err := tasks(env)
			if err != nil {
				return err
			}
			one, err := t.Rename(cmd.Context(), args[0], args[1])
			if err == nil {
				fmt.Fprintf(env.Out, "%s is %s now, on %s\n", args[0], one.Name, one.Branch)
			}
			return err
		},
		ValidArgsFunction: completeTask(env),
	}
}

func runCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use: "run NAME [--] COMMAND [ARG...]", Short: "Run a command at a task's desk, and wait for its end",
		Long: `Runs COMMAND in the workspace of the task, in its worktree, with this terminal or these
pipes. What it changes is a step of that history.
` + cmdline.CommandStatus,
		Example: "  carrel task run fix-login -- make test\n  carrel task run fix-login git log --oneline -5",
		RunE: func(cmd *cobra.Command, args []string) error {
			name, argv := cmdline.NameAndCommand(cmd, args)
			if len(argv) == 0 {
				return fmt.Errorf("no command given\nhint: %s", cmdline.Usage(cmd))
			}
			if target.Inside(env) {
				return runOutside(cmd.Context(), env, name, argv)
			}
			t, err := tasks(env)
			if err != nil {
				return err
			}
			e, err := t.Entry(cmd.Context(), name)
			if err != nil {
				return err
			}
			return runIn(cmd.Context(), env, e, argv, show.IsTerminal(env.Out) && isTerminal(os.Stdin))
		},
		ValidArgsFunction: completeTask(env),
	}
	cmdline.CommandAfterName(cmd)
	return cmd
}
