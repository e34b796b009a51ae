package workspace

import (
	"path/filepath"

	"carrel/internal/hostfacts"
	"carrel/internal/statedir"
)

// ProjectOf is the project that a directory belongs to; "" means the working one.
func ProjectOf(cwd string, getenv func(string) string) (string, error) {
	p, err := hostfacts.FindPlace(cwd, getenv("HOME"))
	return filepath.Clean(p.Project), err
}

// ForDesk completes what was prepared for a workspace that stays, so that it can be
// compared with one that runs.
func (p *Prepared) ForDesk() error {
	if err := p.PreviewEngine(); err != nil {
		return err
	}
	if p.history() {
		var err error
		if p.state, err = statedir.Open(statedir.Path(p.getenv)); err != nil {
			return err
		}
		if p.historyAt, err = p.historyDir(false); err != nil {
			return err
		}
	}
	return p.Compile(false)
}
