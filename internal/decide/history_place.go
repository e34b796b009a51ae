package decide

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"carrel/internal/hostfile"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/statedir"
)

// chosenHistory is history.dir as a canonical path, "" where nobody has said it.
// Its last part may be missing, its parent may not: a disk that is not mounted must
// not be taken for an empty one.
func (p *configured) chosenHistory() (string, error) {
	said := p.Loaded.Settings.History.Dir
	if said == nil {
		return "", nil
	}
	places, err := policy.Resolve(p.Place.Scope(nil), policy.FileRequest{Place: said.V, Source: said.Source})
	if err != nil {
		return "", p.badHistoryDir("%v", err)
	}
	real, err := filepath.EvalSymlinks(places[0])
	if _, there := os.Lstat(places[0]); errors.Is(err, os.ErrNotExist) && there != nil {
		dir, above := filepath.EvalSymlinks(filepath.Dir(places[0]))
		if above != nil {
			return "", p.badHistoryDir("its parent %q is not there: make it, or mount the disk that has it", filepath.Dir(places[0]))
		}
		return filepath.Join(dir, filepath.Base(places[0])), nil
	}
	if err != nil {
		return "", p.badHistoryDir("%v", err)
	}
	return real, nil
}

func (p *configured) badHistoryDir(format string, args ...any) error {
	said := p.Loaded.Settings.History.Dir
	return fmt.Errorf("history.dir %q (%s): %s", said.V, said.Source, fmt.Sprintf(format, args...))
}

// HistoryDir is where the history of the project is kept, "" where that is nowhere.
// What is to hold histories is made if create is set.
func (p *guarded) HistoryDir(create bool) (string, error) {
	base, err := p.chosenHistory()
	switch {
	case err != nil:
		return "", err
	case base == "" && p.State == nil:
		return "", nil
	case base == "":
		return p.State.History(p.Place.Project), p.stateOutside()
	}
	if err := p.outOfReach(base); err != nil {
		return "", err
	}
	if create {
		if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			return "", p.badHistoryDir("%v", err)
		}
	}
	info, err := os.Lstat(base)
	switch {
	case errors.Is(err, os.ErrNotExist) && !create:
	case err != nil:
		return "", p.badHistoryDir("%v", err)
	case !info.IsDir():
		return "", p.badHistoryDir("it is no directory")
	case !hostfile.OwnedByUs(info):
		return "", p.badHistoryDir("it belongs to somebody else: want a directory of your own")
	case info.Mode().Perm()&0o077 != 0:
		return "", p.badHistoryDir("others may look into it, its mode is %#o: make it 0700", info.Mode().Perm())
	}
	return filepath.Join(base, statedir.ProjectID(p.Place.Project)), nil
}

// wantOutside ends the reason why a place is refused that commands inside may change.
const wantOutside = "want a place outside of it"

// stateOutside refuses a history in the project that XDG_STATE_HOME leads to. The
// default place is in the project where that is the home, and is hidden there.
func (p *configured) stateOutside() error {
	why := p.inProject(p.State.Root())
	usual := statedir.Path(func(key string) string {
		if key == "XDG_STATE_HOME" {
			return ""
		}
		return p.Getenv(key)
	})
	if real, err := filepath.EvalSymlinks(usual); why == "" || err == nil && real == p.State.Root() {
		return nil
	}
	return fmt.Errorf("XDG_STATE_HOME %q: %s, or one for histories alone with history.dir", p.Getenv("XDG_STATE_HOME"), why)
}

// outOfReach refuses a place that commands inside could change, or that could not
// be hidden from them.
func (p *guarded) outOfReach(base string) error {
	if why := p.inProject(base); why != "" {
		return p.badHistoryDir("%s", why)
	}
	for _, c := range []struct {
		bad bool
		why string
	}{
		{pathname.Within(p.Place.Project, base), "the project lies in it, and it is hidden from commands inside: want a directory for histories alone"},
		{p.Place.Home != "" && pathname.Within(p.Place.Home, base), "your home lies in it, and it is hidden from commands inside: want a directory for histories alone"},
		{p.State != nil && pathname.Within(base, p.State.Root()), "it lies in the state directory, where histories are kept without it"},
	} {
		if c.bad {
			return p.badHistoryDir("%s", c.why)
		}
	}
	if p.Policy == nil {
		return nil
	}
	for _, r := range p.Policy.Rules {
		own := r.Path == p.Policy.Scope.Tmp && r.Source.Layer == policy.LayerDefault // private: not the host's
		if r.Path != "" && r.Access == policy.Write && !own && pathname.Within(base, r.Path) {
			return p.badHistoryDir("it lies in %q, which commands inside may change (%s): %s", r.Path, r.Source, wantOutside)
		}
	}
	for _, dir := range p.Guarded.Write {
		if pathname.Within(base, dir) {
			return p.badHistoryDir("it lies in the project's repository, %q: %s", dir, wantOutside)
		}
	}
	return nil
}

// NoteHistory makes sure that a history can be found after history.dir was changed, and
// told by the path of its project. Without that only hints and names are missing.
func (p *configured) NoteHistory() {
	if p.State != nil {
		_ = p.State.Remember(p.Place.Project, p.HistoryAt)
		p.NoteUse()
	}
}

// NoteUse notes that the history of the project is used now.
func (p *configured) NoteUse() {
	if p.State != nil {
		_ = p.State.Use(p.Place.Project)
	}
}
