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
	git := slices.ContainsFunc(strings.Split(dir, "/"), func(name string) bool { return strings.HasSuffix(name, ".git") })
	return gitObjectName(below) && (git || strings.Contains(below, "/"))
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
