package graph

// concluder decides on metadata, and writes the decision down.
type concluder struct{ *draft }

// setMetas decides on metadata, when it is known which nodes there will be.
func (w *concluder) setMetas() {
	for _, it := range w.items {
		if it.Part == Meta {
			w.setMeta(it, w.node(it.Node))
		}
	}
}

func (w *concluder) setMeta(it *item, n *node) {
	born := it.change.Passing || n.c != nil && n.c.target.N == Dead && n.c.change != nil
	switch {
	case it.want == Unknown, it.last == Unknown, n.apart:
	case it.found == Unknown:
		if w.lives(n) && !it.Weak() {
			w.lose(it, Unread, "")
		}
	case !w.lives(n):
		w.setDeadMeta(it, n)
	case !w.alive(n):
		it.on, it.settled = true, true
	case born && n.count > 0: // it was to go, and does not: what it was before means nothing
	case it.Weak():
		own := n.c == nil || n.c.on || n.c.found == n.c.want // else the time is that of a content that stays
		it.on = w.touchable(n) && own && (it.found == it.last || w.mode == Force || n.c != nil && n.c.on && n.c.want.N != Dead)
		it.settled = it.on
		if !it.on && own && it.found != it.want && w.touchable(n) {
			w.d.Retimed = append(w.d.Retimed, it.Node)
		}
	default:
		w.setStrongMeta(it, n)
	}
}

func (w *concluder) setStrongMeta(it *item, n *node) {
	if it.found != it.want && !w.touchable(n) {
		w.note(it, OutsideNames, false)
		return
	}
	if it.why != 0 {
		w.note(it, it.why, false)
		it.on = w.mode == Force
		it.settled = it.on
		return
	}
	it.on, it.settled = true, it.found == it.last
}

// setDeadMeta: what is dead afterwards has its metadata in the journal only.
func (w *concluder) setDeadMeta(it *item, n *node) {
	switch {
	case n.c == nil && it.change.Passing, n.c != nil && n.c.on && (n.c.settled || it.change.Passing):
		it.on, it.settled = true, true
	case n.c != nil && n.c.found == n.c.want: // it was dead before, as it is to be
	case it.found != it.want && !it.Weak():
		w.note(it, Gone, len(w.d.Conflicts) > 0 || w.torn(it.Node))
	}
}

// conclude writes the decision down.
func (w *concluder) conclude() {
	w.setMetas()
	for _, it := range w.items {
		if !it.on {
			continue
		}
		if it.Part == Content && it.want.N == Dead && w.lives(w.node(it.Node)) {
			it.on, it.settled = false, false // a name is left: rule 4
			w.d.Kept = append(w.d.Kept, Kept{Node: it.Node, Why: InUse})
			continue
		}
		if it.found != it.want {
			w.d.Sets = append(w.d.Sets, Set{Key: it.Key, From: it.found, To: it.want, Derived: it.change == nil || it.want != it.target})
		}
	}
	for i := range w.d.Conflicts {
		c := &w.d.Conflicts[i]
		it := w.byKey[c.Key]
		c.Left = it.denied || !it.on && !(it.Part == Content && w.node(it.Node).parted)
		if c.Stays = c.Why; it.stays != 0 {
			c.Stays = it.stays
		}
		if c.Left && w.mode == Force {
			w.lose(it, c.Stays, "")
		}
	}
	w.d.Refused = w.mode == Abort && len(w.d.Conflicts)+len(w.d.Lost) > 0
}
