package jsonapi

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strconv"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/op/historyop"
	"carrel/internal/pathname"
	"carrel/internal/supervisor"
)

// pastSteps is the history of the project of a session, as far as the session may know of it.
type pastSteps struct {
	entry  supervisor.Entry
	caller *op.Caller // in the first directory
}

func (n *session) steps() *pastSteps { return &pastSteps{n.entry, n.caller} }

// history lists the steps that changed something at a path, "" for anywhere, as far as the
// session may know of them.
func (p *pastSteps) history(ctx context.Context, path string) ([]historyop.Step, error) {
	return listSteps(ctx, p, historyop.ListRequest{Of: p.tells(), Path: path})
}

// listSteps lists what is asked for, the oldest first.
func listSteps(ctx context.Context, p *pastSteps, in historyop.ListRequest) ([]historyop.Step, error) {
	return op.Call(ctx, func() ([]historyop.Step, error) { return historyop.List(p.caller, in) })
}

// undoable are those that can be taken back, the oldest first; with a path without those
// of which nothing is left there, as it was taken back by itself.
func (p *pastSteps) undoable(ctx context.Context, path string) ([]historyop.Step, error) {
	list, err := p.history(ctx, path)
	if err != nil {
		return nil, err
	}
	parts, err := p.partsUndone(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	return slices.DeleteFunc(undoable(list), func(s historyop.Step) bool {
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

func undoable(list []historyop.Step) []historyop.Step {
	return slices.DeleteFunc(slices.Clone(list), func(s historyop.Step) bool { return s.State != "done" && s.State != "interrupted" })
}

// partsUndone are the paths of steps that were taken back by themselves, by step.
func (p *pastSteps) partsUndone(ctx context.Context) (map[uint64]map[string]bool, error) {
	list, err := listSteps(ctx, p, historyop.ListRequest{All: true})
	if err != nil {
		return nil, err
	}
	whole := map[uint64]bool{}
	for _, s := range list {
		whole[s.Step] = s.State == "undone"
	}
	out := map[uint64]map[string]bool{}
	for _, s := range list {
		left := slices.DeleteFunc(slices.Clone(s.Of), func(of uint64) bool { return whole[of] })
		if s.Kind != "undo" || s.UndoneBy != 0 || len(left) == 0 {
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

// newest are the undos of the newest so many steps, as far as there are any: one, or several,
// the newest step first, where no single one means just them.
func (n *session) newest(ctx context.Context, count int, name *directoryName) ([]historyop.UndoRequest, error) {
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
	if len(all) >= len(steps) && all[len(all)-len(steps)].Step == steps[0].Step {
		whole, err := n.steps().onlyIn(ctx, d, steps...)
		one := historyop.UndoRequest{Count: len(steps)}
		if !whole && err == nil {
			one.Paths = []string{d.path}
		}
		return []historyop.UndoRequest{one}, err
	}
	var calls []historyop.UndoRequest
	for _, s := range slices.Backward(steps) {
		one := historyop.UndoRequest{Step: strconv.FormatUint(s.Step, 10)}
		whole, err := n.steps().onlyIn(ctx, d, s)
		if err != nil {
			return nil, err
		}
		if !whole {
			one.Paths = []string{d.path}
		}
		calls = append(calls, one)
	}
	return calls, nil
}

// closeSteps ends the steps that are open, so that what is counted is what an undo takes
// back: it would end them, too. What goes on has a new one.
func (p *pastSteps) closeSteps(ctx context.Context) error {
	all, err := p.history(ctx, "")
	if err != nil || !slices.ContainsFunc(all, func(s historyop.Step) bool { return s.State == "running" }) {
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
func (p *pastSteps) onlyIn(ctx context.Context, d *directory, steps ...historyop.Step) (bool, error) {
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
	list, err := p.shown(ctx, p.tells(), number)
	if err != nil || len(list) == 0 {
		return nil, false, err
	}
	return pathsOf(list[0]), list[0].LeftOut == nil, nil
}

// shown are steps with what they changed.
func (p *pastSteps) shown(ctx context.Context, of historyop.Of, numbers ...uint64) ([]historyop.Step, error) {
	in := historyop.ShowRequest{Of: of}
	for _, number := range numbers {
		in.Steps = append(in.Steps, strconv.FormatUint(number, 10))
	}
	return op.Call(ctx, func() ([]historyop.Step, error) { return historyop.ShowSteps(p.caller, in) })
}

// pathsOf are the paths that a step changed, for a rename both.
func pathsOf(s historyop.Step) (out []json.RawMessage) {
	add := func(path api.Text) {
		if text, err := json.Marshal(path); err == nil {
			out = append(out, text)
		}
	}
	for _, ch := range s.Changes {
		if ch.From != "" {
			add(ch.From)
		}
		add(ch.Path)
	}
	return out
}
