package graph

import "slices"

// separator makes two nodes of one.
type separator struct{ *draft }

// separate makes new nodes where two contents are to be there: what is found
// stays the node that it is, with names that others may have given it.
func (w *separator) separate() {
	for _, n := range slices.Clone(w.order) {
		if n.apart {
			w.split(n)
		}
	}
	if w.mode != KeepBoth {
		return
	}
	for _, it := range slices.Clone(w.items) {
		// What is dead for the steps, and lives by another program, stays as it is.
		if it.Part == Content && it.why == Gap && (it.on || it.want.N == Dead) {
			w.copyGaps(it)
		}
	}
}

// split gives the names of a node to a copy of what it was.
func (w *separator) split(n *node) {
	places := w.places(n)
	v, aside := w.source(n)
	if n.c != nil {
		n.c.settled = false
		w.turn(n.c, false)
	}
	if len(places) == 0 {
		return
	}
	n.parted = true
	c := w.copyOf(n, v, places[0])
	for _, p := range places {
		w.redirect(p, n, c)
		if aside {
			w.addAside(n, p, nil)
		}
	}
}

// source is the version that a split node comes back with, and whether the node
// that is found is to have other names.
func (w *separator) source(n *node) (Version, bool) {
	if n.c != nil && n.c.on && n.c.want.N != Dead {
		return n.c.want.N, len(n.names) > 0
	}
	v, _ := w.p.Held(n.n)
	return v, false
}

// places are the known names that a node will have, but those beside others, and
// those that stay whatever happens.
func (w *separator) places(n *node) []Place {
	var ps []Place
	for _, it := range n.coming() {
		if !w.used[it.place()] {
			ps = append(ps, it.place())
		}
	}
	for _, p := range n.names {
		it := w.byKey[p.Key()]
		if it == nil && w.p.Rest(p) == Free || it != nil && it.on && it.found == it.want {
			ps = append(ps, p)
		}
	}
	return ps
}

// copyOf adds a node with a version of another.
func (w *separator) copyOf(n *node, v Version, at Place) *node {
	c := &node{n: w.p.NewNode(), kind: n.kind, base: 0, of: n}
	w.nodes[c.n] = c
	w.order = append(w.order, c)
	c.c = &item{Key: Key{Part: Content, Node: c.n}, want: Value{N: w.p.NewVersion()}, on: true}
	c.c.copied = &Copy{Node: c.n, Version: c.c.want.N, Of: v, From: n.n, At: at}
	w.add(c.c)
	w.d.Copies = append(w.d.Copies, *c.c.copied)
	return c
}

// redirect lets an entry lead to another node than it would.
func (w *separator) redirect(p Place, from, to *node) {
	it := w.byKey[p.Key()]
	if it == nil {
		it = &item{Key: p.Key(), found: Value{N: from.n}, want: Value{N: from.n}, on: true}
		w.add(it)
	}
	w.turn(it, false)
	it.want.N = to.n
	w.turn(it, true)
}

// copyGaps makes files beside of what other programs wrote between the steps.
func (w *separator) copyGaps(it *item) {
	n := w.node(it.Node)
	for _, g := range it.change.gaps() {
		if g == it.want || g == it.found || g.N == Dead {
			continue
		}
		if !it.on && w.lives(n) && w.p.Holds(n.n, g.N) {
			continue // it stays
		}
		at, ok := w.nearby(it)
		if !ok || w.copied(at, g.N) {
			continue
		}
		if why, text := w.available(n, g.N); why != 0 {
			w.lose(it, why, text)
			continue
		}
		w.addAside(w.copyOf(n, g.N, at), at, nil)
	}
}

// copied reports whether an undo before this one has put a version beside a name already, and
// it is still there.
func (w *separator) copied(at Place, v Version) bool {
	for try := range maxBeside {
		p := Place{Dir: at.Dir, Name: w.p.Beside(at.Name, try+1)}
		n := w.p.Entry(p)
		if n == 0 {
			return false
		}
		if w.byKey[p.Key()] == nil && w.p.Holds(n, v) {
			return true
		}
	}
	return false
}

// maxBeside bounds how many names beside another are looked at.
const maxBeside = 16

// nearby is an entry that a node has, or had, in a directory that will be there. Where its
// own will not, it is one of that name in the nearest directory around.
func (w *separator) nearby(it *item) (Place, bool) {
	ps := append(w.places(w.node(it.Node)), it.change.Names...)
	for range maxAround {
		for _, p := range ps {
			if d := w.node(p.Dir); w.lives(d) && w.alive(d) && w.p.Reachable(p.Dir) {
				return p, true
			}
		}
		for i, p := range ps {
			if up := w.p.LastNames(p.Dir); len(up) > 0 {
				ps[i].Dir = up[0].Dir
			}
		}
	}
	return Place{}, false
}

// maxAround bounds how many directories are gone up for a place.
const maxAround = 4096
