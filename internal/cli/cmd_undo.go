package cli

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/show"
	"carrel/internal/workspace"

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

func (a *app) undoCommand() *cobra.Command {
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
` + plainStatusHelp,
		Example: `  carrel undo --dry-run
  carrel undo
  carrel undo 3
  carrel undo --to 12
  carrel undo --step 9 --keep-both
  carrel undo --path src/main.go`,
		Args: maximumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.undo(f, args, false) },
	}
	cmd.Flags().StringVar(&f.to, "to", "", "take back all steps after this one")
	cmd.Flags().StringVar(&f.step, "step", "", "take back this step only")
	cmd.Flags().StringArrayVar(&f.paths, "path", nil, "only this path and what is in it: by the newest step that changed it")
	oneOf(cmd, "to", "step")
	notEmpty(cmd, "to", "step", "path")
	f.registerUndo(cmd)
	return explainFlagErrors(cmd)
}

func (a *app) redoCommand() *cobra.Command {
	f := &undoFlags{}
	cmd := &cobra.Command{
		Use:   "redo [N] [flags]",
		Short: "Make again what was taken back",
		Long: `Takes back the newest undo, or the newest N.
` + plainStatusHelp,
		Example: `  carrel redo
  carrel redo 2 --dry-run`,
		Args: maximumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.undo(f, args, true) },
	}
	f.registerUndo(cmd)
	return explainFlagErrors(cmd)
}

func (f *undoFlags) registerUndo(cmd *cobra.Command) {
	f.register(cmd)
	f.registerTellAs(cmd)
	cmd.Flags().BoolVarP(&f.dryRun, "dry-run", "d", false, "say what would be done, and do nothing")
	cmd.Flags().BoolVar(&f.keepBoth, "keep-both", false, "what is in the way gets the name NAME.undo-conflict, where something comes back in its place")
	cmd.Flags().BoolVar(&f.skip, "skip-conflicts", false, "what is not as the steps left it stays as it is")
	cmd.Flags().BoolVar(&f.force, "force", false, "replace what is in the way; a redo brings it back")
	cmd.Flags().StringArrayVar(&f.write, "write", nil, "a place outside the project that the steps were allowed to change")
	oneOf(cmd, "keep-both", "skip-conflicts", "force")
	notEmpty(cmd, "write")
}

func maximumArgs(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return fmt.Errorf("%q takes %d argument at most, got %d: %q\nhint: %s", cmd.CommandPath(), n, len(args), args, usage(cmd))
		}
		return nil
	}
}

func (a *app) undo(f *undoFlags, args []string, redo bool) error {
	if !f.dryRun {
		release, err := a.letGo(f.project)
		if err != nil {
			return err
		}
		defer release()
	}
	outer, err := f.request(a)
	if err != nil {
		return err
	}
	h, err := a.openHistoryFor(outer, f.tellAs)
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
	return a.takeBack(h, f, req)
}

// request is what an undo is decided by.
func (f *undoFlags) request(a *app) (workspace.Request, error) {
	req, err := a.historyRequest(f.project)
	(&runFlags{write: f.write}).files(&req.Flags)
	return req, err
}

// takeBack does what is asked for, or says what it would do.
func (a *app) takeBack(h *workspace.History, f *undoFlags, req history.Request) error {
	outer, err := f.request(a)
	if err != nil {
		return err
	}
	if f.dryRun {
		v, err := h.Preview(outer, req)
		if v != nil && v.Refused != nil && !a.forProgram {
			err = errors.Join(a.tellRefused(h, f, v, v.Refused, "would be "), err)
		} else if v != nil {
			err = errors.Join(a.tellUndo(h, f, v, "would be "), err)
		}
		return err
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		req.Progress = a.progress
	}
	v, err := h.Undo(outer, req)
	if v != nil && err != nil {
		err = a.tellRefused(h, f, v, err, "")
	}
	if errors.Is(err, history.ErrBusy) {
		return fmt.Errorf("%w: `carrel ps` lists it, `carrel stop` ends it", err)
	}
	if err != nil {
		return err
	}
	return a.tellUndo(h, f, v, "")
}

// tellRefused tells what is in the way or could not be restored, so that nothing is
// done, and gives the error to end with.
func (a *app) tellRefused(h *workspace.History, f *undoFlags, v *history.Preview, refused error, would string) error {
	nothing := "nothing was changed"
	if would != "" {
		nothing = "nothing would be changed"
	}
	var conflict *history.ConflictError
	var lost *history.UnrestorableError
	switch {
	case errors.As(refused, &conflict):
		j := undoSaid(h, f, v, conflict.Conflicts)
		if f.json {
			if err := show.JSON(a.out, j); err != nil {
				return err
			}
		} else {
			a.tellConflicts(h, j.Conflicts)
			a.tellLeftOut(j.LeftOut)
		}
		return fmt.Errorf("%s: %s not as the steps left them\nhint: --keep-both keeps both, --skip-conflicts leaves them, --force replaces them", nothing, show.Count(len(conflict.Conflicts), "path is", "paths are"))
	case errors.As(refused, &lost):
		return a.refuseLoss(h, f, v, lost, nothing)
	}
	return refused
}

// refuseLoss tells what could not be restored.
func (a *app) refuseLoss(h *workspace.History, f *undoFlags, v *history.Preview, lost *history.UnrestorableError, nothing string) error {
	j := undoSaid(h, f, v, nil)
	if f.json {
		if err := show.JSON(a.out, j); err != nil {
			return err
		}
	} else {
		for _, u := range j.Unrestorable {
			fmt.Fprintf(a.err, "carrel: cannot be restored: %s: %s\n", show.OneLine(shown(h, string(u.Path))), show.OneLine(u.Why))
		}
		a.tellLeftOut(j.LeftOut)
	}
	return fmt.Errorf("%s: %s not be restored\nhint: --skip-conflicts restores everything else", nothing, show.Count(len(lost.Paths), "path can", "paths can"))
}

func (f *undoFlags) mode() history.Mode {
	switch {
	case f.keepBoth:
		return history.KeepBoth
	case f.skip:
		return history.Skip
	case f.force:
		return history.Force
	}
	return history.Abort
}

// steps finds out which steps are meant, newest first.
func (f *undoFlags) steps(h *workspace.History, args []string, req history.Request) ([]uint64, error) {
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
		candidates = slices.DeleteFunc(slices.Clone(h.Log.Steps), func(s *history.Step) bool {
			return s.Begin.Kind != history.StepUndo || s.UndoneBy != 0
		})
	}
	var out []uint64
	for _, s := range slices.Backward(candidates) {
		switch {
		case len(out) == n || s.Number <= after:
		case s.Open() || !req.Redo && h.Log.Undone(s) || !s.Net():
		case req.Paths != nil && !slices.ContainsFunc(req.Paths, s.Touches):
		default:
			out = append(out, s.Number)
		}
	}
	if len(out) == 0 || len(out) < n && f.to == "" {
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
		return nil, fmt.Errorf("%s%s can be %s in %s, asked for %s; `carrel history --all` lists all", show.Count(len(out), "step", "steps"), which, what, show.QuoteIf(h.Project), asked)
	}
	return out, nil
}

// pathList names some paths.
func pathList(h *workspace.History, paths []string) string {
	var words []string
	for _, p := range paths {
		words = append(words, shown(h, p))
	}
	return strings.Join(words, " or ")
}

func (a *app) progress(done, all int) {
	if all > 1000 && (done%500 == 0 || done == all) {
		fmt.Fprintf(a.err, "\rcarrel: %d of %d", done, all)
		if done == all {
			fmt.Fprint(a.err, "\r\x1b[K")
		}
	}
}

// undoJSON is what an undo did or would do.
type undoJSON struct {
	DryRun       bool           `json:"dry_run"`
	Done         bool           `json:"done"` // false: nothing was changed, or not all could be restored
	Steps        []uint64       `json:"steps"`
	Restored     []text         `json:"restored"`
	Removed      []text         `json:"removed"`
	Unrestorable []lostJSON     `json:"unrestorable"`
	LeftAlone    []lostJSON     `json:"left_alone,omitempty"` // stays, although a step made it
	Beside       []besideJSON   `json:"beside,omitempty"`     // is kept under another name
	Conflicts    []conflictJSON `json:"conflicts"`
	LeftOut      *api.LeftOut   `json:"left_out,omitempty"`
	Unlisted     int            `json:"conflicts_left_out,omitempty"` // of LeftOut
}

type lostJSON struct {
	Path text   `json:"path"`
	Why  string `json:"why"`
}

type besideJSON struct {
	Path text `json:"path"`
	Name text `json:"name"` // whole
}

type conflictJSON struct {
	Path text   `json:"path"`
	Why  string `json:"why"`
	Step uint64 `json:"step,omitempty"`
}

// maxShown bounds the paths that a person gets to read; --json has all.
const maxShown = 20

// undoSaid tells of a request, with what was in its way.
func undoSaid(h *workspace.History, f *undoFlags, v *history.Preview, conflicts []history.Conflict) undoJSON {
	j := undoJSON{DryRun: f.dryRun, Steps: []uint64{}, Restored: []text{}, Removed: []text{}, Unrestorable: []lostJSON{}, Conflicts: []conflictJSON{}}
	var paths []string
	j.Steps = append(j.Steps, v.Steps...)
	j.Restored = append(j.Restored, show.Texts(v.Restored)...)
	j.Removed = append(j.Removed, show.Texts(v.Removed)...)
	paths = slices.Concat(paths, v.Restored, v.Removed)
	for _, u := range v.Unrestorable {
		j.Unrestorable = append(j.Unrestorable, lostJSON{text(u.Path), u.Why})
		paths = append(paths, u.Path)
	}
	for _, u := range v.LeftAlone {
		j.LeftAlone = append(j.LeftAlone, lostJSON{text(u.Path), u.Why})
		paths = append(paths, u.Path)
	}
	for _, b := range v.Beside {
		j.Beside = append(j.Beside, besideJSON{text(b.Path), text(b.Name)})
		paths = append(paths, b.Path, b.Name)
	}
	for _, c := range conflicts {
		j.Conflicts = append(j.Conflicts, conflictJSON{text(c.Path), c.Why, c.Step})
		paths = append(paths, c.Path)
	}
	unnamed, err := h.Unnamed(paths)
	hidden := func(at text) bool { return unnamed[string(at)] }
	j.Restored, j.Removed = slices.DeleteFunc(j.Restored, hidden), slices.DeleteFunc(j.Removed, hidden)
	j.Unrestorable = slices.DeleteFunc(j.Unrestorable, func(l lostJSON) bool { return hidden(l.Path) })
	j.LeftAlone = slices.DeleteFunc(j.LeftAlone, func(l lostJSON) bool { return hidden(l.Path) })
	j.Beside = slices.DeleteFunc(j.Beside, func(b besideJSON) bool { return hidden(b.Path) || hidden(b.Name) })
	j.Conflicts = slices.DeleteFunc(j.Conflicts, func(c conflictJSON) bool { return hidden(c.Path) })
	j.Unlisted = len(conflicts) - len(j.Conflicts)
	if j.LeftOut = api.NewLeftOut(len(unnamed)); err != nil && j.LeftOut != nil {
		j.LeftOut.Why = err.Error() // what was done is done, and told
	}
	return j
}

func (a *app) tellUndo(h *workspace.History, f *undoFlags, v *history.Preview, would string) error {
	j := undoSaid(h, f, v, v.Conflicts)
	missing := 0
	for _, u := range j.Unrestorable {
		if u.Why != history.Ignored {
			missing++
		}
	}
	j.Done = !f.dryRun && missing == 0
	if f.json {
		return errors.Join(show.JSON(a.out, j), a.incomplete(f, missing))
	}
	a.tellConflicts(h, j.Conflicts)
	a.tellPaths(h, would+"restored  ", j.Restored)
	a.tellPaths(h, would+"removed   ", j.Removed)
	for _, u := range j.Unrestorable {
		what := "NOT restored"
		if u.Why == history.Ignored {
			what = "left alone"
		}
		fmt.Fprintf(a.out, "%s  %s: %s\n", what, show.OneLine(shown(h, string(u.Path))), show.OneLine(u.Why))
	}
	for _, b := range j.Beside {
		fmt.Fprintf(a.out, "%skept      %s as %s\n", would, show.OneLine(shown(h, string(b.Path))), show.OneLine(shown(h, string(b.Name))))
	}
	a.tellLeftAlone(h, j.LeftAlone)
	fmt.Fprintf(a.out, "%s: %s %srestored, %d removed", show.Count(len(v.Steps), "step", "steps"), show.Count(len(j.Restored), "path", "paths"), would, len(j.Removed))
	if missing > 0 {
		fmt.Fprintf(a.out, ", %d could not be restored", missing)
	}
	if alone := len(j.Unrestorable) - missing; alone > 0 {
		fmt.Fprintf(a.out, ", %d left alone", alone)
	}
	fmt.Fprintln(a.out)
	a.tellLeftOut(j.LeftOut)
	return a.incomplete(f, missing)
}

// maxAlone bounds the paths that are listed for one reason to leave something alone.
const maxAlone = 3

// tellLeftAlone lists what the steps made and stays, the first few for each reason.
func (a *app) tellLeftAlone(h *workspace.History, list []lostJSON) {
	told := make(map[string]int)
	for _, u := range list {
		if told[u.Why]++; told[u.Why] <= maxAlone {
			fmt.Fprintf(a.out, "left alone  %s: %s\n", show.OneLine(shown(h, string(u.Path))), show.OneLine(u.Why))
		}
	}
	for _, why := range slices.Sorted(maps.Keys(told)) {
		if more := told[why] - maxAlone; more > 0 {
			fmt.Fprintf(a.out, "left alone  (%d more, --json lists all): %s\n", more, show.OneLine(why))
		}
	}
}

// incomplete is the error of an undo, or of its dry run, that could not bring some paths back.
// Another surface reads that from the answer.
func (a *app) incomplete(f *undoFlags, missing int) error {
	if missing == 0 || a.forProgram {
		return nil
	}
	rest := "was"
	if f.dryRun {
		rest = "would be"
	}
	return &exitError{status: 1, err: fmt.Errorf("%s could not be restored; everything else %s", show.Count(missing, "path", "paths"), rest)}
}

// tellPaths lists the first of some paths, and how many there are beside them.
func (a *app) tellPaths(h *workspace.History, what string, list []text) {
	for i, p := range list {
		if i == maxShown {
			fmt.Fprintf(a.out, "%s(%d more, --json lists all)\n", what, len(list)-i)
			return
		}
		fmt.Fprintf(a.out, "%s%s\n", what, show.OneLine(shown(h, string(p))))
	}
}

func (a *app) tellConflicts(h *workspace.History, list []conflictJSON) {
	for _, c := range list {
		fmt.Fprintf(a.err, "carrel: conflict: %s: %s\n", show.OneLine(shown(h, string(c.Path))), show.OneLine(c.Why))
	}
}
