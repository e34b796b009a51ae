package decide

import (
	"path/filepath"

	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/histories"
	"carrel/internal/hostfacts"
	"carrel/internal/statedir"
)

// Located is where the history of one project is kept, and what its callers are held
// to.
type Located struct {
	Project string
	Dir     string          // of the history, whether it has begun or not
	Records string          // of what runs have changed, "" where there are none
	State   *statedir.Dir   // nil where there is none
	All     histories.Place // where the history is; with State only
	Loaded  *config.Loaded  // without the project's own file
	Under   ceilings.Under
	Used    func() // notes that the history is used now
}

// LocateHistory finds out where the history of the project is that a request is about. Of
// the request only Cwd, Environ, Ceilings and Permissions count.
func LocateHistory(req Request) (*Located, error) {
	p := newDecision(req)
	if err := p.locateHistory(); err != nil {
		return nil, err
	}
	l := &Located{
		Project: p.Place.Project, Dir: p.HistoryAt, Records: p.RecordsAt(), State: p.State,
		Loaded: p.Loaded, Under: ceilings.Of(p.Loaded), Used: p.NoteUse,
	}
	if p.State != nil {
		l.All = p.histories()
	}
	return l, nil
}

// locateHistory finds out where the history of a project is. What the project's own
// file says has no part in that, and a mistake in it is no reason to hide what a
// run has done.
func (p *guarded) locateHistory() error {
	var err error
	if p.Place, err = hostfacts.FindPlace(p.Request.Cwd, p.Getenv("HOME")); err != nil {
		return err
	}
	options := p.configOptions()
	options.Project = ""
	if p.Loaded, err = config.Load(options); err != nil {
		return err
	}
	if p.State, err = statedir.Open(statedir.Path(p.Getenv)); err != nil && p.Loaded.Settings.History.Dir == nil {
		return err
	}
	p.HistoryAt, err = p.HistoryDir(false)
	return err
}

// TotalLimit is the limit of all histories where the project has its own; nil for none.
func (p *configured) TotalLimit() *histories.Limit {
	limit := histories.TotalOf(p.Loaded)
	if limit == 0 || p.State == nil {
		return nil
	}
	named := !p.Request.Stays && len(ceilings.Of(p.Loaded).All()) == 0
	return histories.NewLimit(p.histories(), histories.LimitsOf(p.Loaded).Bytes, limit, named)
}

// RecordsAt is the directory with the records of the project, "" where there is none.
func (p *configured) RecordsAt() string {
	if p.State == nil {
		return ""
	}
	return histories.RecordsIn(p.State.Project(p.Place.Project))
}

// histories gives those in the place where the project has its own.
func (p *configured) histories() histories.Place {
	if p.HistoryAt == p.State.History(p.Place.Project) {
		return histories.InState(p.State)
	}
	return histories.InPlace(p.State, filepath.Dir(p.HistoryAt))
}

// ProjectOf is the project that a directory belongs to; "" means the working one.
func ProjectOf(cwd string, getenv func(string) string) (string, error) {
	p, err := hostfacts.FindPlace(cwd, getenv("HOME"))
	return filepath.Clean(p.Project), err
}
