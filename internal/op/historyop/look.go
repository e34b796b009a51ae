package historyop

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/capped"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/op"
	"carrel/internal/pathname"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"
)

// ListRequest asks for steps.
type ListRequest struct {
	Of
	Path string // only steps that changed this path or something in it; "" for all
	Last int    // only the newest so many; 0 for all
	All  bool   // undos too, and steps that changed nothing in the end
}

// List gives the steps, the oldest first.
func List(c *op.Caller, in ListRequest) ([]Step, error) {
	if err := op.NoZeroBytes("history", in.Path); err != nil {
		return nil, err
	}
	h, err := Open(c, in.Of)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	list, err := Steps(c, h, in)
	slices.Reverse(list)
	return list, err
}

// Steps is List of a history that is open. It gives the newest first.
func Steps(c *op.Caller, h *projecthistory.History, in ListRequest) ([]Step, error) {
	path, err := PathOf(c, h, in.Path)
	if err != nil {
		return nil, err
	}
	var list []Step
	var paths []string
	if path != "" {
		paths = []string{path}
	}
	for _, s := range slices.Backward(h.Log.Steps) {
		if in.Last > 0 && len(list) == in.Last {
			break
		}
		SoFar(c, h, s)
		touches := path == "" || slices.ContainsFunc(paths, s.Touches)
		paths = steplog.WithFormer(paths, s)
		undo := s.Begin.Kind == journal.StepUndo || s.Begin.Kind == journal.StepRedo
		if undo && !in.All || !touches || !s.Net() && !s.Open() && !in.All {
			continue
		}
		list = append(list, stepview.StepOf(h.Log, s))
	}
	return list, nil
}

// Shown is one step with what it changed, as far as the caller may know.
type Shown struct {
	View    Step // without its changes
	Step    *steplog.Step
	Changes []steplog.PathChange
}

// Show gives steps of an open history by their numbers, the newest without one.
func Show(c *op.Caller, h *projecthistory.History, names []string) ([]Shown, error) {
	var list []Shown
	for i := range max(1, len(names)) {
		s, err := newestOr(h, names[min(i, len(names)):])
		if err != nil {
			return nil, err
		}
		SoFar(c, h, s)
		list = append(list, Shown{Step: s})
	}
	if err := h.Log.Unreadable(); err != nil {
		return nil, err
	}
	for i := range list {
		one := &list[i]
		changes, left, err := h.Tell(one.Step, one.Step.Changes(), api.SightName)
		if err != nil {
			return list[:i], err
		}
		one.View, one.Changes = stepview.StepOf(h.Log, one.Step), changes
		one.View.LeftOut = api.NewLeftOut(len(left))
	}
	return list, nil
}

// ShowRequest asks for steps with what they changed.
type ShowRequest struct {
	Of
	Steps []string // their numbers; none is the newest
}

// ShowSteps gives steps with what each changed in the end.
func ShowSteps(c *op.Caller, in ShowRequest) ([]Step, error) {
	h, err := Open(c, in.Of)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	shown, err := Show(c, h, in.Steps)
	if err != nil {
		return nil, err
	}
	return Views(shown), nil
}

// Views puts what steps changed beside them.
func Views(shown []Shown) []Step {
	list := make([]Step, len(shown))
	for i, one := range shown {
		list[i] = one.View
		list[i].AddChanges(one.Changes)
	}
	return list
}

// DiffRequest asks how steps changed files.
type DiffRequest struct {
	Of
	Steps  []string // one word, a number or A..B; none is the newest
	Path   string   // only this path and what is in it; "" for all
	Stat   bool     // only how many lines of each file
	Colour bool     // for a terminal
}

// Diff writes a unified diff, and gives what it leaves out.
func Diff(c *op.Caller, in DiffRequest, to io.Writer) (*api.LeftOut, error) {
	if err := op.NoZeroBytes("diff", append(slices.Clone(in.Steps), in.Path)...); err != nil {
		return nil, err
	}
	h, err := Open(c, in.Of)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	for _, s := range h.Log.Steps {
		SoFar(c, h, s)
	}
	steps, err := diffSteps(h, in.Steps)
	if err != nil {
		return nil, err
	}
	path, err := PathOf(c, h, in.Path)
	if err != nil {
		return nil, err
	}
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
			fmt.Fprintf(to, "step %d: %s\n", s.Number, show.OneLine(stepview.CommandOf(stepview.StepOf(h.Log, s))))
		}
		d := &stepview.Diff{Out: to, History: h, Step: s, Stat: in.Stat, Colour: in.Colour}
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
		return nil, fmt.Errorf("--path %q: %s did not change it; `carrel history --path` lists the steps that did", in.Path, which)
	}
	out := api.NewLeftOut(len(unread))
	stepview.PrintLeftOut(to, out)
	return out, h.Log.Unreadable()
}

// Diffed is a diff as one text.
type Diffed struct {
	Diff    string       `json:"diff"`
	LeftOut *api.LeftOut `json:"left_out,omitempty"`
}

// DiffText is Diff for a program. What is longer than op.MaxAnswer is refused.
func DiffText(c *op.Caller, in DiffRequest) (Diffed, error) {
	text := capped.Buffer{Most: op.MaxAnswer}
	left, err := Diff(c, in, &text)
	if err == nil && text.Full() {
		err = fmt.Errorf("carrel diff gave more than %d bytes", op.MaxAnswer)
	}
	return Diffed{string(text.Bytes()), left}, err
}

// diffSteps finds the steps that are asked for, oldest first.
func diffSteps(h *projecthistory.History, words []string) ([]*steplog.Step, error) {
	if len(words) == 0 {
		s, err := newestOr(h, nil)
		return []*steplog.Step{s}, err
	}
	asked := words[0]
	from, to, isRange := strings.Cut(asked, "..")
	if isRange && (from == "" || to == "" || strings.Contains(to, "..")) {
		return nil, fmt.Errorf("%q: want the numbers of two steps, the older first, as 9..12", asked)
	}
	first, err := Numbered(h, from)
	if err != nil {
		return nil, err
	}
	if !isRange {
		return []*steplog.Step{first}, nil
	}
	last, err := Numbered(h, to)
	if err != nil {
		return nil, err
	}
	if last.Number < first.Number {
		return nil, fmt.Errorf("%q: step %d came before step %d; want the older one first", asked, last.Number, first.Number)
	}
	var out []*steplog.Step
	for _, s := range h.Log.Changes() {
		if s.Number >= first.Number && s.Number <= last.Number {
			out = append(out, s)
		}
	}
	return out, nil
}
