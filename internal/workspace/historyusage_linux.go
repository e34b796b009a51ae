package workspace

import (
	"carrel/internal/histories"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// HistoriesUsage says what the histories of all projects take. Those that are exact are
// counted; the others are estimated.
func HistoriesUsage(req Request, exact bool) (*histories.Usage, error) {
	p := &Prepared{req: req}
	if err := p.locateHistory(); err != nil {
		return nil, err
	}
	if err := p.underCeilings().CheckUndo("du", policy.UndoPreview); err != nil {
		return nil, err
	}
	if p.state == nil {
		return nil, statedir.ErrNone
	}
	u, err := p.histories().Usage(exact)
	if err != nil {
		return nil, err
	}
	u.Each, u.Altogether = histories.LimitsOf(p.Loaded).Bytes, histories.TotalOf(p.Loaded)
	return u, nil
}
