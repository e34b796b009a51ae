package policy

// Stand is how far the rules have followed a path: what they say of it, and
// what they could say of names below it. It is a value; stepping makes a new one.
type Stand struct {
	walk   walk
	exact  *node
	active frontier
	depth  int
}

// Stand follows an absolute clean path. ok is false for any other, and where
// the rules did not come from Decide.
func (e *Effective) Stand(path string) (s Stand, ok bool) {
	if e.match == nil || !isCleanAbs(path) {
		return Stand{}, false
	}
	s = Stand{walk: walk{reopen: -1}, exact: &e.match.root, active: frontier{}.with(&e.match.root)}
	s.walk.see(s.active.nodes, s.exact, 0)
	for name := range components(path) {
		s = s.Step(name)
	}
	return s, true
}

// Step goes on to a name in the directory.
func (s Stand) Step(name string) Stand {
	s.depth++
	if s.exact != nil {
		s.exact = s.exact.names[name]
	}
	s.active = s.active.step(name, frontier{nodes: make([]*node, 0, len(s.active.nodes))})
	s.walk.see(s.active.nodes, s.exact, s.depth)
	return s
}

// Decision is what Lookup says of the path.
func (s Stand) Decision() Decision { return s.walk.decide() }

// Open says whether a rule may be met at a name below.
func (s Stand) Open() bool {
	for _, n := range s.active.nodes {
		if n.leads() {
			return true
		}
	}
	return s.exact.leads()
}

// SameBelow says whether every name below one path is decided as the same name
// below the other. It may say false of two that are the same, never true of two
// that are not.
func (s Stand) SameBelow(t Stand) bool {
	if s.exact != t.exact && (s.exact.leads() || t.exact.leads()) {
		return false
	}
	return s.walk.sort() == t.walk.sort() && s.active.reaches(t.active) && t.active.reaches(s.active)
}

// leads says whether rules end below a node.
func (n *node) leads() bool {
	return n != nil && (len(n.names) > 0 || len(n.wild) > 0 || n.deep != nil || n.loops)
}

// reaches says whether all nodes from which rules can still be met are in other.
func (f frontier) reaches(other frontier) bool {
next:
	for _, n := range f.nodes {
		if !n.leads() {
			continue
		}
		for _, m := range other.nodes {
			if n == m {
				continue next
			}
		}
		return false
	}
	return true
}

// sort is all of a walk that counts for what comes below: which kinds of rule
// have been met and hold, and what the deepest path grants.
func (w *walk) sort() (s struct {
	access                       Access
	deny, defDeny, keep, defKeep bool
}) {
	if w.path != nil {
		s.access = w.path.Access
	}
	s.deny, s.keep = w.deny.rule != nil, w.keep.rule != nil
	s.defDeny, s.defKeep = w.defDeny.holds(w.reopen), w.defKeep.holds(w.reopen)
	return s
}
