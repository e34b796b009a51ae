package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"carrel/internal/api"
	"carrel/internal/histories"
	"carrel/internal/history"
	"carrel/internal/supervisor"
)

// yield lets go of the history for as long as the caller stays.
func (d *desk) yield(ctx context.Context, c *supervisor.Call) (api.Reply, error) {
	if d.up.broker == nil || d.up.broker.keeper == nil {
		return api.Reply{}, nil
	}
	var said error
	err := d.still(ctx, func() {
		if said = c.Send(api.Reply{}); said == nil {
			<-ctx.Done()
		}
	})
	return api.Reply{}, errors.Join(err, said)
}

// still does something while nothing inside runs and the history is let go of.
func (d *desk) still(ctx context.Context, do func()) error {
	d.yields.Lock()
	defer d.yields.Unlock()
	if err := d.server.Pause(ctx); err != nil {
		return fmt.Errorf("the history cannot be let go of while something runs: %w", err)
	}
	defer func() {
		_ = d.server.Resume(context.Background()) // where it stays frozen, stop works
	}()
	y, err := d.up.broker.keeper.Yield(ctx)
	if err != nil {
		return err
	}
	do()
	if err := y.Back(); err != nil {
		d.server.Emit(api.Event{Kind: api.EventCouldNotKeep, Text: "after the history was let go of: " + err.Error()})
	}
	return nil
}

// trimPause is how long after a change is looked whether the history is beyond its limits.
const trimPause = 5 * time.Second

// keepLimits does so until the workspace ends. One in which nothing changes is not looked at.
func (d *desk) keepLimits() {
	k := d.up.broker.keeper
	var tried history.Size
	for again := true; ; { // once at the start, too
		if !again {
			select {
			case <-d.over:
				return
			case <-k.Changed:
			}
		}
		select {
		case <-d.over:
			return
		case <-time.After(trimPause):
		}
		if again = !d.yields.TryLock(); again { // what is let go of is not opened
			continue
		}
		now, limits := k.Size(), k.Keeps()
		d.yields.Unlock()
		d.tell(k.HoldTotal(now.Bytes))
		if !now.Over(limits) || !histories.Grown(now.Bytes, tried.Bytes, limits.Bytes) && !histories.Grown(now.Steps, tried.Steps, limits.Steps) {
			continue
		}
		err := d.still(context.Background(), func() {
			d.tell(k.TrimStill())
		})
		if again = err != nil; !again { // else something is on its way: the next time
			d.yields.Lock()
			tried = k.Size() // what is still beyond the limits stays
			d.yields.Unlock()
		}
	}
}

// tell emits notes.
func (d *desk) tell(notes []string) {
	for _, note := range notes {
		d.server.Emit(api.Event{Kind: api.EventNote, Text: note})
	}
}

// setTerms takes the owner's terms, for all that is changed from now on.
func (d *desk) setTerms(t *api.Terms) error {
	bad := func(what string) error {
		return api.Refused(api.CodeRequest, api.OpTerms, d.req.Name, what, "deletes, overwrites and within are 0 or more; limits too")
	}
	if t == nil || t.Deletes < 0 || t.Overwrites < 0 || t.Within < 0 || t.Within > int64(time.Hour/time.Millisecond) {
		return bad("the terms are missing, or one of them is less than nothing or longer than an hour")
	}
	for _, limit := range []*int64{t.MaxBytes, t.MaxSteps, t.MaxStepBytes} {
		if limit != nil && *limit < 0 {
			return bad("a limit is less than nothing")
		}
	}
	if d.up.broker == nil || d.up.broker.keeper == nil {
		return bad("this workspace keeps no history, so nothing can be held")
	}
	d.up.broker.keeper.SetTerms(t)
	return nil
}
