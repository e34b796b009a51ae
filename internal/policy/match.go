package policy

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/policy/pathglob"
)

// Decision is what the rules say of one path.
type Decision struct {
	Access    Access // Unset, Read, Write or Deny
	Rule      *Rule  // the rule that decided; nil with Unset
	Protected bool   // a protecting glob took the write that Below grants
	Below     *Rule  // the path rule under a glob's decision; nil if none
	Keep      *Rule  // a protecting glob that matches where nothing may be written anyway: it counts where a private layer can be
}

// Lookup decides one path. It must be absolute; "." and ".." are resolved by
// their letters, so a caller resolves symlinks first. A path that is not
// absolute is Unset. Its cost is the number of components times the globs that
// are under way at each. It is safe for concurrent use.
func (e *Effective) Lookup(path string) Decision {
	if !strings.HasPrefix(path, "/") {
		return Decision{}
	}
	m := e.match
	if m == nil {
		var err error
		if m, err = newMatcher(e.Rules); err != nil {
			// Rules that did not come from Decide: nothing they grant counts.
			return Decision{Access: Deny}
		}
	}
	return m.lookup(cleanPath(path))
}

// matcher is a trie over the components of all rules, paths and globs alike.
// A path is a pattern whose segments are all plain.
type matcher struct {
	root node
}

type node struct {
	names map[string]*node // plain segments
	wild  []wildEdge       // segments with wildcards
	deep  *node            // "**"; the node that it leads to keeps itself
	loops bool             // reached by "**": stays for any component
	path  *Rule            // the rule of exactly this path
	globs []*Rule          // rules of globs that end here
}

type wildEdge struct {
	segment pathglob.Segment
	to      *node
}

func newMatcher(rules []Rule) (*matcher, error) {
	m := &matcher{}
	for i := range rules {
		r := &rules[i]
		if r.Glob == "" {
			m.addPath(r)
			continue
		}
		patterns, err := pathglob.Compile(r.Glob)
		if err != nil {
			return nil, fmt.Errorf("glob %q: %w", r.Glob, err)
		}
		for _, p := range patterns {
			m.addGlob(p, r)
		}
	}
	return m, nil
}

// addPath adds the rule, or replaces the weaker one of the same path.
func (m *matcher) addPath(r *Rule) {
	n := &m.root
	for name := range components(r.Path) {
		n = n.child(name)
	}
	if n.path == nil || overrides(r, n.path) {
		n.path = r
	}
}

func (m *matcher) addGlob(p pathglob.Pattern, r *Rule) {
	n := &m.root
	for _, seg := range p {
		switch {
		case seg.Deep:
			if n.deep == nil {
				n.deep = &node{loops: true}
			}
			n = n.deep
		case seg.Plain:
			n = n.child(seg.Text)
		default:
			n = n.wildChild(seg)
		}
	}
	if !slices.Contains(n.globs, r) {
		n.globs = append(n.globs, r)
	}
}

func (n *node) child(name string) *node {
	if n.names == nil {
		n.names = map[string]*node{}
	}
	c := n.names[name]
	if c == nil {
		c = &node{}
		n.names[name] = c
	}
	return c
}

func (n *node) wildChild(seg pathglob.Segment) *node {
	for i := range n.wild {
		if n.wild[i].segment.Text == seg.Text {
			return n.wild[i].to
		}
	}
	c := &node{}
	n.wild = append(n.wild, wildEdge{seg, c})
	return c
}

// overrides tells which of two rules of the same path holds: a default loses
// to what anyone stronger says, else deny beats write beats read.
func overrides(r, old *Rule) bool {
	rd, od := r.Source.Layer == LayerDefault, old.Source.Layer == LayerDefault
	switch {
	case rd != od:
		return od
	case r.Access != old.Access:
		return r.Access > old.Access
	}
	return r.Source.before(old.Source)
}

// walk is what one lookup has seen so far.
type walk struct {
	path    *Rule // the deepest rule of a path
	reopen  int   // depth of the deepest grant that beats default globs, -1 none
	deny    globHit
	defDeny globHit
	keep    globHit
	defKeep globHit
}

// globHit is the deepest match of one kind of glob.
type globHit struct {
	rule  *Rule
	depth int
}

func (h *globHit) see(r *Rule, depth int) {
	if h.rule == nil || depth > h.depth || depth == h.depth && r.Source.before(h.rule.Source) {
		*h = globHit{r, depth}
	}
}

// holds tells whether the hit of a default glob still stands: a grant by a
// stronger layer, at the matched path or below it, takes it away.
func (h *globHit) holds(reopen int) bool { return h.rule != nil && h.depth > reopen }

func (m *matcher) lookup(path string) Decision {
	w := walk{reopen: -1}
	exact := &m.root         // the node of the path itself, whose rules are paths
	var room [2]frontierRoom // one is stood on, the other stepped to
	active := room[0].empty().with(&m.root)
	w.see(active.nodes, exact, 0)
	depth := 0
	for name := range components(path) {
		depth++
		if exact != nil {
			exact = exact.names[name]
		}
		active = active.step(name, room[depth%2].empty())
		if len(active.nodes) == 0 {
			break
		}
		w.see(active.nodes, exact, depth)
	}
	return w.decide()
}

// frontier is the set of nodes that the walk stands on. The trie is a tree, so
// only a node that keeps itself can be reached twice.
type frontier struct {
	nodes []*node
	loops []*node
}

// frontierRoom is where a frontier fits that is not kept: most hold a few nodes.
type frontierRoom struct{ nodes, loops [8]*node }

func (r *frontierRoom) empty() frontier { return frontier{r.nodes[:0], r.loops[:0]} }

// step moves every node over one component, into next, which is empty.
func (f frontier) step(name string, next frontier) frontier {
	for _, n := range f.nodes {
		if n.loops {
			next = next.with(n)
		}
		if c := n.names[name]; c != nil {
			next = next.with(c)
		}
		for i := range n.wild {
			if n.wild[i].segment.Match(name) {
				next = next.with(n.wild[i].to)
			}
		}
	}
	return next
}

// with adds a node, and what "**" reaches from it without a component.
func (f frontier) with(n *node) frontier {
	for ; n != nil; n = n.deep {
		if n.loops {
			if slices.Contains(f.loops, n) {
				return f
			}
			f.loops = append(f.loops, n)
		}
		f.nodes = append(f.nodes, n)
	}
	return f
}

func (w *walk) see(active []*node, exact *node, depth int) {
	if exact != nil && exact.path != nil {
		w.path = exact.path
		if w.path.Access.grants() > 0 && reopens(w.path.Source.Layer) {
			w.reopen = depth
		}
	}
	for _, n := range active {
		for _, r := range n.globs {
			w.hit(r).see(r, depth)
		}
	}
}

// reopens tells whether a grant of the layer beats a default glob: people's
// own words do, a project file and the points of a ceiling's mounts do not.
func reopens(l LayerKind) bool { return l < LayerProject && l != LayerCeiling }

func (w *walk) hit(r *Rule) *globHit {
	isDefault := r.Source.Layer == LayerDefault
	switch {
	case r.Access == Deny && isDefault:
		return &w.defDeny
	case r.Access == Deny:
		return &w.deny
	case isDefault:
		return &w.defKeep
	}
	return &w.keep
}

func (w *walk) decide() Decision {
	d := Decision{Rule: w.path}
	if w.path != nil {
		d.Access = w.path.Access
	}
	switch {
	case w.deny.rule != nil:
		return Decision{Access: Deny, Rule: w.deny.rule, Below: w.path}
	case w.defDeny.holds(w.reopen):
		return Decision{Access: Deny, Rule: w.defDeny.rule, Below: w.path}
	case d.Access == Read && w.keep.rule != nil:
		d.Keep = w.keep.rule
		return d
	case d.Access != Write:
		return d
	case w.keep.rule != nil:
		return Decision{Access: Read, Rule: w.keep.rule, Protected: true, Below: w.path}
	case w.defKeep.holds(w.reopen):
		return Decision{Access: Read, Rule: w.defKeep.rule, Protected: true, Below: w.path}
	}
	return d
}
