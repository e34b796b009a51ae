package protect

import "strings"

// Level says what is done about a name.
type Level int

// Levels, from the weakest.
const (
	// None is an ordinary name.
	None Level = iota
	// Listed names may be created and changed; it is recorded, and they are
	// listed when the run ends.
	Listed
	// Protected names are refused, present or not. See InNewRepository for those that a
	// repository born inside may have.
	Protected
)

// String names the level.
func (l Level) String() string {
	switch l {
	case Listed:
		return "listed"
	case Protected:
		return "protected"
	}
	return "none"
}

// Name says whether path is one that makes someone run code later, and by which
// rule. The path is relative to a workspace root, clean and separated by "/"; a
// name counts as "at the top" when it starts there.
//
// With fold names are compared as a file system without case does: see foldName
// for how. A path below a protected directory has the directory's level.
//
// Name does not know what is on the disk, so the inside of a bare repository,
// which may have any name, is judged by Repository.
func Name(path string, fold bool) (rule string, level Level) {
	parts := split(path, fold)
	for i, part := range parts {
		if part == ".git" {
			if r, l := repository(parts[i+1:]); l > level {
				rule, level = ".git: "+r, l
			}
		}
		for _, r := range rulesFor(part, fold) {
			if l := r.at(i); l > level && r.matches(parts[i:]) {
				rule, level = r.String(), l
			}
		}
		if level == Protected {
			break
		}
	}
	return rule, level
}

// AtTop says whether a line of the table protects a path by a name that starts
// at the top of its root.
func AtTop(path string, fold bool) bool {
	parts := split(path, fold)
	if len(parts) == 0 {
		return false
	}
	for _, r := range rulesFor(parts[0], fold) {
		if r.top == Protected && r.matches(parts) {
			return true
		}
	}
	return false
}

// Renamed says whether a directory or a symbolic link that gets this path puts
// what it holds under protected names. It holds for rename, for exchange (both
// ends), for symlink and for a hard link to a symbolic link: each brings content
// to a name without a write to it.
func Renamed(path string, fold bool) (rule string, ok bool) {
	if rule, level := Name(path, fold); level == Protected {
		return rule, true
	}
	parts := split(path, fold)
	if len(parts) == 0 {
		return "", false
	}
	if rule, ok := component(parts[len(parts)-1]); ok {
		return rule, ok
	}
	for i, part := range parts {
		if part == ".git" && carriesControl(parts[i+1:]) {
			return ".git: git finds repositories in it", true
		}
		for _, r := range rulesFor(part, fold) {
			if r.top == Protected && r.leads(parts[i:]) {
				return r.String(), true
			}
		}
	}
	return "", false
}

// Component says whether a directory renamed to this name becomes protected
// wherever it is. "hooks" and "info" are not among them, as any project may have
// such a directory: in a git directory Renamed and Repository know them.
func Component(name string, fold bool) (rule string, ok bool) {
	if fold {
		name = unalias(foldName(name))
	}
	return component(name)
}

func component(name string) (rule string, ok bool) {
	if name == ".git" {
		return ".git: a git directory", true
	}
	for _, r := range index().lead[name] {
		if r.top == Protected && (r.tree || len(r.parts) > 1) {
			return r.String(), true
		}
	}
	return "", false
}

// split gives the components of a path in the form that rules are in.
func split(path string, fold bool) []string {
	if path == "" || path == "." {
		return nil
	}
	parts := strings.Split(path, "/")
	if fold {
		for i, p := range parts {
			parts[i] = unalias(foldName(p))
		}
	}
	return parts
}
