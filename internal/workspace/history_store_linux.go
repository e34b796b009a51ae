package workspace

import (
	"errors"
	"fmt"

	"carrel/internal/config"
	"carrel/internal/history"
	"carrel/internal/policy"
)

// Verify looks at everything that is kept.
func (h *History) Verify() (*history.Verified, error) {
	if h.store == nil {
		return &history.Verified{}, nil
	}
	return h.store.Verify()
}

// Usage says who keeps how much, and how much may be kept.
func (h *History) Usage(req Request) (*history.Usage, error) {
	limits, err := readHistoryLimits(req)
	if err != nil {
		return nil, err
	}
	if h.store == nil {
		return &history.Usage{Limits: limits}, nil
	}
	h.store.SetLimits(limits)
	return h.store.Usage(h.Log)
}

// Collect removes what nothing refers to, and the oldest steps beyond the limits.
func (h *History) Collect(req Request, dry bool) (*history.Removal, error) {
	if err := h.May("history gc", needed(dry)); err != nil {
		return nil, err
	}
	limits, err := readHistoryLimits(req)
	if err != nil {
		return nil, err
	}
	if h.store == nil {
		return &history.Removal{}, nil
	}
	h.store.SetLimits(limits)
	r, err := h.store.Collect(dry)
	return r, errors.Join(err, h.dropRecords(r, err, dry))
}

// Discard removes steps for good; all of them and whatever cannot be read with all.
func (h *History) Discard(steps []uint64, all, dry bool) (*history.Removal, error) {
	if err := h.May("discard", needed(dry)); err != nil {
		return nil, err
	}
	if h.store == nil {
		return &history.Removal{}, nil
	}
	r, err := h.store.Discard(steps, all, dry)
	return r, errors.Join(err, h.dropRecords(r, err, dry))
}

// dropRecords removes the records of steps that were discarded.
func (h *History) dropRecords(r *history.Removal, failed error, dry bool) error {
	if failed != nil || dry {
		return nil
	}
	return dropRecords(h.records, r.Oldest)
}

// needed is what has to be allowed for what may only be looked at.
func needed(dry bool) policy.UndoMode {
	if dry {
		return policy.UndoPreview
	}
	return policy.UndoAll
}

func readHistoryLimits(req Request) (history.Limits, error) {
	loaded, _, err := ReadSettings(req)
	if err != nil {
		return history.Limits{}, err
	}
	return historyLimits(loaded), nil
}

// historyLimits are what somebody has said, and the defaults.
func historyLimits(l *config.Loaded) history.Limits {
	out := history.DefaultLimits()
	for _, v := range []struct {
		to   *int64
		said *policy.Value[int64]
	}{
		{&out.Bytes, l.Settings.History.MaxBytes},
		{&out.Steps, l.Settings.History.MaxSteps},
		{&out.StepBytes, l.Settings.History.MaxStepBytes},
		{&out.FileBytes, l.Settings.History.MaxFileBytes},
	} {
		if v.said != nil {
			*v.to = v.said.V
		}
	}
	return out
}

// ignored gives what the user does not want kept, nil for nothing.
func (p *Prepared) ignored() (func(path string) bool, error) {
	said := p.Loaded.Settings.History.Ignore
	if len(said) == 0 {
		return nil, nil
	}
	patterns := make([]string, len(said))
	for i, v := range said {
		patterns[i] = v.V
	}
	all, err := policy.NewIgnored(p.Plan.Roots, patterns)
	if err != nil {
		return nil, err
	}
	return all.Match, nil
}

// trim keeps the history within its limits when a run is over. What went is told:
// it can no longer be undone.
func (k *keeper) trim() error {
	notes, err := k.trimStore(k.store)
	k.trimmed = append(k.trimmed, notes...)
	return err
}

// trimStore trims the history, which nobody else may use meanwhile, with the records of
// the steps that go. It gives what there is to tell.
func (k *keeper) trimStore(store *history.Store) ([]string, error) {
	r, err := store.Trim()
	if err == nil && r != nil {
		err = dropRecords(k.records, r.Oldest)
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
