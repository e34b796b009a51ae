package historycmd

import (
	"errors"
	"fmt"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/openhistory"
	"carrel/internal/cmdline"
	"carrel/internal/projecthistory"
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
	h, err := openhistory.Open(env, f.project)
	if err != nil {
		return err
	}
	defer h.Close()
	steps, err := f.steps(h, args)
	if err != nil {
		return err
	}
	if !f.dryRun && !f.yes {
		if err := askDiscard(h, f, steps); err != nil {
			return err
		}
	}
	if why := env.ByAgent(); why != nil && !f.dryRun {
		why.Operation, why.Message = "discard", "only a person or their script may discard steps: "+why.Subject
		why.Hint = "type `carrel discard` yourself, in a terminal of your own outside the workspace"
		return why
	}
	if !f.dryRun {
		release, err := openhistory.Release(env, f.project)
		if err != nil {
			return err
		}
		defer release()
	}
	r, err := h.Discard(steps, f.all, f.dryRun)
	if r != nil {
		if e := tellRemoval(env, &f.historyFlags, r, f.dryRun); e != nil {
			return e
		}
	}
	return busyHint(err)
}

// steps finds out which steps are meant.
func (f *discardFlags) steps(h *projecthistory.History, args []string) ([]uint64, error) {
	if len(args) == 0 && f.before == "" && !f.all {
		return nil, errors.New("want the steps that are discarded, --before STEP or --all; `carrel history --all` lists them")
	}
	if len(args) > 0 && (f.before != "" || f.all) {
		return nil, errors.New("steps and --before or --all: want one of them")
	}
	var out []uint64
	if f.before != "" {
		first, err := stepNamed(h, f.before)
		if err != nil {
			return nil, err
		}
		for _, family := range h.Log.Families() {
			if family.Number() < first.Number {
				out = append(out, family.Number())
			}
		}
		return out, nil
	}
	for _, name := range args {
		s, err := stepNamed(h, name)
		if err != nil {
			return nil, err
		}
		out = append(out, s.Number)
	}
	return out, nil
}

// askDiscard asks the person at the terminal, who has seen what would go.
func askDiscard(h *projecthistory.History, f *discardFlags, steps []uint64) error {
	r, err := h.Discard(steps, f.all, true)
	if err != nil {
		return busyHint(err)
	}
	if len(r.Steps) == 0 && !f.all {
		return nil
	}
	what := "everything that the history of " + show.OneLine(show.QuoteIf(h.Project)) + " keeps"
	if !f.all {
		what = stepList(r.Steps)
	}
	word := show.TypedName(h.Project)
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
