package historycmd

import (
	"fmt"
	"slices"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/historyop"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

type historyFlags struct {
	path, project string
	last          int
	json, all     bool
}

func historyCommand(env *cmdenv.Env) *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "history [flags]",
		Short: "List the steps in which runs changed the project",
		Long: `Lists the steps of the current project, newest first: every run that changed
something is one, and so is every undo. ` + "`carrel show STEP`" + ` lists what a step changed,
` + "`carrel diff STEP`" + ` how, ` + "`carrel undo`" + ` takes steps back.
` + cmdline.PlainStatus,
		Example: `  carrel history
  carrel history --path src -n 5
  carrel history --json`,
		Args: cmdline.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return listSteps(env, cmd, f) },
	}
	cmd.Flags().StringVar(&f.path, "path", "", "only steps that changed this path or something in it")
	cmd.Flags().BoolVar(&f.all, "all", false, "undos too, and steps that changed nothing in the end")
	cmdline.NotEmpty(cmd, "path")
	f.register(cmd)
	cmd.Flags().IntVarP(&f.last, "last", "n", 0, "only the newest N")
	cmdline.CompleteFlag(cmd, "last", cobra.NoFileCompletions)
	cmd.AddCommand(storeCommands(env)...)
	return cmd
}

func (f *historyFlags) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.project, "project", "", "the project that holds this directory")
	cmd.Flags().BoolVar(&f.json, "json", false, "print as JSON")
	cmdline.NotEmpty(cmd, "project")
}

func listSteps(env *cmdenv.Env, cmd *cobra.Command, f *historyFlags) error {
	if cmd.Flags().Changed("last") && f.last <= 0 {
		return fmt.Errorf("-n %d: want a number of 1 or more", f.last)
	}
	c := env.Caller()
	h, err := historyop.Open(c, f.of())
	if err != nil {
		return err
	}
	defer h.Close()
	list, err := historyop.Steps(c, h, historyop.ListRequest{Of: f.of(), Path: f.path, Last: f.last, All: f.all})
	if err != nil {
		return err
	}
	if f.json {
		slices.Reverse(list)
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		what := "no steps"
		if f.path != "" {
			path, err := historyop.PathOf(c, h, f.path)
			if err != nil {
				return err
			}
			what += " that changed " + stepview.Path(h.Project, path)
		}
		fmt.Fprintln(env.Out, show.OneLine(what+" in "+show.QuoteIf(h.Project)))
		return nil
	}
	stepview.PrintSteps(env.Out, list)
	return nil
}

// of is the history that the flags are about.
func (f *historyFlags) of() historyop.Of {
	return historyop.Of{Project: f.project}
}

func showCommand(env *cmdenv.Env) *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "show [STEP...] [flags]",
		Short: "List what steps changed",
		Long: `Lists the paths that a step, the newest without a number, changed in the end: A added, M changed, R renamed,
D removed, "mode" where only mode, owner, times or attributes are others. "edit"
is what another program wrote and the step destroyed. Of several steps --json
prints a list.
` + cmdline.PlainStatus,
		Example: `  carrel show 12
  carrel show 12 --json`,
		Args: cmdline.MaximumArgs(maxShown),
		RunE: func(cmd *cobra.Command, args []string) error { return showSteps(env, f, args) },

		ValidArgsFunction: cmdline.FirstArg(completeStep(env, f)),
	}
	f.register(cmd)
	return cmd
}

// maxShown bounds the steps of one call.
const maxShown = 1000

func showSteps(env *cmdenv.Env, f *historyFlags, names []string) error {
	c := env.Caller()
	h, err := historyop.Open(c, f.of())
	if err != nil {
		return err
	}
	defer h.Close()
	all, err := historyop.Show(c, h, names)
	if err != nil {
		return err
	}
	if list := historyop.Views(all); f.json && len(list) == 1 {
		return show.JSON(env.Out, list[0])
	} else if f.json {
		return show.JSON(env.Out, list)
	}
	for i, one := range all {
		if i > 0 {
			fmt.Fprintln(env.Out)
		}
		stepview.PrintStep(env.Out, h, one.View, one.Changes)
		stepview.PrintLeftOut(env.Out, one.View.LeftOut)
		if err := stepview.PrintBetween(env.Out, h, one.Step); err != nil {
			return err
		}
	}
	return nil
}
