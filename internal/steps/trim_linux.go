package steps

import (
	"fmt"
	"os"
	"time"

	"carrel/internal/changelog"
	"carrel/internal/history"
)

// A workspace that stays keeps the limits of its project's history while it runs: it
// may never end. What is to be removed must not be written meanwhile, so everything
// inside stands still for that moment, as for an undo.

// Size is what the history keeps, as far as was counted; nothing where there is none.
func (k *Recorder) Size() history.Size {
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

// TrimStill trims a history that was let go of, and says what there is to tell.
func (k *Recorder) TrimStill() []string {
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

// trim keeps the history within its limits when a run is over. What went is told:
// it can no longer be undone.
func (k *Recorder) trim() error {
	notes, err := k.trimStore(k.store)
	k.trimmed = append(k.trimmed, notes...)
	return err
}

// trimStore trims the history, which no other process may use meanwhile, with the records of
// the steps that go. It gives what there is to tell.
func (k *Recorder) trimStore(store *history.Store) ([]string, error) {
	r, err := store.Trim()
	if err == nil && r != nil {
		err = changelog.Drop(k.records, r.Oldest)
	}
	return trimmed(r), err
}

// trimmed says what went; r may be nil.
func trimmed(r *history.Removal) (notes []string) {
	if r == nil {
		return nil
	}
	if n := len(r.Steps); n > 0 {
		notes = append(notes, fmt.Sprintf("the history has reached its limits: %d old steps are discarded, %d to %d; `carrel history du` shows what is kept", n, r.Steps[0], r.Steps[n-1]))
	}
	if r.Over > 0 {
		notes = append(notes, fmt.Sprintf("the history takes %d bytes more than history.max_bytes, as the newest step is kept whatever its size; `carrel history du` shows what is kept", r.Over))
	}
	return notes
}

// Keeps are the limits of the history: the owner's, where it has set some.
func (k *Recorder) Keeps() history.Limits { return k.terms.limits(k.limits) }

// HoldTotal holds all projects' histories to their limit, where this one has grown
// enough since the last look. It gives what there is to tell.
func (k *Recorder) HoldTotal(bytes int64) []string {
	if !k.total.Grown(bytes) {
		return nil
	}
	return k.total.Hold()
}
