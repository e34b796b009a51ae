package workspace

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"carrel/internal/gitconf"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// targets finds what git's configuration makes git run, or read as configuration,
// in the places that can be written: existing or not. Values for any repository
// count everywhere.
func targets(p *place, eff *policy.Effective, env func(string) string) (list, dirs []gitconf.Target, problems []string) {
	l := gitconf.Load(gitconf.Host{Files: hostFiles{}, Env: env, Home: p.home, Repositories: configured(p)})
	for _, t := range l.Targets() {
		if t.Tree && t.Path != "" {
			dirs = append(dirs, t)
		}
		if t.Path == "" || t.Path != p.project && writableTarget(t.Path, p, eff) && !isConfigOf(t.Path, p.git) {
			list = append(list, t)
		}
	}
	return list, dirs, l.Problems
}

// namedIn reads what the repository of a working tree names, nothing where there is none.
func namedIn(dir string) (list []gitconf.Target) {
	if _, err := os.Lstat(dir + "/.git/config"); err != nil {
		return nil
	}
	repository := gitconf.Repository{Dir: dir + "/.git", Trees: []string{dir}}
	none := func(string) string { return "" }
	l := gitconf.Load(gitconf.Host{Files: hostFiles{}, Env: none, Repositories: []gitconf.Repository{repository}})
	for _, t := range l.Targets() {
		if t.Path != "" && t.Path != dir && t.File != "" && (pathname.Within(t.File, dir) || pathname.Within(t.Path, dir)) {
			list = append(list, t)
		}
	}
	links(dir+"/.git/hooks", func(link string) {
		on, final := gitconf.Follow(hostFiles{}, link)
		for i, at := range append(on, final) {
			if at != link && at != dir {
				list = append(list, gitconf.Target{Path: at, File: link, Link: i < len(on), Why: "git runs it"})
			}
		}
	})
	return list
}

// writableTarget tells whether something inside could be at this path.
func writableTarget(at string, p *place, eff *policy.Effective) bool {
	return pathname.Within(at, p.project) || p.git.common != "" && pathname.Within(at, p.git.common) || eff.Lookup(at).Access == policy.Write
}

// isConfigOf tells whether a path is a repository's own configuration, whose
// changes are vetted.
func isConfigOf(at string, g gitDirs) bool {
	return g.dir != "" && (at == g.common+"/config" || at == g.dir+"/config.worktree" || at == g.common+"/config.worktree")
}

// configured are the project's repositories with their working trees.
func configured(p *place) []gitconf.Repository {
	if p.git.dir == "" {
		return nil
	}
	var list []gitconf.Repository
	common := gitconf.Repository{Dir: p.git.common}
	if filepath.Base(p.git.common) == ".git" {
		common.Trees = append(common.Trees, filepath.Dir(p.git.common))
	}
	if common.Trees == nil || common.Trees[0] != p.project {
		common.Trees = append(common.Trees, p.project)
	}
	for _, dir := range repositories(p.git) {
		if dir == p.git.common {
			continue
		}
		tree := treeOf(dir)
		if tree == "" {
			continue
		}
		list = append(list, gitconf.Repository{Dir: dir, Trees: []string{tree}})
		if filepath.Dir(dir) == p.git.common+"/worktrees" && tree != p.project {
			common.Trees = append(common.Trees, tree)
		}
	}
	return append(list, common)
}

// treeOf is the working tree of a git directory that lies elsewhere: a
// worktree's, whose file gitdir names it, or a submodule's.
func treeOf(dir string) string {
	if text, err := readSmall(dir + "/gitdir"); err == nil {
		dot := strings.TrimRight(text, "\n")
		if !filepath.IsAbs(dot) {
			dot = dir + "/" + dot
		}
		return filepath.Dir(filepath.Clean(dot))
	}
	data, err := hostFiles{}.Read(dir+"/config", gitFileLimit)
	if err != nil {
		return ""
	}
	list, _ := gitconf.Parse(data)
	tree := ""
	for i := range list {
		if e := &list[i]; e.Name() == "core.worktree" && e.Value != "" {
			tree = e.Value
		}
	}
	switch {
	case tree == "":
		return ""
	case !filepath.IsAbs(tree):
		tree = dir + "/" + tree
	}
	return filepath.Clean(tree)
}

// hostFiles are the files outside, for [gitconf.Load].
type hostFiles struct{}

var errTooLong = errors.New("it is longer than is looked at")

func (hostFiles) Read(at string, limit int) ([]byte, error) {
	f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0) // no waiting for the writer of a FIFO
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, os.ErrNotExist // git reads nothing from it that stays the same
	}
	data, err := io.ReadAll(io.LimitReader(f, int64(limit)+1))
	if err == nil && len(data) > limit {
		return nil, errTooLong
	}
	return data, err
}

func (hostFiles) Link(at string) (string, bool) {
	text, err := os.Readlink(at)
	return text, err == nil
}

func (hostFiles) Dir(at string) bool {
	st, err := os.Lstat(at)
	return err == nil && st.IsDir()
}

func (hostFiles) Regular(at string) bool {
	st, err := os.Lstat(at)
	return err == nil && st.Mode().IsRegular()
}

func (hostFiles) Missing(err error) bool {
	return errors.Is(err, os.ErrNotExist) || errors.Is(err, syscall.ENOTDIR)
}

// ruleOf is the rule that protects a target.
func ruleOf(t *gitconf.Target, at string) policy.Rule {
	text := "protected name: " + t.Names() + ", names it: " + t.Why
	return policy.Rule{Path: at, Access: policy.Read, Source: policy.Source{Layer: policy.LayerDefault, Text: text}}
}
