package guard

import (
	"os"
	"path/filepath"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// TargetsOf reads what the repository of a working tree names, nothing where there is none.
func TargetsOf(dir string) (list []gitconf.Target) {
	if _, err := os.Lstat(dir + "/.git/config"); err != nil {
		return nil
	}
	repository := gitconf.Repository{Dir: dir + "/.git", Trees: []string{dir}}
	none := func(string) string { return "" }
	l := gitconf.Load(gitconf.Host{Files: gitdir.Files{}, Env: none, Repositories: []gitconf.Repository{repository}})
	for _, t := range l.Targets() {
		if t.Path != "" && t.Path != dir && t.File != "" && (pathname.Within(t.File, dir) || pathname.Within(t.Path, dir)) {
			list = append(list, t)
		}
	}
	Links(dir+"/.git/hooks", func(link string) {
		on, final := gitconf.Follow(gitdir.Files{}, link)
		for i, at := range append(on, final) {
			if at != link && at != dir {
				list = append(list, gitconf.Target{Path: at, File: link, Link: i < len(on), Why: "git runs it"})
			}
		}
	})
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
