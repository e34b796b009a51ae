package historycmd

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/openhistory"
	"carrel/internal/cli/policyflags"
	"carrel/internal/cmdline"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
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
	f.registerTellAs(cmd)
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "d", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVar(&f.keepBoth, "keep-both", false, "what is in the way gets the name NAME.undo-conflict, where something comes back in its place")
	cmd.Flags().BoolVar(&f.skip, "skip-conflicts", false, "what is not as the steps left it stays as it is")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace what is in the way; a redo brings it back")
	cmd.Flags().StringArrayVar(&f.write, "write", nil, "a place outside the project that the steps were allowed to change")
	cmdline.OneOf(cmd, "keep-both", "skip-conflicts", "force")
	cmdline.NotEmpty(cmd, "write")
}

func undoSteps(env *cmdenv.Env, f *undoFlags, args []string, redo bool) error {
	if !f.dryRun {
		if err := openhistory.MayChange(env, f.project, f.tellAs); err != nil {
			return err
		}
		release, err := openhistory.Release(env, f.project)
		if err != nil {
			return err
		}
		defer release()
	}
	outer, err := f.request(env)
	if err != nil {
		return err
	}
	h, err := openhistory.OpenFor(env, outer, f.tellAs)
	if err != nil {
		return err
	}
	defer h.Close()
	req := history.Request{Redo: redo, Mode: f.mode()}
	for _, p := range f.paths {
		at, err := asked(h, p)
		if err != nil {
			return err
		}
		req.Paths = append(req.Paths, at)
	}
	if req.Steps, err = f.steps(h, args, req); err != nil {
		return err
	}
	return openhistory.TakeBack(env, h, openhistory.Undo{By: outer, DryRun: f.dryRun, JSON: f.json}, req)
}

// request is what an undo is decided by.
func (f *undoFlags) request(env *cmdenv.Env) (projecthistory.Request, error) {
	req, err := openhistory.Request(env, f.project)
	(&policyflags.Flags{Write: f.write}).Files(&req.Flags)
	return req, err
}

func (f *undoFlags) mode() journal.Mode {
	switch {
	case f.keepBoth:
		return journal.KeepBoth
	case f.skip:
		return journal.Skip
	case f.force:
		return journal.Force
	}
	return journal.Abort
}

// steps finds out which steps are meant, newest first.
func (f *undoFlags) steps(h *projecthistory.History, args []string, req history.Request) ([]uint64, error) {
	n, asked := 1, "1"
	if len(args) == 1 {
		var err error
		asked = args[0]
		if n, err = strconv.Atoi(asked); err != nil && !errors.Is(err, strconv.ErrRange) || n < 1 {
			if req.Redo {
				return nil, fmt.Errorf("%q: want how many undos, 1 or more", asked)
			}
			return nil, fmt.Errorf("%q: want how many steps, 1 or more; --step takes one by its number", asked)
		}
		if f.to != "" || f.step != "" {
			return nil, errors.New("a number of steps and --to or --step: want one of them")
		}
	}
	if f.step != "" {
		s, err := stepNamed(h, f.step)
		if err != nil {
			return nil, err
		}
		return []uint64{s.Number}, nil
	}
	var after uint64
	if f.to != "" {
		s, err := stepNamed(h, f.to)
		if err != nil {
			return nil, err
		}
		after, n = s.Number, len(h.Log.Steps)
	}
	candidates := h.Log.Changes()
	if req.Redo {
		candidates = slices.DeleteFunc(slices.Clone(h.Log.Steps), func(s *steplog.Step) bool {
			return s.Begin.Kind != journal.StepUndo || s.UndoneBy != 0
		})
	}
	var out []uint64
	var last *steplog.Step // that was chosen
	found, paths := 0, slices.Clone(req.Paths)
	for _, s := range slices.Backward(h.Log.Steps) {
		one := last != nil && h.Log.OneUndo(s, last)
		switch {
		case found == n && !one || s.Number <= after || !slices.Contains(candidates, s):
		case s.Open() || !req.Redo && (h.Log.Undone(s) || !s.Net()):
		case req.Paths != nil && !slices.ContainsFunc(paths, s.Touches):
		default:
			out, last = append(out, s.Number), s
			if !one {
				found++
			}
		}
		if found < n && s.Number > after {
			paths = steplog.WithFormer(paths, s)
		}
	}
	if found == 0 || found < n && f.to == "" {
		what := "undone"
		if req.Redo {
			what = "made again"
		}
		which := ""
		if len(req.Paths) > 0 {
			which = " that changed " + pathList(h, req.Paths)
		}
		if f.to != "" {
			asked = "all after step " + f.to
		}
		hint := ""
		if at := h.Left(); at != "" {
			hint = fmt.Sprintf("\nhint: there are steps of %s, which is not there any more; if that is this project, move it back to undo them", show.QuoteIf(at))
		}
		return nil, fmt.Errorf("%s%s can be %s in %s, asked for %s; `carrel history --all` lists all%s",
			show.Count(found, "step", "steps"), which, what, show.QuoteIf(h.Project), asked, hint)
	}
	return out, nil
}

// pathList names some paths.
func pathList(h *projecthistory.History, paths []string) string {
	var words []string
	for _, p := range paths {
		words = append(words, stepview.Path(h, p))
	}
	return strings.Join(words, " or ")
}
