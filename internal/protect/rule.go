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

// leads says whether components are those of a directory on the way to what the rule means.
func (r *rule) leads(parts []string) bool {
	if len(parts) >= len(r.parts) {
		return false
	}
	for i, p := range parts {
		if !wild(r.parts[i], p) {
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
	return between(front, back, name)
}

func between(front, back, name string) bool {
	return len(name) >= len(front)+len(back) && strings.HasPrefix(name, front) && strings.HasSuffix(name, back)
}

// lookup finds rules by their first component.
type lookup struct {
	lead    map[string][]*rule // first component, folded
	exact   map[string][]*rule // first component as written
	starred starred            // the first component has a wildcard
	fold    starred            // the same, folded
	aliased []string           // folded components that can have a short form
}

// starred are rules by the first letter of their pattern, "*" where that is the wildcard.
type starred [256][]first

// first is the first component of a rule: what is before its wildcard, and after it.
type first struct {
	front, back string
	rule        *rule
}

func (s *starred) add(r *rule) {
	front, back, _ := strings.Cut(r.parts[0], "*")
	s[r.parts[0][0]] = append(s[r.parts[0][0]], first{front, back, r})
}

// appendTo adds the rules that a component matches.
func (s *starred) appendTo(rules []*rule, part string) []*rule {
	for _, list := range [...][]first{s[part[0]], s['*']} {
		for i := range list {
			if f := &list[i]; between(f.front, f.back, part) {
				rules = append(slices.Clip(rules), f.rule)
			}
		}
	}
	return rules
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
		if lead := r.parts[0]; strings.Contains(lead, "*") {
			x.starred.add(&r)
			x.fold.add(&f)
		} else {
			x.exact[lead] = append(x.exact[lead], &r)
			x.lead[f.parts[0]] = append(x.lead[f.parts[0]], &f)
		}
	}
	slices.SortFunc(x.aliased, func(a, b string) int { return len(a) - len(b) })
	return x
})

// rulesFor gives the rules whose first component may be this one.
func rulesFor(part string, fold bool) []*rule {
	if part == "" {
		return nil
	}
	x := index()
	if fold {
		return x.fold.appendTo(x.lead[part], part)
	}
	return x.starred.appendTo(x.exact[part], part)
}
