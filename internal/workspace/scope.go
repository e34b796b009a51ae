package workspace

import (
	"fmt"
	"path/filepath"
	"slices"
	"syscall"

	"carrel/internal/agents"
	"carrel/internal/gitdir"
	"carrel/internal/hostfile"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// place is where a workspace is on the host: all paths canonical.
type place struct {
	cwd     string
	project string
	home    string // "" when the user has none
	git     gitdir.Dirs
}

// findPlace resolves the working directory and the project around it: the top
// of the git repository that holds it, else the directory itself. A repository
// of somebody else does not count: anyone can plant /tmp/.git, and it would make
// all of /tmp the project.
func findPlace(cwd, home string) (place, error) {
	p := place{}
	real, err := workingDirectory(cwd)
	if err != nil {
		return p, fmt.Errorf("finding the working directory: %w", err)
	}
	if !filepath.IsAbs(real) {
		return p, fmt.Errorf("working directory %q is not an absolute path", real)
	}
	p.cwd, p.project = real, real
	if filepath.IsAbs(home) {
		if h, err := filepath.EvalSymlinks(home); err == nil {
			p.home = h
		}
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if git, found, ours := gitdir.Open(dir, hostfile.OwnedByUs); found {
			if ours || dir == real {
				p.project, p.git = dir, git
			}
			break
		}
		if dir == "/" {
			break
		}
	}
	return p, nil
}

// workingDirectory asks the kernel where we stand; $PWD and other names are
// what somebody else may have exchanged.
func workingDirectory(cwd string) (string, error) {
	if cwd != "" {
		return filepath.EvalSymlinks(cwd)
	}
	return syscall.Getwd()
}

// scope is what the decision sees of the place.
func (p *place) scope(system []string) policy.Scope {
	return policy.Scope{Cwd: p.cwd, Project: p.project, Home: p.home, Tmp: "/tmp", System: system, HostPresets: agents.HostPresets()}
}

// homeGranted says whether somebody asks for all of home.
func homeGranted(scope policy.Scope, layers []policy.Layer) bool {
	for _, l := range layers {
		for _, f := range l.Request.Files {
			if f.Access == policy.Deny || f.Glob || l.Kind == policy.LayerDefault { // nobody asks for that: /tmp is private
				continue
			}
			places, _ := policy.Resolve(scope, f)
			if slices.ContainsFunc(places, func(place string) bool { return pathname.Within(scope.Home, place) }) {
				return scope.Home != ""
			}
		}
	}
	return false
}

func withoutFiles(layers []policy.Layer) []policy.Layer {
	out := slices.Clone(layers)
	for i := range out {
		out[i].Request.Files = nil
	}
	return out
}
