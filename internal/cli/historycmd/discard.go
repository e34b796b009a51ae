package historycmd

import (
	"errors"
	"fmt"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/historyop"
	"carrel/internal/show"
	"carrel/internal/supervisor"

	"github.com/spf13/cobra"
)

type discardFlags struct {
	historyFlags
	before      string
	dryRun, yes bool
}

func discardCommand(env *cmdenv.Env) *cobra.Command {
	f := &discardFlags{}
	cmd := &cobra.Command{
		Use:   "discard [STEP...] [flags]",
		Short: "Remove steps from the history for good",
		Long: `Removes steps with all that is kept for them, each with its undos and redos: they
are no longer listed and can no longer be undone or redone. Files of the project
stay as they are. --all also removes what is damaged.

It asks before it does so, and wants the project's name typed; --yes does not ask. What an
agent has started may not. While a run goes on nothing is removed.
` + cmdline.PlainStatus,
		Example: `  carrel discard 12 13
  carrel discard --before 100 --dry-run
  carrel discard --all --yes`,
		RunE: func(_ *cobra.Command, args []string) error { return discardSteps(env, f, args) },

		ValidArgsFunction: completeStep(env, &f.historyFlags),
	}
	cmd.Flags().StringVar(&f.before, "before", "", "all steps before this one")
	cmd.Flags().BoolVar(&f.all, "all", false, "all steps, and what cannot be read")
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "d", false, "say what would be removed, and remove nothing")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "do not ask")
	cmdline.OneOf(cmd, "before", "all")
	cmdline.NotEmpty(cmd, "before")
	f.register(cmd)
	stepFlags(env, cmd, &f.historyFlags, "before")
	return cmd
}

func discardSteps(env *cmdenv.Env, f *discardFlags, args []string) error {
	in := historyop.DiscardRequest{Of: f.of(), Steps: args, Before: f.before, All: f.all, DryRun: f.dryRun}
	if !f.yes {
		in.Ask = func(project string, would *historyop.Removed) error { return askDiscard(project, f, would) }
	}
	r, err := historyop.Discard(env.Caller(), in)
	if r != nil {
		if e := tellRemoval(env, &f.historyFlags, r); e != nil {
			return e
		}
	}
	return err
}

// askDiscard asks the person at the terminal, who has seen what would go.
func askDiscard(project string, f *discardFlags, r *historyop.Removed) error {
	if len(r.Steps) == 0 && !f.all {
		return nil
	}
	what := "everything that the history of " + show.OneLine(show.QuoteIf(project)) + " keeps"
	if !f.all {
		what = stepList(r.Steps)
	}
	word := show.TypedName(project)
	question := "Discard %s, %s? This cannot be undone. Type %s, the project's name: "
	typed, err := supervisor.Confirm(fmt.Sprintf(question, what, show.Size(r.Freed.Disk), word), word)
	if err != nil {
		return errors.New("what is discarded cannot be brought back, and there is no terminal to ask at\n" +
			"hint: --dry-run shows what would go, --yes does it")
	}
	if !typed {
		return errors.New("that is not its name; nothing was discarded")
	}
	return nil
}
