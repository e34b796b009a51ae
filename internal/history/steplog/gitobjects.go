package steplog

import (
	"slices"
	"strings"
)

// GitDir is the directory that the objects of a path belong to, by its name.
func GitDir(path string) string {
	if i := strings.LastIndex(path, "/objects/"); i >= 0 {
		return path[:i]
	}
	return path
}

// IsGitObject reports whether a path is that of an object of git, loose or packed:
// other branches, worktrees and stashes may need it, and `git gc` takes it when none
// does.
func IsGitObject(path string) bool {
	dir := GitDir(path)
	if dir == path {
		return false
	}
	below := path[len(dir)+len("/objects/"):]
	return gitObjectName(below) && (inGit(dir) || strings.Contains(below, "/"))
}

// IsGitStore reports whether a path is that of a directory that git keeps objects in: of all, of
// the packs, or of loose ones.
func IsGitStore(path string) bool {
	for _, name := range [...]string{"/objects", "/objects/pack", "/objects/info"} {
		if dir, is := strings.CutSuffix(path, name); is {
			return inGit(dir)
		}
	}
	return IsGitObject(path) && !strings.Contains(path[len(GitDir(path))+len("/objects/"):], "/")
}

// inGit reports whether a directory is one of git, or in it, by its name.
func inGit(dir string) bool {
	return slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool { return strings.HasSuffix(name, ".git") })
}

// gitObjectName reports whether a path below objects is a directory of loose objects,
// one of these, or a pack with what belongs to it.
func gitObjectName(name string) bool {
	dir, file, below := strings.Cut(name, "/")
	switch {
	case dir == "pack":
		return below && strings.HasPrefix(file, "pack-")
	case len(dir) != 2 || strings.Trim(dir, "0123456789abcdef") != "":
		return false
	case !below:
		return true
	}
	return (len(file) == 38 || len(file) == 62) && strings.Trim(file, "0123456789abcdef") == ""
}
