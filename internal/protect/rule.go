package protect

import (
	"slices"
	"strings"
	"sync"
)

// rule is one line of the table.
type rule struct {
	pattern string   // components; "*" stands for any run of letters within one
	parts   []string // of the pattern, folded in the folded index
	tree    bool     // a directory: all below it counts
	top     Level    // at the top of a root
	deep    Level    // elsewhere
	why     string
}

// String is how the rule is told to people.
func (r *rule) String() string { return r.pattern + ": " + r.why }

// at gives the level for a match that begins at component i.
func (r *rule) at(i int) Level {
	if i == 0 {
		return r.top
	}
	return r.deep
}

// matches compares with the components from where the match begins.
func (r *rule) matches(parts []string) bool {
	if len(parts) < len(r.parts) || !r.tree && len(parts) > len(r.parts) {
		return false
	}
	for i, p := range r.parts {
		if !wild(p, parts[i]) {
			return false
		}
	}
	return true
}

// wild matches one component with at most one "*".
func wild(pattern, name string) bool {
	front, back, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == name
	}
	return len(name) >= len(front)+len(back) && strings.HasPrefix(name, front) && strings.HasSuffix(name, back)
}

// lookup finds rules by their first component.
type lookup struct {
	lead    map[string][]*rule // first component, folded
	exact   map[string][]*rule // first component as written
	starred []*rule            // the first component has a wildcard
	fold    []*rule            // the same, folded
	aliased []string           // folded components that can have a short form
}

// index is built once, from the table.
var index = sync.OnceValue(func() *lookup {
	x := &lookup{lead: make(map[string][]*rule), exact: make(map[string][]*rule), aliased: []string{".git", ".gitmodules", ".gitattributes", "config.worktree", "commondir", "attributes", "worktrees", "branches"}}
	for _, line := range table() {
		r, f := line, line
		r.parts = strings.Split(r.pattern, "/")
		for _, p := range r.parts {
			p = foldName(p)
			f.parts = append(f.parts, p)
			x.aliased = append(x.aliased, strings.ReplaceAll(p, "*", ""))
		}
		if first := r.parts[0]; strings.Contains(first, "*") {
			x.starred, x.fold = append(x.starred, &r), append(x.fold, &f)
		} else {
			x.exact[first] = append(x.exact[first], &r)
			x.lead[f.parts[0]] = append(x.lead[f.parts[0]], &f)
		}
	}
	slices.SortFunc(x.aliased, func(a, b string) int { return len(a) - len(b) })
	return x
})

// rulesFor gives the rules whose first component may be this one.
func rulesFor(part string, fold bool) []*rule {
	x := index()
	rules, starred := x.exact[part], x.starred
	if fold {
		rules, starred = x.lead[part], x.fold
	}
	for _, r := range starred {
		if wild(r.parts[0], part) {
			rules = append(slices.Clip(rules), r)
		}
	}
	return rules
}
