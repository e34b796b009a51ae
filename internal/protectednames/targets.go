package protectednames

import (
	"path/filepath"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// targets finds what git's configuration makes git run, or read as configuration,
// in the places that can be written: existing or not. Values for any repository
// count everywhere.
func targets(p *hostfacts.Place, eff *policy.Effective, env func(string) string) (list, dirs []gitconf.Target, problems []string) {
	l := gitconf.Load(gitconf.Host{Files: gitdir.Files{}, Env: env, Home: p.Home, Repositories: configured(p)})
	for _, t := range l.Targets() {
		if t.Tree && t.Path != "" {
			dirs = append(dirs, t)
		}
		if t.Path == "" || t.Path != p.Project && writableTarget(t.Path, p, eff) && !isConfigOf(t.Path, p.Git) {
			list = append(list, t)
		}
	}
	return list, dirs, l.Problems
}

// writableTarget tells whether something inside could be at this path.
func writableTarget(at string, p *hostfacts.Place, eff *policy.Effective) bool {
	return pathname.Within(at, p.Project) || p.Git.Common != "" && pathname.Within(at, p.Git.Common) || eff.Lookup(at).Access == policy.Write
}

// isConfigOf tells whether a path is a repository's own configuration, whose
// changes are vetted.
func isConfigOf(at string, g gitdir.Dirs) bool {
	return g.Dir != "" && (at == g.Common+"/config" || at == g.Dir+"/config.worktree" || at == g.Common+"/config.worktree")
}

// configured are the project's repositories with their working trees.
func configured(p *hostfacts.Place) []gitconf.Repository {
	if p.Git.Dir == "" {
		return nil
	}
	var list []gitconf.Repository
	common := gitconf.Repository{Dir: p.Git.Common}
	if filepath.Base(p.Git.Common) == ".git" {
		common.Trees = append(common.Trees, filepath.Dir(p.Git.Common))
	}
	if common.Trees == nil || common.Trees[0] != p.Project {
		common.Trees = append(common.Trees, p.Project)
	}
	dirs, _ := p.Git.Repositories()
	for _, dir := range dirs {
		if dir == p.Git.Common {
			continue
		}
		tree := gitdir.TreeOf(dir)
		if tree == "" {
			continue
		}
		list = append(list, gitconf.Repository{Dir: dir, Trees: []string{tree}})
		if filepath.Dir(dir) == p.Git.Common+"/worktrees" && tree != p.Project {
			common.Trees = append(common.Trees, tree)
		}
	}
	return append(list, common)
}
