package historycmd

import (
	"bytes"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/op/historyop"
	"carrel/internal/show"

	"github.com/spf13/cobra"
)

type diffFlags struct {
	historyFlags
	stat bool
}

func diffCommand(env *cmdenv.Env) *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff [STEP | A..B] [flags]",
		Short: "Show how a step changed files",
		Long: `Shows how a step changed files, as a unified diff; without STEP the newest one.
A..B shows step after step from A to B. What is no file, and mode, owner, times
and attributes have a line of their own. What a terminal would act on is escaped;
there are colours on a terminal, unless NO_COLOR is set.
` + cmdline.PlainStatus,
		Example: `  carrel diff
  carrel diff 12 --stat
  carrel diff 9..12 --path src`,
		Args: cmdline.MaximumArgs(1),

		ValidArgsFunction: cmdline.FirstArg(completeStep(env, &f.historyFlags)),
		RunE:              func(cmd *cobra.Command, args []string) error { return printDiff(env, f, args) },
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.path, "path", "", "only this path and what is in it")
	cmd.Flags().BoolVar(&f.stat, "stat", false, "only how many lines of each file")
	cmdline.NotEmpty(cmd, "path")
	return cmd
}

func printDiff(env *cmdenv.Env, f *diffFlags, args []string) error {
	in := historyop.DiffRequest{Of: f.of(), Steps: args, Path: f.path, Stat: f.stat}
	if !f.json {
		in.Colour = env.Paint(env.Out).On()
		_, err := historyop.Diff(env.Caller(), in, env.Out)
		return err
	}
	var text bytes.Buffer
	left, err := historyop.Diff(env.Caller(), in, &text)
	if err != nil {
		return err
	}
	return show.JSON(env.Out, historyop.Diffed{Diff: text.String(), LeftOut: left})
}
