package graph

import "slices"

// item is one key while a decision is made.
type item struct {
	Key
	change            *Change // nil for one that follows from others
	found, want, last Value
	// target is what the steps want; want may become something else.
	target Value
	on     bool // it will be set
	noted  bool // its conflict is in the decision
	denied bool // it would be set, and no entry comes
	into   Node // the node that has this item in its list ins
	listed bool // the node that is found has it in its list outs
	why    Why
	stays  Why // why it was left in the end
	// aside is the item of the entry that takes over what is found at this one.
	aside *item
	// displaces: what is found gets another name even if it has more of them.
	displaces bool
	// away: another program had given what gets its own name back this one.
	away bool
	// settled: the steps count as taken back for this key.
	settled bool
	copied  *Copy // of a content that comes: it is made from another node's
}

// node is one node while a decision is made.
type node struct {
	n       Node
	kind    Kind
	content Version
	names   []Place
	unmet   int
	root    bool
	count   int     // names that it will have
	delta   int     // entries that it will have more, as a directory
	base    int     // entries that it has, -1 until they are counted
	c       *item   // its content
	ins     []*item // entries that it comes to
	outs    []*item // entries that it leaves
	inside  []*item // entries of the directory that change
	metas   []*item
	queued  bool
	stuck   bool  // a directory of which one entry stays: so do all
	spare   Place // where a gap had it
	apart   bool  // it cannot be reached: what comes back is another node
	parted  bool  // there is such a node
	of      *node // the node that this one is a copy of
}

// draft is a decision while it is made: which keys will be set, and what there
// will be then.
type draft struct {
	p     Present
	mode  Mode
	d     *Decision
	items []*item
	byKey map[Key]*item
	nodes map[Node]*node
	order []*node
	queue []*node
	used  map[Place]bool // names that asides take
	comes map[Node]bool  // the steps want an entry to lead to it that does not
}

// node gives what is known of a node.
func (w *draft) node(n Node) *node {
	if x := w.nodes[n]; x != nil {
		return x
	}
	x := &node{n: n, kind: w.p.Kind(n), content: w.p.Content(n), names: w.p.Names(n), unmet: w.p.Unmet(n), base: -1}
	x.root = x.kind == Dir && x.content != Dead && len(x.names) == 0 && w.p.Reachable(n)
	x.count = len(x.names)
	w.nodes[n] = x
	w.order = append(w.order, x)
	return x
}

func (w *draft) add(it *item) {
	w.items = append(w.items, it)
	w.byKey[it.Key] = it
	if it.Part == Entry {
		d := w.node(it.Node)
		d.inside = append(d.inside, it)
	}
}

// alive reports whether something leads to a node now.
func (w *draft) alive(n *node) bool { return n.content != Dead }

// lives reports whether something will lead to a node.
func (w *draft) lives(n *node) bool { return n.root || n.count > 0 || n.unmet > 0 }

// entries is how many entries a directory will have.
func (w *draft) entries(n *node) int {
	if n.base < 0 {
		n.base = 0
		if w.alive(n) {
			n.base = len(w.p.Residents(n.n))
		}
	}
	return n.base + n.delta
}

// turn says that a key will be set, or not, and has every node looked at that this
// concerns.
func (w *draft) turn(it *item, on bool) {
	if it.on == on {
		return
	}
	it.on = on
	if it.Part == Entry && it.found != it.want {
		by := 1
		if !on {
			by = -1
		}
		w.lead(it, by)
	}
	w.queueOf(it)
}

// lead counts an entry that will lead elsewhere.
func (w *draft) lead(it *item, by int) {
	dir := w.node(it.Node)
	if it.found.N != 0 {
		n := w.node(it.found.N)
		n.count -= by
		dir.delta -= by
		if !it.listed {
			it.listed = true
			n.outs = append(n.outs, it)
		}
	}
	if it.want.N != 0 {
		n := w.node(it.want.N)
		n.count += by
		dir.delta += by
		if it.into != n.n {
			it.into = n.n
			n.ins = append(n.ins, it)
		}
	}
}

func (w *draft) queueOf(it *item) {
	w.push(w.node(it.Node))
	if it.Part == Entry {
		for _, v := range [...]Value{it.found, it.want} {
			if v.N != 0 {
				w.push(w.node(v.N))
			}
		}
	}
}

func (w *draft) push(n *node) {
	if !n.queued {
		n.queued = true
		w.queue = append(w.queue, n)
	}
}

// off leaves a key as it is.
func (w *draft) off(it *item, why Why) {
	if !it.on {
		return
	}
	w.note(it, why, len(w.d.Conflicts) > 0 || why == Gone && w.torn(it.want.N))
	w.turn(it, false)
	it.settled, it.stays = false, why
	if a := it.aside; a != nil { // nothing comes in its place
		it.aside = nil
		w.turn(a, false)
		w.d.Asides = slices.DeleteFunc(w.d.Asides, func(x Aside) bool { return x.To == a.place() })
	}
	if it.Part != Entry {
		return
	}
	for _, v := range [...]Value{it.found, it.want} {
		if n := w.nodes[v.N]; v.N != 0 && n.kind == Dir {
			n.stuck = true
		}
	}
}

func (w *draft) note(it *item, why Why, follows bool) {
	if it.noted {
		return
	}
	it.noted, it.why = true, why
	w.d.Conflicts = append(w.d.Conflicts, Conflict{
		Key: it.Key, Why: why, Found: it.found, Expected: it.last, Wanted: it.target, Step: w.p.Setter(it.Key), Follows: follows,
		Derived: it.change == nil,
	})
}

func (w *draft) lose(it *item, why Why, text string) {
	w.d.Lost = append(w.d.Lost, Loss{it.Key, why, text})
}

func (w *draft) keep(it *item, r Rest) {
	w.d.Kept = append(w.d.Kept, Kept{it.place(), it.found.N, r})
}

// available says whether a version of a node can be made its content.
func (w *draft) available(n *node, v Version) (Why, string) {
	switch n.kind {
	case Dir, Symlink, Special:
		return 0, ""
	case Other:
		if hv, k := w.p.Held(n.n); k == InAnchor && hv == v {
			return 0, ""
		}
		return NotMade, ""
	}
	switch k, text := w.p.Keeping(v); {
	case k == Empty, k == InObject, k == InAnchor && !w.alive(n):
		return 0, ""
	default:
		return NotKept, text
	}
}

// torn reports whether the store has lost the content that a node was to have, or the node
// is one that is never made: that is a loss already, and what is without it follows from it.
func (w *draft) torn(of Node) bool {
	n := w.node(of)
	if n.c == nil || n.c.want.N == Dead || n.kind != File && n.kind != Other {
		return false
	}
	if n.kind == Other {
		why, _ := w.available(n, n.c.want.N)
		return why != 0
	}
	k, _ := w.p.Keeping(n.c.want.N)
	return k == Lost
}

// touchable reports whether there is a way to a node while the plan is carried out.
func (w *draft) touchable(n *node) bool {
	if n.root || n.count > 0 || len(n.names) > 0 {
		return true
	}
	_, k := w.p.Held(n.n)
	return k == InAnchor
}

// putAside gives what an entry leads to another name.
func (w *draft) putAside(it *item) {
	if it.aside == nil {
		it.aside = w.addAside(w.node(it.found.N), it.place(), it)
	}
}

// addAside adds an entry beside another that leads to a node.
func (w *draft) addAside(n *node, p Place, from *item) *item {
	q := w.beside(p)
	it := &item{Key: q.Key(), want: Value{N: n.n}}
	w.add(it)
	w.turn(it, true)
	w.d.Asides = append(w.d.Asides, Aside{From: p, To: q, Node: n.n})
	return it
}

// beside finds a free name next to an entry.
func (w *draft) beside(p Place) Place {
	for try := 1; ; try++ {
		q := Place{p.Dir, w.p.Beside(p.Name, try)}
		if !w.used[q] && w.byKey[q.Key()] == nil && w.p.Entry(q) == 0 {
			w.used[q] = true
			return q
		}
	}
}

// coming are the entries that will lead to a node, and do not now.
func (n *node) coming() []*item {
	return filter(n.ins, func(it *item) bool { return it.on && it.want.N == n.n })
}

// leaving are the entries that lead to a node, and will not.
func (n *node) leaving() []*item {
	return filter(n.outs, func(it *item) bool { return it.on && it.want.N != n.n })
}

func filter(list []*item, keep func(*item) bool) []*item {
	var kept []*item
	for _, it := range list {
		if keep(it) {
			kept = append(kept, it)
		}
	}
	return kept
}

// finally is the entry by which a directory will be reached.
func (w *draft) finally(n *node) (Place, bool) {
	if in := n.coming(); len(in) > 0 {
		return in[0].place(), true
	}
	for _, p := range n.names {
		if it := w.byKey[p.Key()]; it == nil || !it.on || it.found == it.want {
			return p, true
		}
	}
	return Place{}, false
}
