package projecthistory

import (
	"carrel/internal/decide"
	"carrel/internal/histories"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// UsageOfAll says what the histories of all projects take. Those that are exact are
// counted; the others are estimated.
func UsageOfAll(req Request, exact bool) (*histories.Usage, error) {
	at, err := decide.LocateHistory(req)
	if err != nil {
		return nil, err
	}
	if err := at.Under.CheckUndo("du", policy.UndoPreview); err != nil {
		return nil, err
	}
	if at.State == nil {
		return nil, statedir.ErrNone
	}
	u, err := at.All.Usage(exact)
	if err != nil {
		return nil, err
	}
	u.Each, u.Altogether = histories.LimitsOf(at.Loaded).Bytes, histories.TotalOf(at.Loaded)
	return u, nil
}
