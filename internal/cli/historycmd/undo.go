package historycmd

import (
	"fmt"
	"io"
	"os"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/undoview"
	"carrel/internal/cmdline"
	"carrel/internal/op/historyop"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type undoFlags struct {
	historyFlags
	to, step              string
	paths                 []string
	dryRun                bool
	keepBoth, skip, force bool
	write                 []string
}

// undoStatus ends the help of undo and redo.
const undoStatus = `
Exit status:
  0    done
  1    some paths could not be restored; they are named
  125  carrel refused or went wrong`

func undoCommand(env *cmdenv.Env) *cobra.Command {
	f := &undoFlags{}
	cmd := &cobra.Command{
		Use:   "undo [N] [flags]",
		Short: "Take back what runs changed in the project",
		Long: `Takes back the newest step, or the newest N: every path is as it was before,
with its content, mode, times, links and attributes. An undo is a step itself:
` + "`carrel redo`" + ` takes it back.

Nothing at all is changed where something is not as the steps left it, because
you or another program changed it afterwards: all such paths are listed, and
--keep-both, --skip-conflicts or --force say what becomes of them.
` + undoStatus,
		Example: `  carrel undo --dry-run
  carrel undo
  carrel undo 3
  carrel undo --to 12
  carrel undo --step 9 --keep-both
  carrel undo --path src/main.go`,
		Args: cmdline.MaximumArgs(1),

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return undoSteps(env, f, args, false) },
	}
	cmd.Flags().StringVar(&f.to, "to", "", "take back all steps after this one")
	cmd.Flags().StringVar(&f.step, "step", "", "take back this step only")
	cmd.Flags().StringArrayVar(&f.paths, "path", nil, "only this path and what is in it: by the newest step that changed it")
	cmdline.OneOf(cmd, "to", "step")
	cmdline.NotEmpty(cmd, "to", "step", "path")
	f.registerUndo(cmd)
	stepFlags(env, cmd, &f.historyFlags, "to", "step")
	return cmd
}

func redoCommand(env *cmdenv.Env) *cobra.Command {
	f := &undoFlags{}
	cmd := &cobra.Command{
		Use:   "redo [N] [flags]",
		Short: "Make again what was taken back",
		Long: `Takes back the newest undo, or the newest N.
` + undoStatus,
		Example: `  carrel redo
  carrel redo 2 --dry-run`,
		Args: cmdline.MaximumArgs(1),

		ValidArgsFunction: cobra.NoFileCompletions,
		RunE:              func(cmd *cobra.Command, args []string) error { return undoSteps(env, f, args, true) },
	}
	f.registerUndo(cmd)
	return cmd
}

func (f *undoFlags) registerUndo(cmd *cobra.Command) {
	f.register(cmd)
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "d", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVar(&f.keepBoth, "keep-both", false, "what is in the way gets the name NAME.undo-conflict, where something comes back in its place")
	cmd.Flags().BoolVar(&f.skip, "skip-conflicts", false, "what is not as the steps left it stays as it is")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace what is in the way; a redo brings it back")
	cmd.Flags().StringArrayVar(&f.write, "write", nil, "a place outside the project that the steps were allowed to change")
	cmdline.OneOf(cmd, "keep-both", "skip-conflicts", "force")
	cmdline.NotEmpty(cmd, "write")
}

func undoSteps(env *cmdenv.Env, f *undoFlags, args []string, redo bool) error {
	in := historyop.UndoRequest{
		Of: f.of(), Redo: redo, Step: f.step, To: f.to, Paths: f.paths, Write: f.write, Mode: f.mode(), DryRun: f.dryRun, Strict: true,
	}
	if len(args) == 1 {
		var err error
		in.Word = args[0]
		if in.Count, err = historyop.Count(args[0], redo); err != nil {
			return err
		}
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		in.Progress = func(done, all int) { progress(env.Err, done, all) }
	}
	done, err := historyop.Undo(env.Caller(), in)
	return undoview.Tell(env, done, f.json, err)
}

// progress rewrites one line of a terminal while many paths are restored.
func progress(to io.Writer, done, all int) {
	if all > 1000 && (done%500 == 0 || done == all) {
		fmt.Fprintf(to, "\rcarrel: %d of %d", done, all)
		if done == all {
			fmt.Fprint(to, "\r\x1b[K")
		}
	}
}

func (f *undoFlags) mode() historyop.Mode {
	switch {
	case f.keepBoth:
		return historyop.KeepBoth
	case f.skip:
		return historyop.Skip
	case f.force:
		return historyop.Force
	}
	return historyop.Abort
}
