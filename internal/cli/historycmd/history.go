package historycmd

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/openhistory"
	"carrel/internal/cmdline"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

type historyFlags struct {
	path, project string
	last          int
	json, all     bool
	tellAs        string // the id of a running workspace
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
	f.registerTellAs(cmd)
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

// registerTellAs is for what is asked by a front end, for its workspace.
func (f *historyFlags) registerTellAs(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.tellAs, "tell-as", "", "tell only what this running workspace shows")
	_ = cmd.Flags().MarkHidden("tell-as")
	cmdline.NotEmpty(cmd, "tell-as")
}

func listSteps(env *cmdenv.Env, cmd *cobra.Command, f *historyFlags) error {
	if cmd.Flags().Changed("last") && f.last <= 0 {
		return fmt.Errorf("-n %d: want a number of 1 or more", f.last)
	}
	h, err := f.open(env)
	if err != nil {
		return err
	}
	defer h.Close()
	path, err := asked(h, f.path)
	if err != nil {
		return err
	}
	var list []stepview.Step // newest first
	var paths []string
	if path != "" {
		paths = []string{path}
	}
	for _, s := range slices.Backward(h.Log.Steps) {
		if f.last > 0 && len(list) == f.last {
			break
		}
		soFar(env, h, s)
		touches := path == "" || slices.ContainsFunc(paths, s.Touches)
		paths = steplog.WithFormer(paths, s)
		undo := s.Begin.Kind == journal.StepUndo || s.Begin.Kind == journal.StepRedo
		if undo && !f.all || !touches || !s.Net() && !s.Open() && !f.all {
			continue
		}
		list = append(list, stepview.StepOf(h.Log, s))
	}
	if f.json {
		slices.Reverse(list)
		return show.JSON(env.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		what := "no steps"
		if path != "" {
			what += " that changed " + stepview.Path(h, path)
		}
		fmt.Fprintln(env.Out, show.OneLine(what+" in "+show.QuoteIf(h.Project)))
		return nil
	}
	stepview.PrintSteps(env.Out, list)
	return nil
}

// absolutePath is a path as the history knows it, "" for none.
func absolutePath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding %q: %w", path, err)
	}
	for dir := filepath.Dir(abs); dir != "/"; dir = filepath.Dir(dir) { // the path, and what it lay in, may be gone
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, abs[len(dir):]), nil
		}
	}
	return abs, nil
}

// open opens the history that the flags are about.
func (f *historyFlags) open(env *cmdenv.Env) (*projecthistory.History, error) {
	req, err := openhistory.Request(env, f.project)
	if err != nil {
		return nil, err
	}
	return openhistory.OpenFor(env, req, f.tellAs)
}

// asked is absolutePath of what is asked for: whether a path that they may not know
// is in the history is no answer.
func asked(h *projecthistory.History, path string) (string, error) {
	at, err := absolutePath(path)
	if err != nil || at == "" {
		return at, err
	}
	unnamed, err := h.Unnamed([]string{at})
	if err == nil && unnamed[at] {
		err = fmt.Errorf("--path %q: %s", path, api.NewLeftOut(1).Why)
	}
	return at, err
}

func showCommand(env *cmdenv.Env) *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "show [STEP...] [flags]",
		Short: "List what steps changed",
		Long: `Lists the paths that a step, the newest without a number, changed in the end: A added, M changed, R renamed,
D removed, "mode" where only mode, owner, times or attributes are others, and
"edit" for what another program wrote and the step destroyed. Of several steps
--json prints a list.
` + cmdline.PlainStatus,
		Example: `  carrel show 12
  carrel show 12 --json`,
		Args: cmdline.MaximumArgs(maxShown),
		RunE: func(cmd *cobra.Command, args []string) error { return showSteps(env, f, args) },

		ValidArgsFunction: cmdline.FirstArg(completeStep(env, f)),
	}
	f.register(cmd)
	f.registerTellAs(cmd)
	return cmd
}

// maxShown bounds the steps of one call.
const maxShown = 1000

func showSteps(env *cmdenv.Env, f *historyFlags, names []string) error {
	h, s, err := openStep(env, f, names[:min(len(names), 1)]...)
	if err != nil {
		return err
	}
	defer h.Close()
	all := []*steplog.Step{s}
	for _, name := range names[min(len(names), 1):] {
		if s, err = stepNamed(h, name); err != nil {
			return err
		}
		soFar(env, h, s)
		all = append(all, s)
	}
	if err := h.Log.Unreadable(); err != nil {
		return err
	}
	var list []stepview.Step
	for i, s := range all {
		changes, left, err := h.Tell(s, s.Changes(), api.SightName)
		if err != nil {
			return err
		}
		j := stepview.StepOf(h.Log, s)
		j.LeftOut = api.NewLeftOut(len(left))
		if f.json {
			j.AddChanges(changes)
			list = append(list, j)
			continue
		}
		if i > 0 {
			fmt.Fprintln(env.Out)
		}
		stepview.PrintStep(env.Out, h, j, changes)
		stepview.PrintLeftOut(env.Out, j.LeftOut)
		if err := stepview.PrintBetween(env.Out, h, s); err != nil {
			return err
		}
	}
	switch {
	case !f.json:
		return nil
	case len(list) == 1:
		return show.JSON(env.Out, list[0])
	}
	return show.JSON(env.Out, list)
}

// openStep opens the history of a project at a step.
func openStep(env *cmdenv.Env, f *historyFlags, name ...string) (*projecthistory.History, *steplog.Step, error) {
	h, err := f.open(env)
	if err != nil {
		return nil, nil, err
	}
	s, err := newestOr(h, name)
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	soFar(env, h, s)
	return h, s, nil
}

// soFar has an open step tell what it has come to by now.
func soFar(env *cmdenv.Env, h *projecthistory.History, s *steplog.Step) {
	if !s.Open() {
		return
	}
	err := h.SoFar(s)
	switch {
	case err == nil:
	case s.Live:
		fmt.Fprintf(env.Err, "carrel: step %d goes on, and what it has changed so far cannot be told in full: %s\n", s.Number, show.OneLine(err.Error()))
	default:
		fmt.Fprintf(env.Err, "carrel: what step %d has changed cannot be told in full: %s\n", s.Number, show.OneLine(err.Error()))
	}
}

// stepNamed finds a step by its number.
// newestOr gives the step of a name, and without one the newest that changed something.
func newestOr(h *projecthistory.History, name []string) (*steplog.Step, error) {
	if len(name) > 0 {
		return stepNamed(h, name[0])
	}
	for _, s := range slices.Backward(h.Log.Changes()) {
		if s.Net() {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no steps in %s", show.QuoteIf(h.Project))
}

func stepNamed(h *projecthistory.History, name string) (*steplog.Step, error) {
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("step %q: want the number of one; `carrel history` lists them", name)
	}
	if s := h.Log.Step(n); s != nil && err == nil {
		return s, nil
	}
	return nil, fmt.Errorf("step %s: there is none of this number in %s; `carrel history --all` lists them", name, show.QuoteIf(h.Project))
}
