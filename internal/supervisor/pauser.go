package supervisor

import (
	"context"
	"errors"
	"sync/atomic"

	"carrel/internal/api"
)

// pauser pauses and resumes a workspace: for a person, for a change of the control, and for
// what needs it to stand still for a moment. How processes are stopped is the Freezer's part.
type pauser struct {
	hub      *hub
	freezer  Freezer
	turn     chan struct{} // held while freezing or thawing
	gate     func(hold bool)
	paused   atomic.Bool
	wanted   atomic.Bool  // to be paused, by a person
	still    atomic.Int32 // how many need it to stand still for a moment
	stopping atomic.Bool
}

func (f *pauser) setGate(gate func(hold bool)) {
	f.turn <- struct{}{}
	defer func() { <-f.turn }()
	f.gate = gate
	if f.paused.Load() {
		f.hold(true)
	}
}

func (f *pauser) pause(ctx context.Context) error {
	f.still.Add(1)
	err := f.change(ctx, true)
	if err != nil {
		f.still.Add(-1)
	}
	return err
}

func (f *pauser) resume(ctx context.Context) error {
	f.still.Add(-1)
	return f.change(ctx, false)
}

func (f *pauser) init(freezer Freezer, hub *hub) {
	f.freezer, f.hub, f.turn = freezer, hub, make(chan struct{}, 1)
}

// change freezes or thaws, one at a time.
func (f *pauser) change(ctx context.Context, pause bool) error {
	if f.freezer == nil {
		return errNoFreeze
	}
	select {
	case f.turn <- struct{}{}:
		defer func() { <-f.turn }()
	case <-ctx.Done():
		return errBusy
	}
	switch {
	case f.paused.Load() == pause:
		return nil
	case pause && f.stopping.Load():
		return errEnding
	case pause:
		return f.freeze()
	case !f.stopping.Load() && (f.still.Load() > 0 || f.wanted.Load()):
		return nil // the last who needs it to stand still lets it go on
	}
	if err := f.freezer.Thaw(); err != nil {
		return err
	}
	f.hold(false)
	f.paused.Store(false)
	f.hub.emit(api.Event{Kind: api.EventResumed})
	return nil
}

func (f *pauser) freeze() error {
	f.hold(true)
	if err := f.freezer.Freeze(); err != nil {
		err = errors.Join(err, f.freezer.Thaw())
		f.hold(false)
		return err
	}
	f.paused.Store(true)
	if f.stopping.Load() { // it came meanwhile, and its own thaw found nothing to do
		_ = f.freezer.Thaw()
		f.hold(false)
		f.paused.Store(false)
		return errEnding
	}
	f.hub.emit(api.Event{Kind: api.EventPaused})
	return nil
}

func (f *pauser) hold(on bool) {
	if f.gate != nil {
		f.gate(on)
	}
}

func (f *pauser) state() string {
	switch {
	case f.stopping.Load():
		return api.StateStopping
	case f.paused.Load():
		return api.StatePaused
	}
	return api.StateRunning
}
