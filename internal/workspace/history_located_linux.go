package workspace

import (
	"path/filepath"

	"carrel/internal/ceilings"
	"carrel/internal/changelog"
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
	p := &Prepared{req: req}
	if err := p.locateHistory(); err != nil {
		return nil, err
	}
	l := &Located{
		Project: p.place.Project, Dir: p.historyAt, Records: p.recordsAt(), State: p.state,
		Loaded: p.Loaded, Under: p.underCeilings(), Used: p.noteUse,
	}
	if p.state != nil {
		l.All = p.histories()
	}
	return l, nil
}

// locateHistory finds out where the history of a project is. What the project's own
// file says has no part in that, and a mistake in it is no reason to hide what a
// run has done.
func (p *Prepared) locateHistory() error {
	var err error
	if p.place, err = hostfacts.FindPlace(p.req.Cwd, p.getenv("HOME")); err != nil {
		return err
	}
	options := p.configOptions()
	options.Project = ""
	if p.Loaded, err = config.Load(options); err != nil {
		return err
	}
	if p.state, err = statedir.Open(statedir.Path(p.getenv)); err != nil && p.Loaded.Settings.History.Dir == nil {
		return err
	}
	p.historyAt, err = p.historyDir(false)
	return err
}

// totalLimit is the limit of all histories where the project has its own; nil for none.
func (p *Prepared) totalLimit() *histories.Limit {
	limit := histories.TotalOf(p.Loaded)
	if limit == 0 || p.state == nil {
		return nil
	}
	named := !p.req.Stays && len(p.underCeilings().All()) == 0
	return histories.NewLimit(p.histories(), histories.LimitsOf(p.Loaded).Bytes, limit, named)
}

// recordsAt is the directory with the records of the project, "" where there is none.
func (p *Prepared) recordsAt() string {
	if p.state == nil {
		return ""
	}
	return p.state.Project(p.place.Project) + changelog.Dir
}

// histories gives those in the place where the project has its own.
func (p *Prepared) histories() histories.Place {
	if p.historyAt == p.state.History(p.place.Project) {
		return histories.InState(p.state)
	}
	return histories.InPlace(p.state, filepath.Dir(p.historyAt))
}
