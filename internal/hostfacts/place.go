package hostfacts

import (
	"fmt"
	"path/filepath"
	"syscall"

	"carrel/internal/agents"
	"carrel/internal/gitdir"
	"carrel/internal/hostfile"
	"carrel/internal/policy"
)

// Place is where a workspace is on the host: all paths canonical.
type Place struct {
	Cwd     string
	Project string
	Home    string // "" when the user has none
	Git     gitdir.Dirs
}

// FindPlace resolves the working directory and the project around it: the top
// of the git repository that holds it, else the directory itself. A repository
// of another user does not count: anyone can plant /tmp/.git, and it would make
// all of /tmp the project.
func FindPlace(cwd, home string) (Place, error) {
	p := Place{}
	real, err := WorkingDirectory(cwd)
	if err != nil {
		return p, fmt.Errorf("finding the working directory: %w", err)
	}
	if !filepath.IsAbs(real) {
		return p, fmt.Errorf("working directory %q is not an absolute path", real)
	}
	p.Cwd, p.Project = real, real
	if filepath.IsAbs(home) {
		if h, err := filepath.EvalSymlinks(home); err == nil {
			p.Home = h
		}
	}
	for dir := real; ; dir = filepath.Dir(dir) {
		if git, found, ours := gitdir.Open(dir, hostfile.OwnedByUs); found {
			if ours || dir == real {
				p.Project, p.Git = dir, git
			}
			break
		}
		if dir == "/" {
			break
		}
	}
	return p, nil
}

// WorkingDirectory asks the kernel where we stand; $PWD and other names are
// what another program may have exchanged.
func WorkingDirectory(cwd string) (string, error) {
	if cwd != "" {
		return filepath.EvalSymlinks(cwd)
	}
	return syscall.Getwd()
}

// Scope is what the decision sees of the place.
func (p *Place) Scope(system []string) policy.Scope {
	return policy.Scope{Cwd: p.Cwd, Project: p.Project, Home: p.Home, Tmp: "/tmp", System: system, HostPresets: agents.HostPresets()}
}
