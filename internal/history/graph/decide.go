package graph

import "slices"

// Decide compares changes with what is there, and says what will be done.
func Decide(changes []Change, p Present, m Mode) *Decision {
	w := &checker{&draft{
		p: p, mode: m, d: &Decision{}, byKey: make(map[Key]*item, len(changes)), nodes: make(map[Node]*node),
		used: make(map[Place]bool), comes: make(map[Node]bool),
	}}
	w.d.work = w.draft
	for i := range changes {
		w.load(&changes[i])
	}
	w.imply(len(w.items))
	for _, it := range w.items {
		w.check(it)
	}
	for _, it := range w.items {
		w.start(it)
	}
	w.renamed()
	(&settler{w.draft}).settle()
	(&separator{w.draft}).separate()
	(&settler{w.draft}).settle()
	(&concluder{w.draft}).conclude()
	return w.d
}

// checker compares keys with what is there, and turns those on that the mode says.
type checker struct{ *draft }

// load makes the item of a change.
func (w *checker) load(c *Change) {
	it := &item{Key: c.Key, change: c, want: c.First, target: c.First, last: c.Last}
	w.add(it)
	n := w.node(c.Node)
	switch c.Part {
	case Entry:
		if w.alive(n) {
			it.found.N = w.p.Entry(c.place())
		}
	case Content:
		it.found.N, n.c = n.content, it
	case Meta:
		s, known := w.p.Meta(c.Node)[c.Name]
		it.found = Value{S: s}
		if !known {
			it.found = Unknown
		}
		n.metas = append(n.metas, it)
	}
}

// imply adds the entries of nodes that were removed after the steps had changed
// them: no step's entry brings them back.
func (w *checker) imply(loaded int) {
	for _, it := range w.items[:loaded] {
		if it.Part == Entry && it.found != it.want {
			w.comes[it.target.N] = true
		}
	}
	for _, it := range w.items[:loaded] {
		if it.Part != Content || it.found.N != Dead || it.last.N == Dead || it.want.N == Dead || w.comes[it.Node] {
			continue
		}
		for _, p := range w.p.LastNames(it.Node) {
			if w.byKey[p.Key()] != nil {
				continue
			}
			v := Value{N: it.Node}
			e := &item{Key: p.Key(), want: v, target: v, last: v}
			w.add(e)
			if w.alive(w.node(p.Dir)) {
				e.found.N = w.p.Entry(p)
			}
		}
	}
}

// check compares one key with what is there: rules 1 to 3.
func (w *checker) check(it *item) {
	if it.Part == Entry && w.alive(w.node(it.Node)) && !w.p.Reachable(it.Node) {
		it.why = NoDirectory
		return
	}
	if it.Weak() || it.Part == Meta && (it.found == Unknown || it.want == Unknown || it.last == Unknown) {
		return
	}
	if it.Part == Meta && !w.alive(w.node(it.Node)) {
		w.checkDeadMeta(it)
		return
	}
	switch {
	case w.gap(it):
		it.why = Gap
	case it.found == it.want:
	case it.found != it.last:
		it.why = Changed
	}
}

// checkDeadMeta: metadata of what is dead is in the journal only. It comes with
// the node, or needs not to.
func (w *checker) checkDeadMeta(it *item) {
	if n := w.node(it.Node); n.c == nil && !it.change.Passing && it.found != it.want {
		it.why = Gone
	}
}

func (w *checker) gap(it *item) bool {
	if it.change == nil {
		return false
	}
	for _, g := range it.change.Gaps {
		if g != it.want && g != it.found {
			return true
		}
	}
	return false
}

// start turns the keys on that will be set, by the mode.
func (w *checker) start(it *item) {
	if it.Part == Meta {
		return // in the end, when it is known which nodes there will be
	}
	if it.Part == Entry && w.rests(it) {
		return
	}
	if it.why == Changed && it.Part == Entry && it.want == it.found {
		it.why = 0
	}
	if it.why != 0 {
		w.note(it, it.why, false)
		if !w.overrides(it) {
			w.queueOf(it)
			return
		}
	}
	if it.Part == Content && w.refuses(it) {
		w.queueOf(it)
		return
	}
	it.settled = it.found == it.last || it.why != 0
	w.turn(it, true)
	if it.displaces {
		w.putAside(it)
	}
}

// renamed takes the name away that another program has given a file which gets its own back:
// with both, what is written by one would change the other.
func (w *checker) renamed() {
	if w.mode != Force && w.mode != KeepBoth {
		return
	}
	for _, it := range w.items[:len(w.items):len(w.items)] {
		if it.Part != Entry || !it.on || it.found == it.want || it.want.N == 0 {
			continue
		}
		n := w.node(it.want.N)
		if n.kind == Dir || n.unmet > 0 || len(n.names) != 1 || !w.strayed(n) {
			continue
		}
		p := n.names[0]
		if w.byKey[p.Key()] != nil || slices.Contains(w.p.LastNames(n.n), p) || w.p.Rest(p) != Free {
			continue
		}
		v := Value{N: n.n}
		away := &item{Key: p.Key(), found: v, last: v, away: true}
		w.add(away)
		w.turn(away, true)
	}
}

// strayed reports whether a node is not where the steps left it. One that is has the name that
// they do not know beside theirs.
func (w *checker) strayed(n *node) bool {
	return slices.ContainsFunc(w.items, func(it *item) bool {
		return it.Part == Entry && it.last.N == n.n && it.found.N != n.n
	})
}

// rests leaves alone an entry that is never changed, or not removed.
func (w *checker) rests(it *item) bool {
	r := w.p.Rest(it.place())
	if r == Free || (r == Pinned || r == Shared) && (it.found.N == 0 || it.want.N != 0) {
		return false
	}
	if r == Shared && it.why != 0 {
		w.note(it, it.why, false)
	}
	if it.found != it.want {
		w.keep(it, r)
	}
	it.why = 0
	w.queueOf(it)
	return true
}

// overrides reports whether the mode sets a key in spite of its conflict.
func (w *checker) overrides(it *item) bool {
	if it.why == NoDirectory {
		return false
	}
	switch w.mode {
	case Force:
		return true
	case KeepBoth:
		return w.bothOverride(it)
	}
	return false
}

func (w *checker) bothOverride(it *item) bool {
	n := w.node(it.Node)
	switch {
	case it.Part == Content && it.want.N == Dead:
		return it.why == Gap && it.found == it.want
	case it.Part == Content:
		n.apart = w.alive(n) && it.found != it.last && it.found != it.want
		return true
	case it.why == Gap && it.found == it.last:
		w.spareGaps(it)
		return true
	case it.want.N == 0:
		return false
	}
	w.spareGaps(it)
	it.displaces = it.found.N != 0 && it.found != it.want && !w.comes[it.found.N]
	return true
}

// spareGaps remembers where another program had put nodes that the steps took away.
func (w *checker) spareGaps(it *item) {
	for _, g := range it.change.gaps() {
		if g.N != 0 && g != it.want {
			w.node(g.N).spare = it.place()
		}
	}
}

func (c *Change) gaps() []Value {
	if c == nil {
		return nil
	}
	return c.Gaps
}

// refuses leaves out a content that cannot be had.
func (w *checker) refuses(it *item) bool {
	if it.want == it.found || it.want.N == Dead {
		return false
	}
	n := w.node(it.Node)
	why, text := w.available(n, it.want.N)
	if why == 0 {
		return false
	}
	w.lose(it, why, text)
	n.apart = false
	return true
}
