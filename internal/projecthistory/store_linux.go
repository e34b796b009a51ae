package projecthistory

import (
	"errors"

	"carrel/internal/changelog"
	"carrel/internal/decide"
	"carrel/internal/histories"
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
	return changelog.Drop(h.records, r.Oldest)
}

// needed is what has to be allowed for what may only be looked at.
func needed(dry bool) policy.UndoMode {
	if dry {
		return policy.UndoPreview
	}
	return policy.UndoAll
}

func readHistoryLimits(req Request) (history.Limits, error) {
	loaded, _, err := decide.ReadSettings(req)
	if err != nil {
		return history.Limits{}, err
	}
	return histories.LimitsOf(loaded), nil
}
