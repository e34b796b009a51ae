//go:build !linux

package runop

import (
	"context"
	"errors"

	"carrel/internal/decide"
	"carrel/internal/policy"
)

// run needs Linux.
type run struct{ until context.Context }

func begin(d *decide.Decision) (*run, error) {
	if d.Policy.History != policy.HistoryDraft {
		return nil, nil
	}
	return nil, errors.New("layers are not supported on this system")
}

func (r *run) finish(int) (*Ended, error) { return nil, nil }
