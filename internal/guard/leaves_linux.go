package guard

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/gitdir"
	"carrel/internal/pathname"
)

// maxMoved bounds the look for repositories in a directory that is moved, in entries.
const maxMoved = 20_000

// leaves says whether a repository in a directory that is moved names something by where it
// is: from there it would name what is in that place later. "" where none does.
func (d *facts) leaves(dir, to string) (why string) {
	left := maxMoved
	_ = filepath.WalkDir(dir, func(at string, e fs.DirEntry, err error) error {
		switch left--; {
		case left < 0:
			return filepath.SkipAll
		case err != nil:
			return nil
		case e.Name() != ".git" && (e.Name() != "HEAD" || e.IsDir()):
			return nil
		}
		in := path.Dir(at)
		for _, r := range repositoriesOf(in, d.c.Git.Common) {
			if why = staysBehind(r, in, dir); why != "" {
				return filepath.SkipAll
			}
		}
		if why = d.c.runsAfter(in, dir, to); why != "" {
			return filepath.SkipAll
		}
		if e.IsDir() {
			return filepath.SkipDir
		}
		return nil
	})
	return why
}

// staysBehind says why one repository of a directory in what is moved keeps that in its place.
func staysBehind(r gitconf.Repository, in, dir string) string {
	targets := targetsIn(r, in)
	for _, t := range targets {
		// What is named relative to a file that stays is where it was.
		if t.Path != "" && !pathname.Within(t.Path, dir) && !pathname.Within(t.Path, r.Dir) {
			return "the configuration of " + in + " names " + t.Path + " by where it is"
		}
	}
	config, err := gitdir.Read(r.Dir+"/config", maxVetted)
	if err == nil && strings.Contains(string(config), dir+"/") {
		return "the configuration of " + in + " names a place in it by where it is"
	}
	// A .git file elsewhere may lead here. While the repository is away its working tree
	// would be none, and could be filled with what git runs when it is back.
	if r.Dir == in && len(targets) > 0 && !isBare(config) {
		return "a working tree may belong to " + in + ", the configuration of which names " + targets[0].Path
	}
	return ""
}

// isBare says whether a configuration is that of a repository without a working tree.
func isBare(config []byte) bool {
	entries, _ := gitconf.Parse(config)
	bare := false
	for _, e := range entries {
		if e.Name() == "core.bare" {
			bare = strings.EqualFold(e.Value, "true")
		}
	}
	return bare
}

// runsThere says what git would run in a directory at once if a .git file led from it to a
// repository, nil for nothing. From then on that is held, though the file is yet to be written.
func (d *facts) runsThere(dir, to string) error {
	var list []gitconf.Target
	for _, r := range ledTo(to, dir, d.c.Git.Common) {
		for _, t := range targetsIn(r, dir) {
			if pathname.Within(t.Path, dir) {
				list = append(list, t)
			}
		}
	}
	d.named.note(dir, list)
	for _, t := range list {
		if _, err := os.Lstat(t.Path); err == nil {
			return fmt.Errorf("git would run, or read, %q", t.Path)
		}
	}
	return nil
}

// ledSince gives the directories in one that got a .git inside.
func (d *births) ledSince(dir string) (trees []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for at := range d.listed {
		if path.Base(at) == ".git" && pathname.Within(at, dir) && at != dir {
			trees = append(trees, path.Dir(at))
		}
	}
	return trees
}

// runsAfter says what git would run in a tree once a directory around it is moved: a
// relative .git file leads to another repository then. "" for nothing.
func (c *Config) runsAfter(tree, dir, to string) string {
	st, err := os.Lstat(tree + "/.git")
	if err != nil || !st.Mode().IsRegular() {
		return ""
	}
	before := gitdir.Of(tree)
	text, err := filepath.Rel(tree, before)
	if err != nil || pathname.Within(before, dir) {
		return "" // it moves along, or names what is gone
	}
	moved := to + tree[len(dir):]
	after := path.Join(moved, text)
	if content, _ := gitdir.ReadSmall(tree + "/.git"); strings.HasPrefix(content, "gitdir: /") {
		return "" // it leads there still, and what that names was held
	}
	for _, r := range ledTo(after, moved, c.Git.Common) {
		for _, t := range targetsIn(r, moved) {
			if pathname.Within(t.Path, moved) && isThere(tree+t.Path[len(moved):]) {
				return "git would run, or read, " + t.Path
			}
		}
	}
	return ""
}

// note keeps what is named in a directory from which a .git file is about to lead.
func (n *namedTargets) note(dir string, list []gitconf.Target) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if len(list) > 0 && len(n.judged) < maxNestedDirs {
		n.judged[strings.Clone(dir)] = list
	}
	clear(n.nested)
}
