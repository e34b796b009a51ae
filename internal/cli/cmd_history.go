package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/target"
	"carrel/internal/cmdline"
	"carrel/internal/history"
	"carrel/internal/policy"
	"carrel/internal/show"
	"carrel/internal/stepview"
	"carrel/internal/supervisor"
	"carrel/internal/workspace"

	"github.com/spf13/cobra"
)

type historyFlags struct {
	path, project string
	last          int
	json, all     bool
	tellAs        string // the id of a running workspace
}

func (a *app) historyCommand() *cobra.Command {
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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.history(cmd, f) },
	}
	cmd.Flags().StringVar(&f.path, "path", "", "only steps that changed this path or something in it")
	cmd.Flags().BoolVar(&f.all, "all", false, "undos too, and steps that changed nothing in the end")
	cmdline.NotEmpty(cmd, "path")
	f.register(cmd)
	f.registerTellAs(cmd)
	cmd.Flags().IntVarP(&f.last, "last", "n", 0, "only the newest N")
	cmdline.CompleteFlag(cmd, "last", cobra.NoFileCompletions)
	cmd.AddCommand(a.storeCommands()...)
	return cmdline.ExplainFlagErrors(cmd)
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

// openHistory opens the history of a project and tells what was found there.
func (a *app) openHistory(project string) (*workspace.History, error) {
	req, err := a.historyRequest(project)
	if err != nil {
		return nil, err
	}
	return a.openHistoryFor(req, "")
}

// openHistoryFor is openHistory for a request, and for whoever may know what a workspace
// shows and no more; "" for no workspace.
func (a *app) openHistoryFor(req workspace.Request, tellAs string) (*workspace.History, error) {
	if err := isDirectory(req.Cwd); err != nil {
		return nil, err
	}
	debug.SetGCPercent(50) // a step of a million paths is large, and all of it is looked at once
	h, err := workspace.OpenHistory(req)
	if err != nil {
		return nil, err
	}
	if tellAs != "" {
		h.TellAs(a.sighted(tellAs))
	}
	a.tellElsewhere(h)
	for _, n := range h.Closed {
		if err := a.tellClosed(h, n); err != nil {
			h.Close()
			return nil, err
		}
	}
	if h.Open != nil {
		fmt.Fprintf(a.Err, "carrel: %s\n", show.OneLine(h.Redacted(h.Open).Error()))
	}
	for _, d := range h.Log.Damaged {
		fmt.Fprintf(a.Err, "carrel: the history is damaged: %s\n", show.OneLine(d))
	}
	return h, nil
}

// isDirectory checks the value of --project, "" for none.
func isDirectory(project string) error {
	if project == "" {
		return nil
	}
	st, err := os.Stat(project)
	switch {
	case err != nil:
		return fmt.Errorf("--project %q: %w", project, cmdline.Cause(err))
	case !st.IsDir():
		return fmt.Errorf("--project %q: it is no directory", project)
	}
	return nil
}

// tellElsewhere says where a history is that is no longer looked at: history.dir was
// changed, and what is kept stays where it is.
func (a *app) tellElsewhere(h *workspace.History) {
	if h.Elsewhere != "" {
		fmt.Fprintf(a.Err, "carrel: there are no steps in %s; an older history of this project is in %s, from when history.dir was another\n", show.OneLine(show.QuoteIf(h.Dir)), show.OneLine(show.QuoteIf(h.Elsewhere)))
	}
}

// maxSighted bounds the paths of one question, in bytes: as base64 they are a line.
const maxSighted = 256 << 10

// sighted asks a running workspace how much it shows of paths.
func (a *app) sighted(id string) workspace.Sighted {
	return func(paths []string) (out []api.Sight, err error) {
		entries, err := target.Running(a.Env)
		i := slices.IndexFunc(entries, func(e supervisor.Entry) bool { return e.ID == id })
		if err == nil && i < 0 {
			err = fmt.Errorf("workspace %q does not run any more", id)
		}
		for err == nil && len(paths) > 0 {
			req, size := api.Request{Op: api.OpSight}, 0
			for len(paths) > 0 && (size == 0 || size+len(paths[0]) < maxSighted) {
				req.Paths, size = append(req.Paths, []byte(paths[0])), size+len(paths[0])+1
				paths = paths[1:]
			}
			var r api.Reply
			r, err = target.Call(context.Background(), entries[i], req)
			out = append(out, []api.Sight(r.Sights)...)
		}
		return out, err
	}
}

// tellClosed tells of a step that had been interrupted: of none for an undo that
// had not changed anything.
func (a *app) tellClosed(h *workspace.History, n uint64) error {
	s := h.Log.Step(n)
	switch {
	case s == nil:
		fmt.Fprintf(a.Err, "carrel: an undo was interrupted before it changed anything\n")
	case s.Begin.Kind == history.StepRun || s.Begin.Kind == history.StepJob:
		fmt.Fprintf(a.Err, "carrel: step %d was interrupted; `carrel show %d` lists what it had done, `carrel undo --step %d` takes it back\n", n, n, n)
	default:
		fmt.Fprintf(a.Err, "carrel: the %s of step %d was interrupted and is finished now\n", s.Begin.Kind, s.Begin.Of)
		if s.End == nil {
			return nil
		}
		for _, at := range s.End.Left {
			unnamed, err := h.Unnamed([]string{string(at)})
			if err != nil {
				return err
			}
			if !unnamed[string(at)] {
				fmt.Fprintf(a.Err, "carrel: %s was changed by somebody else meanwhile and is left as it is\n", show.OneLine(string(at)))
			}
		}
	}
	return nil
}

func (a *app) historyRequest(project string) (workspace.Request, error) {
	under, err := a.Ceilings("")
	return workspace.Request{Cwd: project, Environ: a.Environ, Ceilings: under, Default: policy.Human, Version: cmdenv.Version()}, err
}

func (a *app) history(cmd *cobra.Command, f *historyFlags) error {
	if cmd.Flags().Changed("last") && f.last <= 0 {
		return fmt.Errorf("-n %d: want a number of 1 or more", f.last)
	}
	h, err := f.open(a)
	if err != nil {
		return err
	}
	defer h.Close()
	path, err := asked(h, f.path)
	if err != nil {
		return err
	}
	var list []stepview.Step // newest first
	for _, s := range slices.Backward(h.Log.Steps) {
		if f.last > 0 && len(list) == f.last {
			break
		}
		a.soFar(h, s)
		undo := s.Begin.Kind == history.StepUndo || s.Begin.Kind == history.StepRedo
		if undo && !f.all || path != "" && !s.Touches(path) || !s.Net() && !s.Open() && !f.all {
			continue
		}
		list = append(list, stepview.StepOf(h.Log, s))
	}
	if f.json {
		slices.Reverse(list)
		return show.JSON(a.Out, show.NotNil(list))
	}
	if len(list) == 0 {
		what := "no steps"
		if path != "" {
			what += " that changed " + stepview.Path(h, path)
		}
		fmt.Fprintln(a.Out, show.OneLine(what+" in "+show.QuoteIf(h.Project)))
		return nil
	}
	stepview.PrintSteps(a.Out, list)
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
	if dir, err := filepath.EvalSymlinks(filepath.Dir(abs)); err == nil { // the path itself may be gone
		abs = filepath.Join(dir, filepath.Base(abs))
	}
	return abs, nil
}

// open opens the history that the flags are about.
func (f *historyFlags) open(a *app) (*workspace.History, error) {
	req, err := a.historyRequest(f.project)
	if err != nil {
		return nil, err
	}
	return a.openHistoryFor(req, f.tellAs)
}

// asked is absolutePath of what somebody asks for: whether a path that they may not know
// is in the history is no answer.
func asked(h *workspace.History, path string) (string, error) {
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

func (a *app) showCommand() *cobra.Command {
	f := &historyFlags{}
	cmd := &cobra.Command{
		Use:   "show STEP [flags]",
		Short: "List what one step changed",
		Long: `Lists the paths that a step changed in the end: A added, M changed, R renamed,
D removed, "mode" where only mode, owner, times or attributes are others, and
"edit" for what another program wrote and the step destroyed.
` + cmdline.PlainStatus,
		Example: `  carrel show 12
  carrel show 12 --json`,
		Args: cmdline.OneArg("a step"),
		RunE: func(cmd *cobra.Command, args []string) error { return a.show(f, args[0]) },
	}
	f.register(cmd)
	f.registerTellAs(cmd)
	return cmdline.ExplainFlagErrors(cmd)
}

func (a *app) show(f *historyFlags, name string) error {
	h, s, err := a.openStep(f, name)
	if err != nil {
		return err
	}
	defer h.Close()
	changes, left, err := h.Tell(s, s.Changes(), api.SightName)
	if err = errors.Join(err, h.Log.Unreadable()); err != nil {
		return err
	}
	j := stepview.StepOf(h.Log, s)
	j.LeftOut = api.NewLeftOut(len(left))
	if f.json {
		j.AddChanges(changes)
		return show.JSON(a.Out, j)
	}
	stepview.PrintStep(a.Out, h, j, changes)
	stepview.PrintLeftOut(a.Out, j.LeftOut)
	return stepview.PrintBetween(a.Out, h, s)
}

// openStep opens the history of a project at a step.
func (a *app) openStep(f *historyFlags, name string) (*workspace.History, *history.Step, error) {
	h, err := f.open(a)
	if err != nil {
		return nil, nil, err
	}
	s, err := stepNamed(h, name)
	if err != nil {
		h.Close()
		return nil, nil, err
	}
	a.soFar(h, s)
	return h, s, nil
}

// soFar has an open step tell what it has come to by now.
func (a *app) soFar(h *workspace.History, s *history.Step) {
	if !s.Open() {
		return
	}
	if err := h.SoFar(s); err != nil {
		fmt.Fprintf(a.Err, "carrel: step %d goes on, and what it has changed so far cannot be told in full: %s\n", s.Number, show.OneLine(err.Error()))
	}
}

// stepNamed finds a step by its number.
func stepNamed(h *workspace.History, name string) (*history.Step, error) {
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("step %q: want the number of one; `carrel history` lists them", name)
	}
	if s := h.Log.Step(n); s != nil && err == nil {
		return s, nil
	}
	return nil, fmt.Errorf("step %s: there is none of this number in %s; `carrel history --all` lists them", name, show.QuoteIf(h.Project))
}
