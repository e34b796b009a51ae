package workspace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"carrel/internal/agents"
	"carrel/internal/gitconf"
	"carrel/internal/pathname"
	"carrel/internal/policy"
)

// gitFileLimit bounds what is read of a ".git" file or "commondir"; both hold one path.
const gitFileLimit = 64 << 10

// place is where a workspace is on the host: all paths canonical.
type place struct {
	cwd     string
	project string
	home    string // "" when the user has none
	git     gitDirs
}

// gitDirs are the directories of the project's own repository; both "" without one.
type gitDirs struct {
	dir    string // .git, or the worktree's or submodule's directory
	common string // where config, hooks, objects and refs are
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
		if git, found, ours := openGit(dir); found {
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

// openGit looks at dir's ".git". found says that the search upwards ends here,
// whatever it is: a command that breaks its own repository must not make the
// one around it the next run's project. ours says that dir is the project; a
// ".git" of somebody else does not make it one.
//
// A directory is protected whether git would take it for a repository or not:
// what is broken now may be whole again when git looks. Its own directory may
// lie elsewhere (worktree, submodule); everything that leads there was written
// by whoever wrote the project, so the other end has to lead back: else nothing
// outside is granted.
func openGit(dir string) (g gitDirs, found, ours bool) {
	dot := dir + "/.git"
	info, err := os.Lstat(dot)
	if err != nil {
		return gitDirs{}, false, false
	}
	ours = ownedByUs(info)
	switch {
	case info.IsDir():
		return gitDirs{dir: dot, common: dot}, true, ours
	case !ours:
		return gitDirs{}, true, false
	case info.Mode().IsRegular():
		return linkedGit(dir, dot), true, true
	}
	if real, err := filepath.EvalSymlinks(dot); err == nil && pathname.Within(real, dir) && real != dir {
		return gitDirs{dir: real, common: real}, true, true
	}
	return gitDirs{}, true, true
}

// linkedGit follows the ".git" file of a worktree or submodule as far as the
// other end agrees.
func linkedGit(dir, dot string) gitDirs {
	target, err := readGitFile(dir, dot)
	if err != nil {
		return gitDirs{}
	}
	if st, err := os.Lstat(target + "/HEAD"); err != nil || !st.Mode().IsRegular() {
		return gitDirs{}
	}
	text, err := readSmall(target + "/commondir")
	if err != nil {
		if pathname.Within(target, dir) || isSubmodule(dir, target) {
			return gitDirs{dir: target, common: target}
		}
		return gitDirs{}
	}
	common, err := canonicalFrom(target, strings.TrimRight(text, "\n"))
	if err != nil || !isWorktree(dot, target, common) {
		return gitDirs{}
	}
	return gitDirs{dir: target, common: common}
}

// isWorktree checks both directions: the worktree's directory lies in the
// repository that it names, and that place names our .git file.
func isWorktree(dot, dir, common string) bool {
	if filepath.Dir(dir) != common+"/worktrees" {
		return false
	}
	text, err := readSmall(dir + "/gitdir")
	if err != nil {
		return false
	}
	back, err := canonicalFrom(dir, strings.TrimRight(text, "\n"))
	return err == nil && back == dot
}

// isSubmodule checks that the repository in a superproject's .git/modules has
// this directory as its work tree.
func isSubmodule(dir, target string) bool {
	text, err := readSmall(target + "/config")
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
	text, err := readSmall(file)
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

func readSmall(path string) (string, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|openNoFollow, 0)
	if err != nil {
		return "", err
	}
	defer f.Close()
	buf := make([]byte, gitFileLimit)
	n, err := f.Read(buf)
	if n == 0 && err != nil {
		return "", err
	}
	return string(bytes.TrimSuffix(buf[:n], []byte{0})), nil
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
