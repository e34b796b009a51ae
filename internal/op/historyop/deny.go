package historyop

import (
	"context"
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/op"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
)

// DenyAndUndo refuses the operation that an id or its beginning names, ends its workspace, or its
// app in one that stays, and takes back the step that it was to be part of: the run's open
// one, or that of a job. It says what it has done as it goes, and gives nil where nothing
// had been changed.
func DenyAndUndo(ctx context.Context, c *op.Caller, id string, say func(text string)) (*Undone, error) {
	one, e, err := c.Approval(ctx, id)
	if err != nil {
		return nil, err
	}
	if one.Operation == api.OpControl {
		return nil, fmt.Errorf("%s asks for a change of the control: no step belongs to it\nhint: `carrel deny %s` refuses it", one.ID, one.ID)
	}
	before, err := Open(c, Of{Project: one.Project})
	if err != nil {
		return nil, err
	}
	if err := before.May("undo", policy.UndoAll); err != nil {
		before.Close()
		return nil, err
	}
	segment, first := stepOf(before.Log.Steps, one.Step, e.ID)
	before.Close()
	// Its app is ended first, and never hears the refusal.
	if _, err := e.Ask(ctx, api.Request{Op: api.OpDeny, ID: one.ID, End: true}); err != nil {
		return nil, err
	}
	say("denied " + one.ID)
	if err := endOf(ctx, one.App, e, say); err != nil {
		return nil, err
	}
	release, err := c.Release(one.Project, "carrel deny")
	if err != nil {
		return nil, err
	}
	defer release()
	h, err := Open(c, Of{Project: one.Project})
	if err != nil {
		return nil, err
	}
	defer h.Close()
	steps := stepsFrom(h.Log.Changes(), e.ID, segment, first)
	if len(steps) == 0 {
		say("nothing had been changed in its step")
		return nil, nil
	}
	by, err := Request(c, one.Project)
	if err != nil {
		return nil, err
	}
	return undoSteps(h, by, history.Request{Steps: steps}, UndoRequest{})
}

// endOf ends a workspace, or one app of it with all that it has started.
func endOf(ctx context.Context, app string, e supervisor.Entry, say func(string)) error {
	if app == "" {
		err := op.End(ctx, e)
		if err == nil {
			say("stopped " + e.Called())
		}
		return err
	}
	r, err := e.Call(ctx, api.Request{Op: api.OpKill, App: app})
	if err == nil {
		say(fmt.Sprintf("ended %s in %s", r.App.Name, e.Name))
	}
	return err
}

// stepOf finds the step that an operation of a run is part of: the one of its number, or
// the newest open one of the run where it has none. It gives the step's segment and number.
func stepOf(steps []*steplog.Step, number uint64, run string) (segment string, first uint64) {
	for _, s := range steps {
		if s.Number == number || number == 0 && s.Begin.Run == run && s.Begin.Kind == journal.StepRun && s.Open() {
			segment, first = s.Segment, s.Number
		}
	}
	return segment, first
}

// stepsFrom are the steps of a run from one on, the newest first. Another segment is
// another start of the run; its steps stay.
func stepsFrom(changes []*steplog.Step, run, segment string, first uint64) []uint64 {
	var steps []uint64
	for _, s := range slices.Backward(changes) {
		if s.Begin.Run == run && s.Segment == segment && s.Number >= first {
			steps = append(steps, s.Number)
		}
	}
	return steps
}
