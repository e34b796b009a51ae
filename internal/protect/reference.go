package protect

import "strings"

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
	log := func(i int) bool { return i > 0 && parts[i-1] == "logs" && (i == 1 || parts[i-2] != "modules") }
	for i, part := range parts[:last] {
		if part == "refs" && !log(i) {
			return true
		}
	}
	return pseudoref(parts[last], fold) && !log(last)
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
