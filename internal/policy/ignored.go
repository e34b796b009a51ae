package policy

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/policy/pathglob"
)

// Ignored are patterns as in gitignore(5) that hold below each of some places:
// one without "/" at any depth, one with "/" from the place on, and what matches
// holds for all that is in it. They grant and refuse nothing.
type Ignored struct {
	roots []string
	match *matcher
}

// NewIgnored compiles patterns for places, which are canonical paths.
func NewIgnored(roots, patterns []string) (*Ignored, error) {
	var rules []Rule
	for _, p := range patterns {
		rest := strings.TrimSuffix(p, "/")
		switch {
		case strings.Trim(rest, "/") == "":
			return nil, fmt.Errorf("pattern %q: it names nothing", p)
		case strings.HasPrefix(p, "!"):
			return nil, fmt.Errorf(`pattern %q: nothing is taken out again; write \! for a name that begins with "!"`, p)
		case !strings.Contains(rest, "/"):
			rest = "**/" + rest
		}
		for _, root := range roots {
			rules = append(rules, Rule{Glob: strings.TrimSuffix(pathglob.Literal(root), "/") + "/" + strings.TrimPrefix(rest, "/"), Access: Deny})
		}
		if _, err := pathglob.Compile(rest); err != nil {
			return nil, fmt.Errorf("pattern %q: %w", p, err)
		}
	}
	m, err := newMatcher(rules)
	if err != nil {
		return nil, err
	}
	return &Ignored{roots, m}, nil
}

// Match says whether a path is ignored: it is below a place and matches, or lies
// in what does. It is safe for concurrent use.
func (g *Ignored) Match(path string) bool {
	return g != nil && !slices.Contains(g.roots, path) && g.match.lookup(path).Access == Deny
}
