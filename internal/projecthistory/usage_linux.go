package projecthistory

import (
	"carrel/internal/decide"
	"carrel/internal/histories"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// Left is the path of a project that is not there any more and has steps, the one that was
// used last; "" where this project has steps itself, or there is none. It may be this one,
// under another name by now: a history stays with the path of its project.
func (h *History) Left() string {
	if len(h.Log.Steps) > 0 || h.ask != nil || h.under.Session.Restricted() { // a workspace is not told of other projects
		return ""
	}
	u, err := UsageOfAll(h.req, false)
	if err != nil {
		return ""
	}
	for _, p := range u.Projects {
		if p.Gone && p.Counted && p.Steps > 0 {
			return p.Path
		}
	}
	return ""
}

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
