package decide

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// Getenv gives a variable of the outside environment, "" for one that is not set.
func (p *asked) Getenv(name string) string { return lookupEnv(p.Request.Environ, name) }

// lookupEnv gives the last value of name, as a shell would see it.
func lookupEnv(env []string, name string) string {
	for _, e := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(e, name+"="); ok {
			return v
		}
	}
	return ""
}

// InsideRuntime is the runtime directory of programs inside.
func (p *asked) InsideRuntime() string { return fmt.Sprintf("/run/user/%d", p.UID) }

// InsideAgent is where the filtered ssh agent listens, as seen inside.
func (p *asked) InsideAgent() string { return p.InsideRuntime() + "/ssh-agent" }

// searchPath is the PATH that the command's own name is looked up in.
func (p *asked) searchPath() string {
	if p.Request.Exact != nil {
		return p.exactPath
	}
	return p.Getenv("PATH")
}

// LookPath finds a command in the outside PATH; relative entries do not count.
func (p *asked) LookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(p.searchPath()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		full := filepath.Join(dir, name)
		if st, err := os.Stat(full); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%q is not in PATH: %w", name, os.ErrNotExist)
}

// absolute gives a path as the command would mean it.
func (p *asked) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.Place.Cwd, name)
}

func (p *asked) configOptions() config.Options {
	cwd := p.Place.Cwd
	if p.from != "" {
		cwd = p.from
	}
	return config.Options{
		Home: p.Place.Home, ConfigHome: p.Getenv("XDG_CONFIG_HOME"), Project: p.Place.Project, Cwd: cwd,
		Environ: p.Request.Environ, Permissions: p.Request.Permissions, Ceilings: p.Request.Ceilings, BuiltinPresets: builtinPresets(),
	}
}

func (p *asked) setArgv(command []string) {
	if len(p.Request.Argv) == 0 {
		p.Request.Argv = slices.Clone(command)
	}
}

// leadsOut refuses a grant that is written as a place in the project and is a
// link out of it: the project's author would choose what is granted.
func (p *asked) leadsOut(scope policy.Scope, layers []policy.Layer) error {
	for _, l := range layers {
		for _, f := range l.Request.Files {
			places, err := policy.Resolve(scope, f)
			if err != nil || f.Glob || f.Access == policy.Deny {
				continue // Decide reports what cannot be resolved
			}
			for _, place := range places {
				if real := p.Facts.Canonical(place); pathname.Within(place, p.Place.Project) && !pathname.Within(real, p.Place.Project) {
					return &api.Denial{Code: api.CodeProject, Operation: "start", Subject: place, Rule: "no link leads out of the project", Source: f.Source.String(),
						Message: fmt.Sprintf("%s: %q is a link that leads out of the project, to %q", f.Source.Text, place, real),
						Hint:    "name the place itself if you mean it"}
				}
			}
		}
	}
	return nil
}

// staysInside says whether a default rule for a place in the project speaks of
// a file or directory there. A link that the project's author made must
// neither grant nor hide anything elsewhere, and a FIFO is no settings file.
func (p *asked) staysInside(r policy.FileRequest) bool {
	if r.Glob {
		return true
	}
	real, kind := p.Facts.Resolve(r.Place)
	switch {
	case kind == sandbox.KindOther:
		return false
	case r.Access == policy.Deny:
		return kind == sandbox.KindNone || pathname.Within(real, p.Place.Project) && (real == r.Place || kind == sandbox.KindFile)
	}
	return real == r.Place
}

// ownDirTaken: the project, and the places of agents outside. Those are settings that
// they run; agent_home shared gives of them what is none.
func (p *asked) ownDirTaken(real string) string {
	if pathname.Within(real, p.Place.Project) || pathname.Within(p.Place.Project, real) {
		return fmt.Sprintf("the project is %q", p.Place.Project)
	}
	for _, place := range agents.OwnPlaces() {
		at := filepath.Join(p.Place.Home, place)
		if at := p.Facts.Canonical(at); p.Place.Home != "" && (pathname.Within(real, at) || pathname.Within(at, real)) {
			return fmt.Sprintf("an agent outside has its settings or its login in %q", "~/"+place)
		}
	}
	return ""
}

// inProject is the reason why a place in the project is refused, "" for another one.
func (p *asked) inProject(dir string) string {
	if !pathname.Within(dir, p.Place.Project) {
		return ""
	}
	return "it lies in the project, " + statedir.Quoted(p.Place.Project) + ": " + wantOutside
}

// cacheDir is where copies of the host's caches are, in the state of a project. What
// programs inside put into theirs, host commands do not run.
func (p *asked) cacheDir() string {
	switch {
	case p.lender == nil:
		return "caches"
	case p.lender.command == nil:
		return "host-caches/all"
	}
	return "host-caches/of-" + p.lender.command.Name
}

// Location is where the prepared command would run.
func (p *asked) Location() Location { return locationOf(&p.Place) }
