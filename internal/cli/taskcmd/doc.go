// Package taskcmd holds `carrel task` and what is below it: pieces of work for agents side by
// side, each on a branch and in a workspace of its own. Package taskop does the work; this one
// reads flags, asks the person, and prints.
package taskcmd

import (
	"context"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/op/taskop"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands() []cmdenv.Command { return []cmdenv.Command{{Name: "task", Make: taskCommand}} }

func taskCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "task",
		Short: "Give agents tasks, each on a branch and at a desk of its own",
		Long: `A task is a piece of work in a git repository: a branch task/NAME, a worktree beside
the repository's own, a workspace with that as its project, and an agent in a terminal
there. Tasks run side by side, and change neither your working tree nor each other's.
When one is done its work is merged, behind walls, as one step that carrel undo takes
back.
` + cmdline.PlainStatus,
		Example: `  carrel task new fix-login --agent claude --prompt 'Fix the login test.'
  carrel task list
  carrel task wait fix-login
  carrel task diff fix-login
  carrel task merge fix-login --check 'make test'`,
	}
	return cmdline.Group(cmd, newCommand(env), listCommand(env), statusCommand(env), openCommand(env), sendCommand(env), captureCommand(env),
		waitCommand(env), runCommand(env), diffCommand(env), reviewCommand(env), mergeCommand(env),
		renameCommand(env), closeCommand(env), dropCommand(env))
}

// tasks are those of this caller, for what is done outside alone.
func tasks(env *cmdenv.Env) (*taskop.Tasks, error) {
	if target.Inside(env) {
		return nil, &api.Denial{Code: api.CodeInside, Operation: "task", Message: "this is for the person outside",
			Rule: "coordinators", Source: "built in",
			Hint: "inside there are " + strings.Join(taskop.Operations(), ", ")}
	}
	return taskop.Open(env.Caller())
}

// operator is what carries out what a coordinator may ask for, too: inside a workspace, the one
// outside.
func operator(env *cmdenv.Env) (taskop.Operator, error) { return operatorUnder(env, "") }

func operatorUnder(env *cmdenv.Env, permissions string) (taskop.Operator, error) {
	if target.Inside(env) {
		return new(taskop.Remote), nil
	}
	return taskop.Open(env.CallerUnder(permissions))
}

// Coordinator gives what answers programs inside a workspace that may give tasks to others. agent
// is the one that the workspace is for, and words are the flags that its tasks get.
func Coordinator(env *cmdenv.Env, permissions, agent string, words []string) func(workspace,
	dir string) func(context.Context, []byte) []byte {
	return func(workspace, dir string) func(context.Context, []byte) []byte {
		return taskop.Serve(env.CallerUnder(permissions).At(dir), taskop.Coordinator{Workspace: workspace, Agent: agent, Words: words})
	}
}

// completeTask names the tasks of the repository, for the first argument.
func completeTask(env *cmdenv.Env) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 && cmd.Name() != "wait" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		var names []string
		if t, err := operator(env); err == nil {
			list, _ := t.List(cmd.Context(), false, false)
			for _, one := range list {
				names = append(names, strings.Join([]string{one.Name, one.State}, "\t"))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}
