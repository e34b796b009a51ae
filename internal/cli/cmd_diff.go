package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"carrel/internal/history"
	"carrel/internal/workspace"

	"github.com/aymanbagabas/go-udiff"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

type diffFlags struct {
	historyFlags
	stat, colour bool
}

func (a *app) diffCommand() *cobra.Command {
	f := &diffFlags{}
	cmd := &cobra.Command{
		Use:   "diff [STEP | A..B] [flags]",
		Short: "Show how a step changed files",
		Long: `Shows how a step changed files, as a unified diff; without STEP the newest one.
A..B shows step after step from A to B. What a terminal would act on is escaped.
` + plainStatusHelp,
		Example: `  carrel diff
  carrel diff 12 --stat
  carrel diff 9..12 --path src`,
		Args: maximumArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.diff(f, args) },
	}
	f.register(cmd)
	cmd.Flags().StringVar(&f.path, "path", "", "only this path and what is in it")
	cmd.Flags().BoolVar(&f.stat, "stat", false, "only how many lines of each file")
	notEmpty(cmd, "path")
	return explainFlagErrors(cmd)
}

func (a *app) diff(f *diffFlags, args []string) error {
	h, err := a.openHistory(f.project)
	if err != nil {
		return err
	}
	defer h.Close()
	steps, err := diffSteps(h, args)
	if err != nil {
		return err
	}
	path, err := absolutePath(f.path)
	if err != nil {
		return err
	}
	out, isFile := a.out.(*os.File)
	f.colour = isFile && term.IsTerminal(int(out.Fd())) && a.getenv("NO_COLOR") == ""
	told := 0
	for _, s := range steps {
		changes := slices.DeleteFunc(s.Changes(), func(c history.PathChange) bool {
			return path != "" && !within(c.Path, path) && (c.From == "" || !within(c.From, path))
		})
		if len(steps) > 1 && (path == "" || len(changes) > 0) {
			fmt.Fprintf(a.out, "step %d: %s\n", s.Number, oneLine(commandOf(newStepJSON(h.Log, s, nil))))
		}
		for _, c := range changes {
			a.diffPath(h, f, s, c)
		}
		told += len(changes)
	}
	if path != "" && told == 0 {
		which := fmt.Sprintf("step %d", steps[0].Number)
		if n := len(steps); n > 1 {
			which = fmt.Sprintf("steps %d to %d", steps[0].Number, steps[n-1].Number)
		}
		return fmt.Errorf("--path %q: %s did not change it; `carrel history --path` lists the steps that did", f.path, which)
	}
	return h.Log.Unreadable()
}

// within says whether a path is a directory or lies in it.
func within(path, dir string) bool { return path == dir || strings.HasPrefix(path, dir+"/") }

// diffSteps finds the steps of an argument, oldest first.
func diffSteps(h *workspace.History, args []string) ([]*history.Step, error) {
	list := h.Log.Changes()
	if len(args) == 0 {
		for i := len(list) - 1; i >= 0; i-- {
			if list[i].Net() {
				return list[i : i+1], nil
			}
		}
		return nil, fmt.Errorf("no steps in %s", quoteIf(h.Project))
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
		return []*history.Step{first}, nil
	}
	last, err := stepNamed(h, to)
	if err != nil {
		return nil, err
	}
	if last.Number < first.Number {
		return nil, fmt.Errorf("%q: step %d came before step %d; want the older one first", args[0], last.Number, first.Number)
	}
	var out []*history.Step
	for _, s := range list {
		if s.Number >= first.Number && s.Number <= last.Number {
			out = append(out, s)
		}
	}
	return out, nil
}

// maxDiffed is up to which size a file is compared by lines, in bytes.
const maxDiffed = 4 << 20

func (a *app) diffPath(h *workspace.History, f *diffFlags, s *history.Step, c history.PathChange) {
	name := shown(h, c.Path)
	old := name
	if c.From != "" {
		old = shown(h, c.From)
	}
	if c.Kind != history.File || c.What == history.Changed {
		a.diffLine(f, "", fmt.Sprintf("%s %s: %s", c.Kind, name, c.What))
		return
	}
	before, after, err := h.Contents(s, c.Path)
	if err != nil {
		a.diffLine(f, "", fmt.Sprintf("file %s: %s (%v)", name, c.What, err))
		return
	}
	x, okX := readText(before)
	y, okY := readText(after)
	switch {
	case !okX || !okY:
		a.diffLine(f, "", fmt.Sprintf("file %s: %s, binary or larger than %d bytes", name, c.What, maxDiffed))
	case f.stat:
		a.stat(f, name, x, y)
	default:
		if c.What == history.Added {
			old = "/dev/null"
		}
		if c.What == history.Removed {
			name = "/dev/null"
		}
		if c.What == history.Renamed {
			a.diffLine(f, "", fmt.Sprintf("file %s renamed to %s", old, name))
		}
		a.unified(f, udiff.Unified(oneLine(old), oneLine(name), string(x), string(y)))
	}
}

// readText reads a file that can be shown; false for one that cannot.
func readText(r io.ReadCloser) ([]byte, bool) {
	if r == nil {
		return nil, true
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxDiffed+1))
	return data, err == nil && len(data) <= maxDiffed && bytes.IndexByte(data, 0) < 0
}

func (a *app) stat(f *diffFlags, name string, x, y []byte) {
	more, less := 0, 0
	d, err := udiff.ToUnifiedDiff("", "", string(x), udiff.Lines(string(x), string(y)), 0)
	if err == nil {
		for _, h := range d.Hunks {
			for _, l := range h.Lines {
				switch l.Kind {
				case udiff.Insert:
					more++
				case udiff.Delete:
					less++
				}
			}
		}
	}
	a.diffLine(f, "", fmt.Sprintf("%s  +%d -%d", name, more, less))
}

// Colours of a diff, as git has them.
const (
	red, green, cyan, bold, plain = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1m", "\x1b[0m"
)

func (a *app) unified(f *diffFlags, text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		colour := ""
		switch {
		case strings.HasPrefix(line, "---"), strings.HasPrefix(line, "+++"):
			colour = bold
		case strings.HasPrefix(line, "@@"):
			colour = cyan
		case strings.HasPrefix(line, "-"):
			colour = red
		case strings.HasPrefix(line, "+"):
			colour = green
		}
		a.diffLine(f, colour, line)
	}
}

func (a *app) diffLine(f *diffFlags, colour, line string) {
	line = Escape(strings.TrimSuffix(line, "\r"))
	if colour != "" && f.colour {
		line = colour + line + plain
	}
	fmt.Fprintln(a.out, line)
}
