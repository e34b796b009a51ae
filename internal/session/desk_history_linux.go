package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/histories"
	"carrel/internal/history"
	"carrel/internal/steps"
	"carrel/internal/supervisor"
)

// deskHistory keeps the history of a workspace that stays within its limits, and lets go of
// it for others.
type deskHistory struct {
	name     string          // of the workspace
	recorder *steps.Recorder // nil without history
	server   *supervisor.Server
	*lifetime
	yields sync.Mutex // held while the history is let go of
}

// yield lets go of the history for as long as the caller stays.
func (h *deskHistory) yield(ctx context.Context, c *supervisor.Call) (api.Reply, error) {
	if h.recorder == nil {
		return api.Reply{}, nil
	}
	var said error
	err := h.still(ctx, func() {
		if said = c.Send(api.Reply{}); said == nil {
			<-ctx.Done()
		}
	})
	return api.Reply{}, errors.Join(err, said)
}

// still does something while nothing inside runs and the history is let go of.
func (h *deskHistory) still(ctx context.Context, do func()) error {
	h.yields.Lock()
	defer h.yields.Unlock()
	if err := h.server.Pause(ctx); err != nil {
		return fmt.Errorf("the history cannot be let go of while something runs: %w", err)
	}
	defer func() {
		_ = h.server.Resume(context.Background()) // where it stays frozen, stop works
	}()
	y, err := h.recorder.Yield(ctx)
	if err != nil {
		return err
	}
	do()
	if err := y.Back(); err != nil {
		h.server.Emit(api.Event{Kind: api.EventCouldNotKeep, Text: "after the history was let go of: " + err.Error()})
	}
	return nil
}

// trimPause is how long after a change is looked whether the history is beyond its limits.
const trimPause = 5 * time.Second

// keepLimits does so until the workspace ends. One in which nothing changes is not looked at.
func (h *deskHistory) keepLimits() {
	k := h.recorder
	var tried history.Size
	for again := true; ; { // once at the start, too
		if !again {
			select {
			case <-h.over:
				return
			case <-k.Changed:
			}
		}
		select {
		case <-h.over:
			return
		case <-time.After(trimPause):
		}
		if again = !h.yields.TryLock(); again { // what is let go of is not opened
			continue
		}
		now, limits := k.Size(), k.Keeps()
		h.yields.Unlock()
		h.tell(k.HoldTotal(now.Bytes))
		if !now.Over(limits) || !histories.Grown(now.Bytes, tried.Bytes, limits.Bytes) && !histories.Grown(now.Steps, tried.Steps, limits.Steps) {
			continue
		}
		err := h.still(context.Background(), func() {
			h.tell(k.TrimStill())
		})
		if again = err != nil; !again { // else something is on its way: the next time
			h.yields.Lock()
			tried = k.Size() // what is still beyond the limits stays
			h.yields.Unlock()
		}
	}
}

// tell emits notes.
func (h *deskHistory) tell(notes []string) {
	for _, note := range notes {
		h.server.Emit(api.Event{Kind: api.EventNote, Text: note})
	}
}

// setTerms takes the owner's terms, for all that is changed from now on.
func (h *deskHistory) setTerms(t *api.Terms) error {
	bad := func(what string) error {
		return api.Refused(api.CodeRequest, api.OpTerms, h.name, what, "deletes, overwrites and within are 0 or more; limits too")
	}
	if t == nil || t.Deletes < 0 || t.Overwrites < 0 || t.Within < 0 || t.Within > int64(time.Hour/time.Millisecond) {
		return bad("the terms are missing, or one of them is less than nothing or longer than an hour")
	}
	for _, limit := range []*int64{t.MaxBytes, t.MaxSteps, t.MaxStepBytes} {
		if limit != nil && *limit < 0 {
			return bad("a limit is less than nothing")
		}
	}
	if h.recorder == nil {
		return bad("this workspace keeps no history, so nothing can be held")
	}
	h.recorder.SetTerms(t)
	return nil
}
