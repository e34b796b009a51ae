package historycmd

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cmdline"
	"carrel/internal/history/steplog"
	"carrel/internal/pathname"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"github.com/spf13/cobra"
)

type diffFlags struct {
	historyFlags
	stat, colour bool
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
	f.registerTellAs(cmd)
	cmd.Flags().StringVar(&f.path, "path", "", "only this path and what is in it")
	cmd.Flags().BoolVar(&f.stat, "stat", false, "only how many lines of each file")
	cmdline.NotEmpty(cmd, "path")
	return cmd
}

// diffJSON is a diff for programs.
type diffJSON struct {
	Diff    string       `json:"diff"`
	LeftOut *api.LeftOut `json:"left_out,omitempty"`
}

func printDiff(env *cmdenv.Env, f *diffFlags, args []string) error {
	var text bytes.Buffer
	out := *env
	if f.json {
		out.Out = &text
	}
	left, err := diffText(&out, f, args)
	if err != nil || !f.json {
		return err
	}
	return show.JSON(env.Out, diffJSON{text.String(), left})
}

// diffText prints a diff, and gives what it does not tell.
func diffText(env *cmdenv.Env, f *diffFlags, args []string) (*api.LeftOut, error) {
	h, err := f.open(env)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	for _, s := range h.Log.Steps {
		soFar(env, h, s)
	}
	steps, err := diffSteps(h, args)
	if err != nil {
		return nil, err
	}
	path, err := asked(h, f.path)
	if err != nil {
		return nil, err
	}
	f.colour = env.Paint(env.Out).On()
	told, unread := 0, make(map[string]bool)
	for _, s := range steps {
		all := slices.DeleteFunc(s.Changes(), func(c steplog.PathChange) bool {
			return path != "" && !pathname.Within(c.Path, path) && (c.From == "" || !pathname.Within(c.From, path))
		})
		changes, left, err := h.Tell(s, all, api.SightRead)
		if err != nil {
			return nil, err
		}
		for _, at := range left {
			unread[at] = true
		}
		if len(steps) > 1 && (path == "" || len(changes) > 0) {
			fmt.Fprintf(env.Out, "step %d: %s\n", s.Number, show.OneLine(stepview.CommandOf(stepview.StepOf(h.Log, s))))
		}
		d := &stepview.Diff{Out: env.Out, History: h, Step: s, Stat: f.stat, Colour: f.colour}
		for _, c := range changes {
			d.Change(c)
		}
		d.Total()
		told += len(changes) + len(left)
	}
	if path != "" && told == 0 {
		which := fmt.Sprintf("step %d", steps[0].Number)
		if n := len(steps); n > 1 {
			which = fmt.Sprintf("steps %d to %d", steps[0].Number, steps[n-1].Number)
		}
		return nil, fmt.Errorf("--path %q: %s did not change it; `carrel history --path` lists the steps that did", f.path, which)
	}
	out := api.NewLeftOut(len(unread))
	stepview.PrintLeftOut(env.Out, out)
	return out, h.Log.Unreadable()
}

// diffSteps finds the steps of an argument, oldest first.
func diffSteps(h *projecthistory.History, args []string) ([]*steplog.Step, error) {
	if len(args) == 0 {
		s, err := newestOr(h, nil)
		return []*steplog.Step{s}, err
	}
	from, to, isRange := strings.Cut(args[0], "..")
	if isRange && (from == "" || to == "" || strings.Contains(to, "..")) {
		return nil, fmt.Errorf("%q: want the numbers of two steps, the older first, as 9..12", args[0])
	}
	first, err := stepNamed(h, from)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return []*steplog.Step{first}, nil
	}
	last, err := stepNamed(h, to)
	if err != nil {
		return nil, err
	}
	if last.Number < first.Number {
		return nil, fmt.Errorf("%q: step %d came before step %d; want the older one first", args[0], last.Number, first.Number)
	}
	var out []*steplog.Step
	for _, s := range h.Log.Changes() {
		if s.Number >= first.Number && s.Number <= last.Number {
			out = append(out, s)
		}
	}
	return out, nil
}
