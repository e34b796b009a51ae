package graph

import (
	"cmp"
	"slices"
)

// planner orders what a decision does.
type planner struct {
	*draft
	phases [phaseCount][]Op
	gone   map[Node]bool // it is in the store by now
	// leaving is how many entries a node has yet to leave.
	leaving map[Node]int
	placed  map[Node]Place // an entry that it has by now
	now     map[Node]int   // depths of directories
	then    map[Node]int
	fresh   map[Node]bool // its inode will be another
	// aside are the entries that are put aside, asideTo what they become.
	aside, asideTo map[Key]bool
	swaps          map[Key]bool // entries of which what dies and what comes change places
	// swapped are the directories in which a file changes places with an object.
	swapped map[Node]bool
}

// Phases of a plan, in their order.
const (
	early  = iota // contents and metadata of what will have no name that is known
	rename        // what gets another name in the same directory
	detach
	attach
	link
	contents
	metas
	phaseCount
)

// Plan gives the operations that carry a decision out, in their order. Every
// operation finds what it needs when those before it are done. There are none if
// the decision is to do nothing.
func (d *Decision) Plan(p Present) []Op {
	if d.Refused {
		return nil
	}
	w := &planner{
		draft: d.work, gone: make(map[Node]bool), leaving: make(map[Node]int), placed: make(map[Node]Place),
		now: make(map[Node]int), then: make(map[Node]int),
		fresh: make(map[Node]bool), aside: make(map[Key]bool), asideTo: make(map[Key]bool), swapped: make(map[Node]bool),
		swaps: make(map[Key]bool),
	}
	w.p = p
	entries := w.moved()
	w.renames()
	w.detach(entries)
	w.attach(entries)
	w.contents()
	w.metas()
	return slices.Concat(w.phases[:]...)
}

func (w *planner) do(phase int, op Op, its ...*item) {
	for _, it := range its {
		if it != nil && it.on && it.found != it.want {
			op.Sets = append(op.Sets, Set{Key: it.Key, From: it.found, To: it.want, Derived: it.change == nil || it.want != it.target})
		}
	}
	w.phases[phase] = append(w.phases[phase], op)
}

// moved are the entries that will lead elsewhere.
func (w *planner) moved() []*item {
	var is []*item
	for _, it := range w.items {
		if it.Part == Entry && it.on && it.found != it.want {
			is = append(is, it)
		}
	}
	return is
}

// renames are the entries that only get another name beside.
func (w *planner) renames() {
	for _, a := range w.d.Asides {
		from, to := w.byKey[a.From.Key()], w.byKey[a.To.Key()]
		if from == nil || !from.on || from.found.N != a.Node || from.want.N == a.Node || w.aside[from.Key] {
			continue
		}
		if to == nil || !to.on || to.want.N != a.Node {
			continue
		}
		w.aside[from.Key], w.asideTo[to.Key] = true, true
		if n := w.node(a.Node); w.first(n) == (Place{}) {
			w.placed[n.n] = a.To
		}
		op := Op{Verb: PutAside, At: a.From, To: a.To, Node: a.Node, Was: a.Node, Kind: w.node(a.Node).kind}
		w.do(rename, op, to)
	}
}

// stands reports whether a node has an entry by now that it keeps.
func (w *planner) stands(n *node) bool { return w.first(n) != Place{} }

// detach takes away what entries lead to, directories last and the deepest first: what is
// in a directory goes before it does, and who takes a dropped name back finds the others
// of its file where they were.
func (w *planner) detach(entries []*item) {
	var outs []*item
	for _, it := range entries {
		if it.found.N != 0 && !w.aside[it.Key] {
			outs = append(outs, it)
		}
	}
	last := func(it *item) int {
		if w.node(it.found.N).kind == Dir {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(outs, func(a, b *item) int {
		return cmp.Or(cmp.Compare(last(a), last(b)), cmp.Compare(w.depth(b.Node, w.now, nowAt), w.depth(a.Node, w.now, nowAt)))
	})
	for _, it := range outs {
		w.leaving[it.found.N]++
	}
	for _, it := range outs {
		w.leave(it)
	}
}

// leave takes one entry away.
func (w *planner) leave(it *item) {
	n := w.node(it.found.N)
	op := Op{Verb: Take, At: it.place(), Node: n.n, Was: n.n, Kind: n.kind, Keep: Parked, Old: n.content}
	gone := it
	if it.want.N != 0 {
		gone = nil // it is set when something else is there
	}
	_, held := w.p.Held(n.n)
	w.leaving[n.n]--
	if w.exchange(it, n) {
		return
	}
	switch {
	case w.stands(n), w.leaving[n.n] > 0:
		op.Verb, op.Keep, op.Old = Drop, 0, 0
		w.do(detach, op, gone)
		return
	case n.count == 0 && held == InAnchor: // which is the node, whether that lives on or not
		op.Verb, op.Keep, op.Old = Drop, 0, 0
		w.do(detach, op, gone, w.death(n))
		return
	case n.count > 0:
		op.Old = 0
		w.do(detach, op, gone)
	case n.kind == Dir:
		op.Verb, op.Keep = Rmdir, 0
		w.do(detach, op, gone, n.c)
	case n.unmet > 0:
		op.Keep, op.Old = Anchored, w.version(n)
		w.do(detach, op, gone)
	default:
		op.Keep = AsObject
		w.do(detach, op, gone, n.c)
	}
	w.gone[n.n] = true
}

// death is the content of a node that dies; nil where names outside lead to it.
func (w *planner) death(n *node) *item {
	if n.unmet > 0 {
		return nil
	}
	return n.c
}

// version is the content that a node that lives before and after will have.
func (w *planner) version(n *node) Version {
	if n.c != nil && n.c.on && n.c.want.N != Dead {
		return n.c.want.N
	}
	return n.content
}

// exchange reports whether a file that dies and one that comes back in its place
// change places at once, so that there is always one of them.
func (w *planner) exchange(it *item, out *node) bool {
	if it.want.N == 0 || out.kind != File || w.lives(out) || w.leaving[out.n] > 0 {
		return false
	}
	in := w.node(it.want.N)
	if in.kind != File || w.alive(in) || in.of != nil || w.stands(in) {
		return false
	}
	held, as := w.p.Held(in.n)
	k, _ := w.p.Keeping(in.c.want.N)
	if as == InAnchor && held != in.c.want.N || as != InAnchor && k != InObject {
		return false
	}
	w.swaps[it.Key] = true
	w.placed[in.n] = it.place()
	return true
}

// swap is the operation of such an exchange.
func (w *planner) swap(it *item) {
	in, out := w.node(it.want.N), w.node(it.found.N)
	op := Op{Verb: Swap, At: it.place(), Node: in.n, Was: out.n, Kind: File, Keep: AsObject, Version: in.c.want.N, Old: out.content}
	if _, as := w.p.Held(in.n); as == InAnchor {
		op.Keep = Anchored
	}
	w.fresh[in.n] = true
	w.do(attach, op, it, in.c, out.c)
}

// attach puts what comes to its entries, directories before what is in them.
func (w *planner) attach(entries []*item) {
	var ins []*item
	for _, it := range entries {
		if it.want.N != 0 && !w.asideTo[it.Key] {
			ins = append(ins, it)
		}
	}
	slices.SortStableFunc(ins, func(a, b *item) int {
		return cmp.Compare(w.depth(a.Node, w.then, w.finally), w.depth(b.Node, w.then, w.finally))
	})
	for _, it := range ins {
		w.arrive(it)
	}
}

func nowAt(n *node) (Place, bool) {
	if len(n.names) == 0 {
		return Place{}, false
	}
	return n.names[0], true
}

// arrive gives a node one entry.
func (w *planner) arrive(it *item) {
	if w.swaps[it.Key] {
		w.swap(it)
		return
	}
	n := w.node(it.want.N)
	op := Op{At: it.place(), Node: n.n, Kind: n.kind}
	if w.stands(n) {
		op.Verb, op.To = Link, w.first(n)
		w.do(link, op, it)
		return
	}
	w.placed[n.n] = op.At
	if w.alive(n) {
		op.Verb, op.Keep = Put, Parked
		if !w.gone[n.n] {
			op.Keep = Anchored
		}
		w.do(attach, op, it)
		return
	}
	w.make(&op, n)
	w.do(attach, op, it, n.c)
}

// first is an entry that a node has by now, the zero Place for none.
func (w *planner) first(n *node) Place {
	if p, known := w.placed[n.n]; known {
		return p
	}
	var first Place
	for _, p := range n.names {
		if it := w.byKey[p.Key()]; it == nil || !it.on || it.found == it.want {
			first = p
			break
		}
	}
	w.placed[n.n] = first
	return first
}

// make says how a node that is dead comes back.
func (w *planner) make(op *Op, n *node) {
	w.fresh[n.n] = true
	op.Version = n.c.want.N
	if n.c.copied != nil {
		op.Verb, op.Keep, op.Of = Put, Copied, n.c.copied.Of
		return
	}
	k, _ := w.p.Keeping(op.Version)
	held, as := w.p.Held(n.n)
	anchored := as == InAnchor && held == op.Version
	if as == InAnchor && !anchored {
		op.Old = held
	}
	switch {
	case n.kind == Dir:
		op.Verb = Mkdir
	case anchored:
		op.Verb, op.Keep = Put, Anchored
	case n.kind == Symlink:
		op.Verb = MakeLink
	case n.kind == Special:
		op.Verb = Mknod
	case k == Empty:
		op.Verb = MakeEmpty
	default:
		op.Verb, op.Keep = Put, AsObject
	}
}

// contents sets the contents of what lives before and after.
func (w *planner) contents() {
	for _, it := range w.items {
		n := w.nodes[it.Node]
		if it.Part == Content && it.on && it.found != it.want && it.found.N != Dead && it.want.N != Dead {
			w.rewrite(it, n)
		}
	}
}

func (w *planner) rewrite(it *item, n *node) {
	op := Op{Verb: Rewrite, Node: n.n, Was: n.n, Kind: n.kind, Version: it.want.N, Old: it.found.N}
	phase := contents
	_, held := w.p.Held(n.n)
	k, _ := w.p.Keeping(it.want.N)
	if p := w.first(n); p != (Place{}) {
		op.At = p
		if n.count == 1 && n.unmet == 0 && held != InAnchor && k == InObject {
			op.Verb = Swap
			w.swapped[w.node(p.Dir).n] = true
		}
	} else if len(n.names) > 0 {
		op.At, phase = n.names[0], early
	}
	w.fresh[n.n] = true
	w.do(phase, op, it)
}

// metas sets the metadata of every node of which a part changes or the inode is
// another, the deepest first: a directory may forbid what is below.
func (w *planner) metas() {
	ops := make([]Op, 0, len(w.order))
	for _, n := range w.order {
		if op, ok := w.meta(n); ok {
			ops = append(ops, op)
		}
	}
	slices.SortStableFunc(ops, func(a, b Op) int { return cmp.Compare(w.below(b), w.below(a)) })
	for _, op := range ops {
		phase := metas
		if n := w.node(op.Node); op.At != (Place{}) && n.count == 0 && !n.root {
			phase = early
		}
		w.phases[phase] = append(w.phases[phase], op)
	}
}

func (w *planner) meta(n *node) (Op, bool) {
	if !w.lives(n) {
		return Op{}, false
	}
	op := Op{Verb: SetMeta, Node: n.n, Was: n.n, Kind: n.kind, Meta: w.metaOf(n)}
	any := w.fresh[n.n] || w.contentChangesIn(n)
	for _, it := range n.metas {
		if it.on && it.found != it.want {
			any = true
			op.Sets = append(op.Sets, Set{Key: it.Key, From: it.found, To: it.want})
		}
	}
	if p, ok := w.finally(n); ok {
		op.At = p
	} else if len(n.names) > 0 {
		op.At = n.names[0]
	}
	return op, any
}

// contentChangesIn reports whether a file in a directory changes places with an
// object while no entry of the directory changes: its time stays, then.
func (w *planner) contentChangesIn(n *node) bool {
	return w.swapped[n.n] && !slices.ContainsFunc(n.inside, func(it *item) bool { return it.on && it.found != it.want })
}

func (w *planner) metaOf(n *node) map[string]string {
	of := n
	if n.of != nil {
		of = n.of
	}
	all := make(map[string]string)
	for k, v := range w.p.Meta(of.n) {
		all[k] = v
	}
	for _, it := range of.metas {
		if it.on || n.of != nil && it.why == 0 && it.want != Unknown {
			all[it.Name] = it.want.S
		}
	}
	return all
}

func (w *planner) below(op Op) int {
	if op.At == (Place{}) {
		return 0
	}
	return w.depth(op.At.Dir, w.then, w.finally) + 1
}

// depth is how far a directory is from its root.
func (w *planner) depth(d Node, known map[Node]int, at func(*node) (Place, bool)) int {
	var way []Node
	base := 0
	for n := w.node(d); ; {
		if have, ok := known[n.n]; ok {
			base = have
			break
		}
		known[n.n] = 0 // against circles
		p, ok := at(n)
		way = append(way, n.n)
		if !ok {
			base = -1
			break
		}
		n = w.node(p.Dir)
	}
	for i := len(way) - 1; i >= 0; i-- {
		base++
		known[way[i]] = base
	}
	return known[d]
}
