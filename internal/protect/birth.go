package protect

import "strings"

// Within gives the directories, as prefixes of a path, that would be git
// directories of any name if the path were a piece of them: of "a/b/hooks/x"
// "a/b". Whether they are is for BareRepository to say. What lies directly in a ".git"
// is judged by Name and not here.
func Within(at string, fold bool) []string {
	var dirs []string
	parts := split(at, fold)
	for i, part := range parts {
		last := i == len(parts)-1
		switch part {
		case "HEAD", "head", "objects", "refs", "worktrees", "config", "config.worktree", "commondir", "gitdir", "lazygit.yml":
			if !last {
				continue
			}
		case "info":
			if i != len(parts)-2 || parts[i+1] != "attributes" {
				continue
			}
		case "glab-cli":
			if i != len(parts)-2 || parts[i+1] != "config.yml" {
				continue
			}
		case "hooks", "remotes", "branches":
		default:
			continue
		}
		if i == 0 || parts[i-1] != ".git" {
			dirs = append(dirs, prefix(at, i))
		}
	}
	return dirs
}

// prefix is a path's first n components.
func prefix(at string, n int) string {
	end := 0
	for range n {
		end += strings.IndexByte(at[end:], '/') + 1
	}
	return strings.TrimSuffix(at[:end], "/")
}

// BareRepository says whether a directory with these names in it is a git
// directory: HEAD with objects and refs, or commondir instead of those. That is the
// known way round protected names: git takes configuration and hooks from any such
// directory that it stands in, and writes to where links in it lead. One that a worktree
// belongs to needs no HEAD of its own.
func BareRepository(has func(name string) bool) bool {
	if has("HEAD") && has("commondir") {
		return true
	}
	return has("objects") && has("refs") && (has("HEAD") || has("worktrees") && (has("config") || has("hooks") || has("config.worktree")))
}

// InNewRepository says whether a protected name of git may be made in a git directory
// that was itself born inside, if its content is harmless; path is relative to that
// directory. These are what init, clone, worktree and submodule write: configuration,
// the files that tie a worktree to its repository, and the directory of hooks, in which
// only samples are (and those are no protected names). All other protected names are
// refused there too.
func InNewRepository(path string, fold bool) bool {
	parts := split(path, fold)
	for len(parts) > 2 && (parts[0] == "worktrees" || parts[0] == "modules") {
		parts = parts[1:]
		for i, p := range parts[1:] {
			if isControl(p) {
				parts = parts[1+i:]
				break
			}
		}
	}
	if len(parts) != 1 {
		return false
	}
	switch parts[0] {
	case "config", "config.worktree", "commondir", "gitdir", "hooks":
		return true
	}
	return false
}
