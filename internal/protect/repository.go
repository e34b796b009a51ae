package protect

import (
	"slices"
	"strings"
)

// Repository judges a path within a git directory, relative to it: "config",
// "hooks/pre-commit", "modules/lib/config". It is for bare and embedded
// repositories, whose directory BareRepository has recognised; Name does the
// same below every ".git".
func Repository(path string, fold bool) (rule string, level Level) {
	parts := split(path, fold)
	if len(parts) == 0 {
		return "", None
	}
	return repository(parts)
}

// controls gives why a name in a git directory makes git run programs or look elsewhere, ""
// where it does not.
func controls(name string) string {
	switch name {
	case "config", "config.worktree":
		return "git runs what it names"
	case "commondir":
		return "git takes configuration and hooks from there"
	case "gitdir":
		return "git takes the repository from there"
	case "hooks":
		return "git runs it"
	}
	return ""
}

func isControl(name string) bool { return controls(name) != "" }

// repository judges the components below a git directory; none is the
// directory itself. A new ".git" is listed: whoever makes one makes a repository
// or a link to one. Bringing content to that name is for Renamed.
func repository(parts []string) (rule string, level Level) {
	if len(parts) == 0 {
		return "a repository", Listed
	}
	switch parts[0] {
	case "worktrees":
		if len(parts) > 2 {
			return repository(parts[2:])
		}
		return "", None
	case "modules":
		return modules(parts)
	}
	if rule, level := control(parts); level != None || kept(parts[0]) || parts[0] == "hooks" {
		return rule, level
	}
	if i := slices.IndexFunc(parts[1:], isControl); i >= 0 {
		return parts[i+1] + ": git has none there, and could be led to it", Protected
	}
	return "", None
}

// modules judges what is below "modules". A submodule's name may hold slashes,
// so its repository may start at any depth. Where refs, logs and objects of a
// submodule begin, names are branches and hashes: a branch may be called config.
func modules(parts []string) (rule string, level Level) {
	for i := 2; i < len(parts); i++ {
		switch parts[i] {
		case "objects", "refs", "logs":
			return rule, level
		}
		if r, l := control(parts[i:]); l > level {
			rule, level = r, l
		}
	}
	return rule, level
}

// control judges names directly in a git directory.
func control(parts []string) (rule string, level Level) {
	name, last := parts[0], parts[len(parts)-1]
	switch {
	case name == "hooks" && len(parts) == 2 && (strings.HasSuffix(last, ".sample") || strings.HasPrefix(last, ".")):
		return "", None // git never runs a name that ends or begins so
	case name == "hooks" || len(parts) == 1 && isControl(name):
		return name + ": " + controls(name), Protected
	case name == "info" && len(parts) == 2 && last == "attributes":
		return "info/attributes: git runs the drivers that it chooses", Protected
	case name == "lazygit.yml" && len(parts) == 1:
		return "lazygit.yml: lazygit runs what it names", Protected
	case name == "glab-cli" && len(parts) == 2 && last == "config.yml":
		return "glab-cli/config.yml: glab runs what it names", Protected
	case (name == "remotes" || name == "branches") && len(parts) > 1:
		return name + ": git takes addresses of remotes from it", Protected
	}
	return "", None
}

// kept says whether a directory of a git directory is one in which any name may be:
// references, what is told of them, and content.
func kept(name string) bool {
	switch name {
	case "refs", "logs", "objects", "lfs", "annex", "rr-cache":
		return true
	}
	return false
}

// carriesControl says whether a directory brought to this place below a git
// directory can hold control files of git.
func carriesControl(parts []string) bool {
	if len(parts) == 0 {
		return true
	}
	switch parts[0] {
	case "info", "remotes", "branches", "glab-cli":
		return len(parts) == 1
	case "worktrees":
		return len(parts) < 3 || carriesControl(parts[2:])
	case "modules":
		return len(parts) < 3 || !slices.ContainsFunc(parts[2:], func(p string) bool {
			return p == "objects" || p == "refs" || p == "logs"
		})
	}
	return false
}
