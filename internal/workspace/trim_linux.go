package workspace

import (
	"context"
	"os"
	"time"

	"carrel/internal/api"
	"carrel/internal/history"
)

// A workspace that stays keeps the limits of its project's history while it runs: it
// may never end. What is to be removed must not be written meanwhile, so everything
// inside stands still for that moment, as for an undo.

// trimEye is how often is looked whether the history is beyond its limits.
const trimEye = 5 * time.Second

// trimStep is which part of a limit has to be added before it is tried again: what is
// beyond the limits may be the newest step alone, or another run may be in the way.
const trimStep = 8

// keepLimits does so until the workspace ends.
func (d *desk) keepLimits() {
	k := d.up.broker.keeper
	eye := time.NewTicker(trimEye)
	defer eye.Stop()
	var tried history.Size
	for {
		select {
		case <-d.over:
			return
		case <-eye.C:
		}
		if !d.yields.TryLock() { // what is let go of is not opened
			continue
		}
		now, limits := k.size(), k.terms.limits(k.limits)
		d.yields.Unlock()
		if k.total.grown(now.Bytes) {
			d.tell(k.total.hold())
		}
		if !now.Over(limits) || !grown(now.Bytes, tried.Bytes, limits.Bytes) && !grown(now.Steps, tried.Steps, limits.Steps) {
			continue
		}
		err := d.still(context.Background(), func() {
			d.tell(k.trimStill())
		})
		if err == nil { // else something is on its way: the next time
			d.yields.Lock()
			tried = k.size() // what is still beyond the limits stays
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

// grown says whether there is enough more than the last time.
func grown(now, tried, limit int64) bool {
	return limit > 0 && now > limit && (tried <= limit || now >= tried+max(1, limit/trimStep))
}

// size is what the history keeps, as far as was counted; nothing where there is none.
func (k *keeper) size() history.Size {
	k.mu.Lock()
	defer k.mu.Unlock()
	if _, err := os.Lstat(k.dir); err != nil {
		return history.Size{}
	}
	if k.store == nil { // an app has begun it
		k.making.Lock()
		defer k.making.Unlock()
		store, err := history.Open(k.dir)
		if err != nil {
			return history.Size{}
		}
		k.store = store
	}
	size, err := k.store.Estimate()
	if err != nil {
		return history.Size{}
	}
	return size
}

// trimStill trims a history that was let go of, and says what there is to tell.
func (k *keeper) trimStill() []string {
	var notes []string
	store, err := history.Open(k.dir)
	if err == nil {
		defer store.Close()
		store.SetLimits(k.terms.limits(k.limits))
		notes, err = k.trimStore(store)
	}
	if err != nil {
		notes = append(notes, "keeping the history within its limits: "+err.Error())
	}
	return notes
}

// freeTime is how long a history is waited for that another run's end makes smaller.
const freeTime = 5 * time.Second

// whenFree takes a lock that such a run holds for a moment.
func whenFree(lock func() error) error {
	end := time.Now().Add(freeTime)
	for {
		err := lock()
		if err == nil || time.Now().After(end) {
			return err
		}
		time.Sleep(10 * time.Millisecond)
	}
}
