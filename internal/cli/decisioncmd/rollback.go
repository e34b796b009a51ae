package decisioncmd

import (
	"context"
	"fmt"
	"slices"

	"carrel/internal/api"
	"carrel/internal/cli/cmdenv"
	"carrel/internal/cli/openhistory"
	"carrel/internal/cli/target"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
)

// rollBack refuses an operation, ends its workspace, or its app in one that stays, and
// takes back the step that it was to be part of: the run's open one, or that of a job.
func rollBack(ctx context.Context, env *cmdenv.Env, one api.Approval, e supervisor.Entry) error {
	if one.Operation == api.OpControl {
		return fmt.Errorf("%s asks for a change of the control: no step belongs to it\nhint: `carrel deny %s` refuses it", one.ID, one.ID)
	}
	before, err := openhistory.Open(env, one.Project)
	if err != nil {
		return err
	}
	if err := before.May("undo", policy.UndoAll); err != nil {
		before.Close()
		return err
	}
	segment, first := stepOf(before.Log.Steps, one.Step, e.ID)
	before.Close()
	if err := refuseOne(ctx, env, one, e, true); err != nil {
		return err
	}
	if one.App == "" {
		err = endWorkspace(ctx, env, e)
	} else {
		err = endApp(ctx, env, one.App, e)
	}
	if err != nil {
		return err
	}
	release, err := openhistory.Release(env, one.Project)
	if err != nil {
		return err
	}
	defer release()
	h, err := openhistory.Open(env, one.Project)
	if err != nil {
		return err
	}
	defer h.Close()
	steps := stepsFrom(h.Log.Changes(), e.ID, segment, first)
	if len(steps) == 0 {
		fmt.Fprintln(env.Out, "nothing had been changed in its step")
		return nil
	}
	by, err := openhistory.Request(env, one.Project)
	if err != nil {
		return err
	}
	return openhistory.TakeBack(env, h, openhistory.Undo{By: by}, history.Request{Steps: steps})
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

// endWorkspace stops a workspace and says so when it has ended.
func endWorkspace(ctx context.Context, env *cmdenv.Env, e supervisor.Entry) error {
	err := target.End(ctx, e)
	if err == nil {
		fmt.Fprintf(env.Out, "stopped %s\n", target.Called(e))
	}
	return err
}

// endApp ends an app and all that it has started.
func endApp(ctx context.Context, env *cmdenv.Env, app string, e supervisor.Entry) error {
	r, err := e.Call(ctx, api.Request{Op: api.OpKill, App: app})
	if err != nil {
		return err
	}
	fmt.Fprintf(env.Out, "ended %s in %s\n", r.App.Name, e.Name)
	return nil
}
