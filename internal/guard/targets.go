package guard

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/protect"
)

// TargetsOf reads what the repositories of a directory name: of a working tree the one that
// its .git is or leads to, of a git directory of any name itself. What lies in own is left
// out: the project's own repository is looked at when a run starts.
func TargetsOf(dir, own string) (list []gitconf.Target) {
	for _, r := range repositoriesOf(dir, own) {
		list = append(list, targetsIn(r, dir)...)
	}
	return list
}

// repositoriesOf finds the git directories that git would use in a directory.
func repositoriesOf(dir, own string) (list []gitconf.Repository) {
	switch st, err := os.Lstat(dir + "/.git"); {
	case err != nil:
	case st.Mode().IsRegular():
		list = ledTo(gitdir.Of(dir), dir, own)
	case isThere(dir + "/.git/config"):
		list = []gitconf.Repository{{Dir: dir + "/.git", Trees: []string{dir}}}
	}
	if path.Base(dir) == ".git" || !gitDirectory(dir) {
		return list
	}
	// A bare repository's programs run in it, which a repository without trees stands for.
	r := gitconf.Repository{Dir: dir}
	if tree := gitdir.TreeOf(dir); tree != "" {
		r.Trees = []string{tree}
	}
	return append(list, r)
}

// ledTo gives the git directory of a .git file, and the one that it shares with others:
// the configuration of a worktree is there.
func ledTo(to, tree, own string) []gitconf.Repository {
	common := to
	if text, err := gitdir.ReadSmall(to + "/commondir"); err == nil {
		if common = strings.TrimRight(text, "\n"); !path.IsAbs(common) {
			common = to + "/" + common
		}
		common = path.Clean(common)
	}
	if own != "" && pathname.Within(common, own) {
		return nil
	}
	list := []gitconf.Repository{{Dir: to, Trees: []string{tree}}}
	if common != to {
		list = append(list, gitconf.Repository{Dir: common, Trees: []string{tree}})
	}
	return list
}

// gitDirectory says whether a directory is one of git's by what is in it.
func gitDirectory(dir string) bool {
	return isThere(dir+"/HEAD") && protect.BareRepository(func(name string) bool { return isThere(dir + "/" + name) })
}

// isThere says whether there is something at a path, which may be a link.
func isThere(at string) bool {
	_, err := os.Lstat(at)
	return err == nil
}

// targetsIn reads what one repository of a directory names.
func targetsIn(r gitconf.Repository, dir string) (list []gitconf.Target) {
	none := func(string) string { return "" }
	l := gitconf.Load(gitconf.Host{Files: gitdir.Files{}, Env: none, Repositories: []gitconf.Repository{r}})
	hooks := []string{r.Dir + "/hooks"}
	for _, t := range l.Targets() {
		if t.Tree && t.Path != "" {
			hooks = append(hooks, t.Path)
		}
		if t.Path != "" && t.Path != dir && t.File != "" && (pathname.Within(t.File, dir) || pathname.Within(t.File, r.Dir) || pathname.Within(t.Path, dir)) {
			list = append(list, t)
		}
	}
	for _, in := range hooks {
		Links(in, func(link string) {
			on, final := gitconf.Follow(gitdir.Files{}, link)
			for i, at := range append(on, final) {
				if at != link && at != dir {
					list = append(list, gitconf.Target{Path: at, File: link, Link: i < len(on), Why: "git runs it"})
				}
			}
		})
	}
	return list
}

// RuleOf is the rule that protects a target.
func RuleOf(t *gitconf.Target, at string) policy.Rule {
	text := "protected name: " + t.Names() + ", names it: " + t.Why
	return policy.Rule{Path: at, Access: policy.Read, Source: policy.Source{Layer: policy.LayerDefault, Text: text}}
}

// Bounds of the search for links in what is protected.
const (
	MaxLinkEntries = 2000
	maxLinkDepth   = 16
)

// Links calls found for a path that is a link, or for the links below it, and says whether
// that were all.
func Links(at string, found func(link string)) bool {
	left, whole := MaxLinkEntries, true
	_ = filepath.WalkDir(at, func(entry string, e os.DirEntry, err error) error {
		switch left--; {
		case left < 0:
			whole = false
			return filepath.SkipAll
		case err != nil:
			return nil
		case e.Type()&os.ModeSymlink != 0:
			found(entry)
		case e.IsDir() && strings.Count(entry[len(at):], "/") >= maxLinkDepth:
			whole = false
			return filepath.SkipDir
		}
		return nil
	})
	return whole
}
