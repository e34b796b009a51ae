package graph

import "slices"

// settler sees to it that what will be there can be there together.
type settler struct{ *draft }

// settle looks at every node until all agree: what will be there can be there.
// Each item is turned off once at most, so this ends.
func (w *settler) settle() {
	for {
		for len(w.queue) > 0 {
			n := w.queue[0]
			w.queue = w.queue[1:]
			n.queued = false
			w.look(n)
		}
		if !w.untie() {
			return
		}
	}
}

// look sees to it that one node can be what it will be.
func (w *settler) look(n *node) {
	if n.stuck {
		w.holdAll(n)
	}
	if n.kind == Dir && !w.lives(n) {
		w.empty(n)
	}
	switch {
	case n.root:
	case n.count > 0:
		w.lookNamed(n)
	case n.unmet > 0:
		w.lookOutside(n)
	case w.alive(n):
		w.lookDying(n)
	case n.c != nil && n.c.on && n.c.want.N != Dead:
		w.lookNameless(n)
	}
}

// empty: nothing comes into a directory that will not be there.
func (w *settler) empty(n *node) {
	for _, it := range n.inside {
		if it.on && it.want.N != 0 && it.found != it.want && !w.alive(n) {
			w.off(it, NoDirectory)
		}
	}
}

// lookNamed: what has a name needs a content, and a way to it.
func (w *settler) lookNamed(n *node) {
	switch {
	case n.of != nil:
	case !w.alive(n):
		w.bring(n)
	case len(n.names) == 0 && !n.apart:
		w.reach(n)
	}
	if n.kind == Dir && n.count > 1 {
		for _, it := range n.coming() {
			w.off(it, Loop)
		}
	}
}

// bring sees to it that a dead node that gets a name has a content.
func (w *settler) bring(n *node) {
	if n.c != nil && n.c.on && n.c.want.N != Dead {
		return
	}
	if v, k := w.p.Held(n.n); k == InAnchor && (n.c == nil || n.c.want.N == Dead && n.c.found.N == Dead) {
		c := n.c
		if c == nil {
			c = &item{Key: Key{Part: Content, Node: n.n}}
			n.c = c
			w.add(c)
		}
		c.want.N = v
		w.turn(c, true)
		return
	}
	if n.kind == Dir && n.c == nil && (w.holds(n) || w.p.Holder(n.n)) {
		w.d.Anew = append(w.d.Anew, n.n)
		n.c = &item{Key: Key{Part: Content, Node: n.n}, want: Value{N: w.p.NewVersion()}}
		w.add(n.c)
		w.turn(n.c, true)
		return
	}
	for _, it := range n.coming() {
		w.off(it, Gone)
	}
}

// holds reports whether something comes into a directory: then it is made anew where another
// program removed it.
func (w *settler) holds(n *node) bool {
	return slices.ContainsFunc(n.inside, func(it *item) bool { return it.on && it.want.N != 0 && it.found != it.want })
}

// reach sees to it that a node that only names outside lead to can get one here.
func (w *settler) reach(n *node) {
	_, k := w.p.Held(n.n)
	if k == InAnchor {
		return
	}
	if n.c != nil && n.c.on && n.c.want.N != Dead {
		k, _ = w.p.Keeping(n.c.want.N)
	}
	if n.kind == File && (k == InObject || k == Empty) {
		n.apart = true
		for _, it := range n.coming() {
			w.lose(it, IdentityLost, "")
		}
		return
	}
	for _, it := range n.coming() {
		w.lose(it, OutsideNames, "")
		w.off(it, OutsideNames)
	}
}

// lookOutside: the content of what only names outside will lead to can be set as
// long as there is a way to it.
func (w *settler) lookOutside(n *node) {
	if c := n.c; c != nil && c.on && c.found != c.want && c.want.N != Dead && !w.touchable(n) {
		w.off(c, OutsideNames)
	}
}

// lookDying: a node dies if the steps made it, and nothing is in it.
func (w *settler) lookDying(n *node) {
	dies := n.c != nil && n.c.on && n.c.want.N == Dead
	switch {
	case n.kind == Dir && w.entries(n) > 0:
		w.keepDirectory(n, dies)
	case dies:
	default:
		w.lastName(n)
	}
}

// keepDirectory leaves a directory where it is, as something will be in it, or
// beside that.
func (w *settler) keepDirectory(n *node, dies bool) {
	for _, it := range n.leaving() {
		switch {
		case it.want.N == 0 && dies:
			w.keep(it, Residents)
			w.turn(it, false)
		case it.want.N == 0, w.mode == Abort, w.mode == Skip:
			w.off(it, InTheWay)
		default:
			w.note(it, InTheWay, it.noted)
			w.putAside(it)
		}
	}
}

// lastName: a node would lose its last name that is to live.
func (w *settler) lastName(n *node) {
	outs := n.leaving()
	for _, it := range outs {
		if it.away { // it does not get its own one back
			w.turn(it, false)
			return
		}
	}
	if w.mode == Force {
		w.kill(n, outs)
		return
	}
	if w.mode == KeepBoth {
		for _, it := range outs {
			if it.want.N != 0 {
				w.note(it, LastName, false)
				w.putAside(it)
				return
			}
		}
	}
	for _, it := range outs {
		w.off(it, LastName)
	}
}

// kill has a node die by force: what it is then goes to the store.
func (w *settler) kill(n *node, outs []*item) {
	for _, it := range outs {
		w.note(it, LastName, false)
	}
	if w.returns(n) {
		return
	}
	if n.c == nil {
		n.c = &item{Key: Key{Part: Content, Node: n.n}, found: Value{N: n.content}}
		w.add(n.c)
	}
	if n.c.change != nil && n.c.want.N != Dead {
		w.note(n.c, Nameless, true)
		n.c.denied = true
	}
	n.c.want.N = Dead
	n.c.on = true
}

// returns lets a node that the steps have changed, and another program renamed, have the name
// again that the steps knew. So it does for one that another step of the request has changed.
func (w *settler) returns(n *node) bool {
	names, awaited := w.p.Awaited(n.n)
	if !awaited && (n.c == nil || n.c.change == nil || n.c.want.N == Dead) {
		return false
	}
	return w.named(n, append(names, w.p.LastNames(n.n)...))
}

// named gives a node the first of some names that is free.
func (w *settler) named(n *node, names []Place) bool {
	for _, p := range names {
		if e := w.byKey[p.Key()]; e != nil && e.away && e.on && e.want.N == 0 {
			w.turn(e, false)
			e.want.N = n.n
			w.turn(e, true)
			return true
		}
		if w.byKey[p.Key()] != nil || !w.alive(w.node(p.Dir)) || !w.p.Reachable(p.Dir) || w.p.Entry(p) != 0 {
			continue
		}
		v := Value{N: n.n}
		it := &item{Key: p.Key(), want: v, target: v, last: v}
		w.add(it)
		w.turn(it, true)
		return true
	}
	return false
}

// lookNameless: a content comes and no entry does. A name that another step of the request
// gives it is as good.
func (w *settler) lookNameless(n *node) {
	if names, _ := w.p.Awaited(n.n); (w.mode == Force || w.mode == KeepBoth) && w.named(n, names) {
		return
	}
	switch {
	case n.spare != Place{} && w.mode == KeepBoth && w.lives(w.node(n.spare.Dir)):
		w.addAside(n, n.spare, nil)
	case w.mode == Force:
		w.note(n.c, Nameless, len(w.d.Conflicts) > 0)
		n.c.want.N, n.c.denied = Dead, true
	default:
		w.off(n.c, Nameless)
	}
}

// holdAll leaves all entries of a directory, as one of them stays.
func (w *settler) holdAll(n *node) {
	for _, it := range append(n.coming(), n.leaving()...) {
		w.off(it, Together)
	}
}

// untie leaves directories that would be in themselves, and reports whether there
// are any.
func (w *settler) untie() bool {
	seen := make(map[Node]int) // the round in which a directory was met first
	round, found := 0, false
	for _, start := range w.order {
		if start.kind != Dir || len(start.coming()) == 0 {
			continue
		}
		round++
		n, met := start, 0
		for met == 0 {
			seen[n.n] = round
			p, ok := w.finally(n)
			if !ok {
				break
			}
			n = w.node(p.Dir)
			met = seen[n.n]
		}
		if met == round {
			found = w.untieAt(n) || found
		}
	}
	return found
}

// untieAt leaves the directories of one circle.
func (w *settler) untieAt(n *node) bool {
	var circle []*item
	for at := n; ; {
		p, _ := w.finally(at)
		if it := w.byKey[p.Key()]; it != nil && it.on {
			circle = append(circle, it)
		}
		if at = w.node(p.Dir); at == n {
			break
		}
	}
	for _, it := range circle {
		w.off(it, Loop)
	}
	return len(circle) > 0
}
