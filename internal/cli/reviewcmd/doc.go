// Package reviewcmd holds `carrel review` and what is below it: what a command that ran with
// --review has changed in a layer over the project, and what becomes of it. Package reviewop
// does the work; this one reads flags, asks the person, and prints.
package reviewcmd

import (
	"os"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/reviewop"
	"carrel/internal/review/replay"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

// Commands are the commands of this package.
func Commands() []cmdenv.Command { return []cmdenv.Command{{Name: "review", Make: reviewCommand}} }

func reviewCommand(env *cmdenv.Env) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "review",
		Short: "Look at what a command changed in a layer over the project, and apply it",
		Long: `A command that runs with --review changes a layer over the project and not the project.
It sees its own changes; no other program does. Afterwards you look at them, apply all or
some of them, or forget the layer. What you apply goes through the policy of the project
as one step, which carrel undo takes back.
` + cmdline.PlainStatus,
		Example: `  carrel run --review -- npm install
  carrel review list
  carrel review diff
  carrel review apply
  carrel review apply 1f2e3d src docs/page.md
  carrel review drop`,
	}
	return cmdline.Group(cmd, listCommand(env), diffCommand(env), applyCommand(env), dropCommand(env))
}

// reviews are the layers of this caller's project.
func reviews(env *cmdenv.Env) (*reviewop.Reviews, error) { return reviewop.Open(env.Caller()) }

// completeLayer names the layers, for the first argument.
func completeLayer(env *cmdenv.Env) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		var names []string
		if r, err := reviews(env); err == nil {
			list, _ := r.List()
			for _, l := range list {
				names = append(names, l.ID+"\t"+show.Words(l.Command))
			}
		}
		return names, cobra.ShellCompDirectiveNoFileComp
	}
}

// Replays says whether a command line is that by which changes of a layer are made inside.
func Replays(argv []string) bool { return len(argv) == 2 && argv[1] == replay.Word }

// Replay makes them, and gives the exit status.
func Replay() int { return replay.Main(os.Stdin, os.Stdout, os.Stderr) }
