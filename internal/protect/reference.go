package protect

import (
	"slices"
	"strings"
)

// Reference says whether git takes a file of a git directory for a reference and writes,
// where that is a symbolic one, to what it names: HEAD, what lies below refs, and the
// pseudorefs that commands update (gitglossary(7); refs.c and path.c of git). path is
// relative to the git directory, or to one that it lies in as worktrees and modules do.
// Not so FETCH_HEAD and MERGE_HEAD, which git writes itself, logs, and locks, which get the
// name of a reference by a rename.
func Reference(path string, fold bool) bool {
	if !fold && !strings.Contains(path, "refs/") && !pseudoref(path[strings.LastIndexByte(path, '/')+1:], false) {
		return false // most paths there are
	}
	parts := split(path, fold)
	last := len(parts) - 1
	if last < 0 || strings.HasSuffix(parts[last], ".lock") {
		return false
	}
	for i, part := range parts[:last] {
		if part == "refs" && !isLog(parts, i) {
			return true
		}
	}
	return pseudoref(parts[last], fold) && !(isLog(parts, last) && strings.EqualFold(parts[last], "HEAD"))
}

// Index says whether a file of a git directory is an index, or one that another index is
// made of: git writes files by the paths in it. path is as for Reference.
// A branch and its log may have the name of one.
func Index(path string, fold bool) bool {
	if name := path[strings.LastIndexByte(path, '/')+1:]; !fold && name != "index" && !strings.HasPrefix(name, "sharedindex.") {
		return false // most paths
	}
	parts := split(path, fold)
	last := len(parts) - 1
	if last < 0 || parts[last] != "index" && !strings.HasPrefix(parts[last], "sharedindex.") || strings.HasSuffix(parts[last], ".lock") {
		return false
	}
	return true
}

// isLog says whether a component is what the directory of logs holds. A worktree and a
// submodule may have that name.
func isLog(parts []string, i int) bool {
	return i > 0 && parts[i-1] == "logs" && (i == 1 || parts[i-2] != "worktrees") && !slices.Contains(parts[:i], "modules")
}

func pseudoref(name string, fold bool) bool {
	if fold {
		name = strings.ToUpper(name)
	}
	switch name {
	case "FETCH_HEAD", "MERGE_HEAD":
		return false
	case "HEAD", "AUTO_MERGE", "BISECT_EXPECTED_REV", "MERGE_AUTOSTASH", "NOTES_MERGE_PARTIAL", "NOTES_MERGE_REF":
		return true
	}
	return strings.HasSuffix(name, "_HEAD") && strings.Trim(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_") == ""
}
