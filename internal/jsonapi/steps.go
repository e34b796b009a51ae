package jsonapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"carrel/internal/api"
	"carrel/internal/pathname"
	"carrel/internal/supervisor"
	"carrel/internal/tools"
)

// pastSteps is the history of the project of a session, as the command line tells it.
type pastSteps struct {
	entry   supervisor.Entry
	program tools.Carrel // run in the first directory
}

func (n *session) steps() *pastSteps { return &pastSteps{n.entry, n.program} }

// step is what is read of one, as `carrel history --json` prints it.
type step struct {
	Step  uint64 `json:"step"`
	Kind  string `json:"kind"`
	Run   string `json:"run"`
	State string `json:"state"`
	whole map[string]any
}

// history lists the steps that changed something at a path, "" for anywhere.
func (p *pastSteps) history(ctx context.Context, path string) ([]step, error) {
	args := p.tells("history", "--json")
	if path != "" {
		args = append(args, "--path="+path)
	}
	var list []json.RawMessage
	if err := p.program.JSON(ctx, nil, &list, args...); err != nil {
		return nil, err
	}
	out := make([]step, len(list))
	for i, one := range list {
		if err := errors.Join(json.Unmarshal(one, &out[i]), json.Unmarshal(one, &out[i].whole)); err != nil {
			return nil, fmt.Errorf("reading the history: %w", err)
		}
	}
	return out, nil
}

// undoable are those that can be taken back, the oldest first; with a path without those
// of which nothing is left there, as it was taken back by itself.
func (p *pastSteps) undoable(ctx context.Context, path string) ([]step, error) {
	list, err := p.history(ctx, path)
	if err != nil {
		return nil, err
	}
	parts, err := p.partsUndone(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	return slices.DeleteFunc(undoable(list), func(s step) bool {
		gone := parts[s.Step]
		if gone == nil {
			return false
		}
		changes, _, err := p.changes(ctx, s.Step)
		failed = errors.Join(failed, err)
		return err == nil && !slices.ContainsFunc(changes, func(raw json.RawMessage) bool {
			var p string
			inside := json.Unmarshal(raw, &p) != nil || path == "" || pathname.Within(p, path)
			return inside && !gone[string(raw)]
		})
	}), failed
}

func undoable(list []step) []step {
	return slices.DeleteFunc(slices.Clone(list), func(s step) bool { return s.State != "done" && s.State != "interrupted" })
}

// partsUndone are the paths of steps that were taken back by themselves, by step.
func (p *pastSteps) partsUndone(ctx context.Context) (map[uint64]map[string]bool, error) {
	var list []struct {
		Step   uint64   `json:"step"`
		Kind   string   `json:"kind"`
		Of     []uint64 `json:"of"`
		Undone uint64   `json:"undone_by"`
		State  string   `json:"state"`
	}
	if err := p.program.JSON(ctx, nil, &list, "history", "--json", "--all"); err != nil {
		return nil, err
	}
	whole := map[uint64]bool{}
	for _, s := range list {
		whole[s.Step] = s.State == "undone"
	}
	out := map[uint64]map[string]bool{}
	for _, s := range list {
		left := slices.DeleteFunc(slices.Clone(s.Of), func(of uint64) bool { return whole[of] })
		if s.Kind != "undo" || s.Undone != 0 || len(left) == 0 {
			continue
		}
		changes, _, err := p.changes(ctx, s.Step)
		if err != nil {
			return nil, err
		}
		for _, of := range left {
			if out[of] == nil {
				out[of] = map[string]bool{}
			}
			for _, path := range changes {
				out[of][string(path)] = true
			}
		}
	}
	return out, nil
}

// newest are the arguments of undo for the newest so many steps, as far as there are any:
// of one call, or of several, the newest step first, where no single one means just them.
func (n *session) newest(ctx context.Context, count int, name *directoryName) ([][]string, error) {
	d, err := n.directory(name)
	if err != nil {
		return nil, err
	}
	if err := n.steps().closeSteps(ctx); err != nil {
		return nil, err
	}
	at := ""
	if d != nil {
		at = d.path
	}
	steps, err := n.steps().undoable(ctx, at)
	if err != nil || len(steps) == 0 {
		return nil, err
	}
	steps = steps[max(0, len(steps)-count):]
	all, err := n.steps().history(ctx, "")
	if err != nil {
		return nil, err
	}
	all = undoable(all)
	number := strconv.Itoa(len(steps))
	if len(all) >= len(steps) && all[len(all)-len(steps)].Step == steps[0].Step {
		whole, err := n.steps().onlyIn(ctx, d, steps...)
		if whole || err != nil {
			return [][]string{{number}}, err
		}
		return [][]string{{"--path=" + d.path, number}}, nil
	}
	var calls [][]string
	for _, s := range slices.Backward(steps) {
		args := []string{"--step=" + strconv.FormatUint(s.Step, 10)}
		whole, err := n.steps().onlyIn(ctx, d, s)
		if err != nil {
			return nil, err
		}
		if !whole {
			args = append(args, "--path="+d.path)
		}
		calls = append(calls, args)
	}
	return calls, nil
}

// closeSteps ends the steps that are open, so that what is counted is what an undo takes
// back: it would end them, too. What goes on has a new one.
func (p *pastSteps) closeSteps(ctx context.Context) error {
	all, err := p.history(ctx, "")
	if err != nil || !slices.ContainsFunc(all, func(s step) bool { return s.State == "running" }) {
		return err
	}
	talk, err := p.entry.Open(ctx, api.Request{Op: api.OpYield, Reason: "carrel stdio"})
	if err != nil {
		return err
	}
	defer talk.Close()
	_, _, err = talk.Next()
	return err
}

// onlyIn says whether steps changed nothing but what is in a directory: then they are
// taken back as a whole, and count as undone.
func (p *pastSteps) onlyIn(ctx context.Context, d *directory, steps ...step) (bool, error) {
	if d == nil {
		return true, nil
	}
	for _, s := range steps {
		changes, whole, err := p.changes(ctx, s.Step)
		if err != nil || !whole {
			return false, err
		}
		for _, raw := range changes {
			var path string
			if json.Unmarshal(raw, &path) != nil || !pathname.Within(path, d.path) {
				return false, nil
			}
		}
	}
	return true, nil
}

// changes are the paths that a step changed, as far as the session may know; whole says
// that they are all.
func (p *pastSteps) changes(ctx context.Context, number uint64) (out []json.RawMessage, whole bool, err error) {
	return p.shown(ctx, p.tells(showArgs(number)...))
}

func showArgs(numbers ...uint64) []string {
	args := []string{"show", "--json", "--"}
	for _, number := range numbers {
		args = append(args, strconv.FormatUint(number, 10))
	}
	return args
}

// shownStep is what is read of a step that `carrel show` lists.
type shownStep struct {
	Step    uint64 `json:"step"`
	Changes []struct {
		Path json.RawMessage `json:"path"`
		From json.RawMessage `json:"from"`
	} `json:"changes"`
	LeftOut *api.LeftOut `json:"left_out"`
}

// paths are those that it changed, for a rename both.
func (s *shownStep) paths() (out []json.RawMessage) {
	for _, ch := range s.Changes {
		if len(ch.From) > 0 {
			out = append(out, ch.From)
		}
		out = append(out, ch.Path)
	}
	return out
}

// shown are the paths that `carrel show` lists of one step.
func (p *pastSteps) shown(ctx context.Context, args []string) (out []json.RawMessage, whole bool, err error) {
	var s shownStep
	err = p.program.JSON(ctx, nil, &s, args...)
	return s.paths(), err == nil && s.LeftOut == nil, err
}

// tells are arguments with which the command line tells of the history what the workspace
// of the session shows, and no more.
func (p *pastSteps) tells(args ...string) []string {
	return slices.Insert(args, 1, "--tell-as="+p.entry.ID)
}
