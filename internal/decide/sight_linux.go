package decide

import (
	"path"
	"slices"

	"carrel/internal/api"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/remask"
)

// Sight says how much of a path these walls show. It is the one answer for whatever tells
// of former contents: those count as what is at their path now. own are the files of secrets
// that were made inside, nil for none.
func (p *Decision) Sight(own *remask.OwnFiles, at string) api.Sight {
	switch {
	case p.shows(own, at):
		return api.SightRead
	case p.shows(own, path.Dir(at)):
		return api.SightName
	}
	return api.SightNone
}

// shows says whether commands find the host's own at a path, and may read it.
func (p *Decision) shows(own *remask.OwnFiles, at string) bool {
	if p.NoWalls() {
		return true
	}
	d := p.Policy.Lookup(at)
	repository := d.Access == policy.Unset && slices.ContainsFunc(p.Guarded.Write, func(dir string) bool { return pathname.Within(at, dir) })
	switch {
	case d.Access != policy.Read && d.Access != policy.Write && !repository:
		return false
	case !p.AsIs() && remask.HiddenByName(p.Policy, p.Place.Project, at) && (own == nil || !own.Has(at)):
		return false
	}
	found := PathAnswer{PathExplanation: policy.PathExplanation{Path: at}, Held: holder(p.Plan, at)}
	return found.HeldSource() == at
}
