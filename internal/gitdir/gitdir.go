// Package gitdir finds the directories of git repositories on the host, and reads the small
// files in them within bounds: where .git leads, which worktrees and submodules belong to a
// repository, and what the other end says (gitrepository-layout(5)). What it reads was
// written by the authors of the project; it decides nothing, and knows no configuration but
// core.worktree.
package gitdir

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/gitconf"
	"carrel/internal/pathname"
)

// MaxSearched bounds the directories that are looked at below .git/modules, and the linked
// worktrees of one repository.
const MaxSearched = 2000

// Dirs are the git directories of a working tree; both "" without a repository.
type Dirs struct {
	Dir    string // .git, or the worktree's or submodule's directory
	Common string // where config, hooks, objects and refs are
}

// Open looks at dir's ".git"; owned says whether a file is the user's. found says that the search upwards ends here,
// whatever it is: a command that breaks its own repository must not make the
// one around it the next run's project. ours says that dir is the project; a
// ".git" of somebody else does not make it one.
//
// A directory is protected whether git would take it for a repository or not:
// what is broken now may be whole again when git looks. Its own directory may
// lie elsewhere (worktree, submodule); everything that leads there was written
// by whoever wrote the project, so the other end has to lead back: else nothing
// outside is granted.
func Open(dir string, owned func(os.FileInfo) bool) (g Dirs, found, ours bool) {
	dot := dir + "/.git"
	info, err := os.Lstat(dot)
	if err != nil {
		return Dirs{}, false, false
	}
	ours = owned(info)
	switch {
	case info.IsDir():
		return Dirs{Dir: dot, Common: dot}, true, ours
	case !ours:
		return Dirs{}, true, false
	case info.Mode().IsRegular():
		return linkedGit(dir, dot), true, true
	}
	if real, err := filepath.EvalSymlinks(dot); err == nil && pathname.Within(real, dir) && real != dir {
		return Dirs{Dir: real, Common: real}, true, true
	}
	return Dirs{}, true, true
}

// linkedGit follows the ".git" file of a worktree or submodule as far as the
// other end agrees.
func linkedGit(dir, dot string) Dirs {
	target, err := readGitFile(dir, dot)
	if err != nil {
		return Dirs{}
	}
	if st, err := os.Lstat(target + "/HEAD"); err != nil || !st.Mode().IsRegular() {
		return Dirs{}
	}
	text, err := ReadSmall(target + "/commondir")
	if err != nil {
		if pathname.Within(target, dir) || isSubmodule(dir, target) {
			return Dirs{Dir: target, Common: target}
		}
		return Dirs{}
	}
	common, err := canonicalFrom(target, strings.TrimRight(text, "\n"))
	if err != nil || !isWorktree(dot, target, common) {
		return Dirs{}
	}
	return Dirs{Dir: target, Common: common}
}

// isWorktree checks both directions: the worktree's directory lies in the
// repository that it names, and that place names our .git file.
func isWorktree(dot, dir, common string) bool {
	if filepath.Dir(dir) != common+"/worktrees" {
		return false
	}
	text, err := ReadSmall(dir + "/gitdir")
	if err != nil {
		return false
	}
	back, err := canonicalFrom(dir, strings.TrimRight(text, "\n"))
	return err == nil && back == dot
}

// isSubmodule checks that the repository in a superproject's .git/modules has
// this directory as its work tree.
func isSubmodule(dir, target string) bool {
	text, err := ReadSmall(target + "/config")
	if err != nil || !strings.Contains(target, "/.git/modules/") {
		return false
	}
	list, err := gitconf.Parse([]byte(text))
	for _, e := range slices.Backward(list) {
		if err == nil && e.Name() == "core.worktree" {
			back, err := canonicalFrom(target, e.Value)
			return err == nil && back == dir
		}
	}
	return false
}

// readGitFile follows the one line "gitdir: PATH" of a worktree or submodule.
func readGitFile(dir, file string) (string, error) {
	text, err := ReadSmall(file)
	if err != nil {
		return "", err
	}
	target, ok := strings.CutPrefix(strings.TrimRight(text, "\n"), "gitdir: ")
	if !ok {
		return "", fmt.Errorf("%q does not begin with \"gitdir: \"", file)
	}
	return canonicalFrom(dir, target)
}

func canonicalFrom(base, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = base + "/" + path
	}
	return filepath.EvalSymlinks(path)
}

// Repositories gives all git directories of a project: its own, the common one,
// those of other worktrees and of submodules, and their worktrees. all is false where there
// are more than [MaxSearched].
func (g Dirs) Repositories() (dirs []string, all bool) {
	dirs = []string{g.Common}
	if g.Dir != g.Common {
		dirs = append(dirs, g.Dir)
	}
	found, all := submodules(g.Common + "/modules")
	dirs = append(dirs, found...)
	for _, d := range slices.Clone(dirs) {
		entries, _ := os.ReadDir(d + "/worktrees")
		if len(entries) > MaxSearched {
			entries, all = entries[:MaxSearched], false
		}
		for _, e := range entries {
			if tree := d + "/worktrees/" + e.Name(); e.IsDir() && tree != g.Dir {
				dirs = append(dirs, tree)
			}
		}
	}
	return dirs, all
}

// submodules finds the repositories below .git/modules; their names may hold
// slashes, so every directory is searched. What looks like one counts, whole or
// not: a command may have broken it for now. Beyond the bound all of modules is
// one, and so its hooks and configuration are held by being read-only.
func submodules(modules string) (found []string, all bool) {
	if st, err := os.Lstat(modules); err != nil || !st.IsDir() {
		return nil, true // a link would lead the search, and the mounts, elsewhere
	}
	queue := []string{modules}
	for looked := 0; len(queue) > 0; looked++ {
		if looked == MaxSearched {
			return append(found, queue...), false
		}
		dir := queue[0]
		queue = queue[1:]
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			sub := dir + "/" + e.Name()
			if !e.IsDir() || e.Name() == "objects" || e.Name() == "refs" || e.Name() == "logs" {
				continue
			}
			if isThere(sub+"/HEAD") || isThere(sub+"/config") || isThere(sub+"/hooks") {
				found = append(found, sub)
			}
			if e.Name() != "hooks" && e.Name() != "info" && e.Name() != "worktrees" {
				queue = append(queue, sub)
			}
		}
	}
	return found, true
}

func isThere(at string) bool {
	_, err := os.Lstat(at)
	return err == nil
}

// Of gives the git directory of a working tree, as in gitrepository-layout(5).
func Of(tree string) string {
	text, err := ReadSmall(tree + "/.git")
	to, ok := strings.CutPrefix(strings.TrimRight(text, "\r\n"), "gitdir: ")
	switch {
	case err != nil || !ok:
		return tree + "/.git"
	case path.IsAbs(to):
		return path.Clean(to)
	}
	return path.Join(tree, to)
}

// TreeOf gives the working tree of a git directory that lies elsewhere: a
// worktree's, whose file gitdir names it, or a submodule's.
func TreeOf(dir string) string {
	if text, err := ReadSmall(dir + "/gitdir"); err == nil {
		dot := strings.TrimRight(text, "\n")
		if !filepath.IsAbs(dot) {
			dot = dir + "/" + dot
		}
		return filepath.Dir(filepath.Clean(dot))
	}
	data, err := Files{}.Read(dir+"/config", maxPointer)
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
