package relate

import (
	"cmp"
	"slices"

	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
)

// nodeLeft gives the transitions of a node's content and metadata.
func (t *relating) nodeLeft(n *Node) {
	b, q := t.begun[n.Number], t.ended[n.Number]
	content := graph.Key{Part: graph.Content, Node: n.Number}
	t.silent = t.quiet[n.Number]
	switch {
	case b != nil && n.Root == "" && len(n.Names) == 0 && (t.unmet(n, b) <= 0 || len(n.Anchors) == 0):
		n.Dead, n.Last, n.Apart = true, t.places[n.Number], t.unmet(n, b) > 0
		n.Content = graph.Dead
		if q != nil && !t.wrote(b, q) { // its times may have been set before the last name went
			t.Versions[b.version].State = q.State
		}
		t.write(content, graph.Value{N: b.version}, graph.Value{N: graph.Dead})
	case q == nil: // it lives by other names, and losing some has changed its time of change
		t.Versions[n.Content].State.Ctime = UnknownCtime
	case b == nil:
		t.bornNode(n, q, content)
	default:
		t.changedNode(n, b, q, content)
	}
}

// unmet is how many names of a node no step has met, as far as that is known.
func (t *relating) unmet(n *Node, b *begun) int {
	if n.State.Kind == journal.Dir {
		return 0
	}
	return int(b.state.Links) - len(t.places[n.Number]) - b.anchors
}

// bornNode gives the transition of a node that the step did not find in the tree: it
// made it, or gave a name to what had none there.
func (t *relating) bornNode(n *Node, q *journal.Post, content graph.Key) {
	v := n.Content
	var in *journal.Within
	for _, p := range n.Names {
		in = cmp.Or(in, t.within[p])
	}
	switch {
	case in != nil: // it lives by names outside
		from := t.contentOf(n, &in.State, nil)
		if in.Object != (journal.Object{}) {
			t.keepAs(from, in.Object)
		}
		if v = from; q.As != nil && q.As.Content {
			v = t.versionLeft(n, q)
		}
		t.write(content, graph.Value{N: from}, graph.Value{N: v})
		t.metas(n, &in.State, &q.State)
	case v != graph.Dead && t.reborn[n.Number] && t.step.Undoes() && (q.As == nil || !q.As.Content): // it has lived by names outside
		if v = t.contentOf(n, &q.State, nil); v == n.Content && sumsDiffer(&t.Versions[v].State, &q.State) {
			v = t.NewVersion(n.Number, &q.State)
		}
		t.write(content, graph.Value{N: graph.Dead}, graph.Value{N: v})
	case v == graph.Dead, t.reborn[n.Number]:
		if v = t.versionAgain(n); v == graph.Dead {
			v = t.versionLeft(n, q)
		}
		t.write(content, graph.Value{N: graph.Dead}, graph.Value{N: v})
	}
	t.settle(n, q, v)
}

// versionAgain gives what a directory of loose objects was, which is the same whenever it is
// there; graph.Dead for all others.
func (t *relating) versionAgain(n *Node) graph.Version {
	for _, p := range n.Names {
		if t.loose[p] == n.Number && len(n.Versions) > 0 {
			return n.Versions[0]
		}
	}
	return graph.Dead
}

// versionLeft gives the version that a step left in a node, if it changed that.
func (t *relating) versionLeft(n *Node, q *journal.Post) graph.Version {
	if q.As != nil && q.As.Content {
		if f := t.Found[Side{q.As.Step, string(q.As.Path)}]; f.Version != graph.Dead {
			return f.Version
		}
	}
	if t.step.Undoes() && q.As == nil && len(t.step.Begin.Of) == 1 {
		if f := t.Found[Side{t.step.Begin.Of[0], string(q.Path)}]; f.Version != graph.Dead && f.Node == n.Number {
			if v := t.Versions[f.Version]; v.State.Size == q.State.Size && v.State.Mtime == q.State.Mtime {
				return f.Version
			}
		}
	}
	return t.NewVersion(n.Number, &q.State)
}

func (t *relating) changedNode(n *Node, b *begun, q *journal.Post, content graph.Key) {
	t.silent = t.silent || t.Versions[b.version].Lost == journal.Ignored
	v := b.version
	switch {
	case q.State.Kind == journal.File && t.wrote(b, q):
		v = t.versionLeft(n, q)
		t.write(content, graph.Value{N: b.version}, graph.Value{N: v})
	case sumsDiffer(&t.Versions[v].State, &q.State): // another program had changed it, and put the times back
		v = t.NewVersion(n.Number, &q.State)
	}
	t.metas(n, &b.state, &q.State)
	t.settle(n, q, v)
}

func sumsDiffer(a, b *journal.State) bool {
	return len(a.Sum) > 0 && len(b.Sum) == len(a.Sum) && a.Sum != b.Sum
}

// metas gives the transitions of a node's metadata.
func (t *relating) metas(n *Node, was, is *journal.State) {
	before, after := MetaOf(was), MetaOf(is)
	for _, name := range componentsOf(before, after) {
		from, to := metaValue(was, before, name), metaValue(is, after, name)
		t.write(graph.Key{Part: graph.Meta, Node: n.Number, Name: name}, from, to)
	}
}

// UnknownCtime is the time of change of a version of which the file has lost names since it was
// looked at.
const UnknownCtime = -1

// wrote reports whether a step may have changed the content of a file. What was
// never opened for writing has neither been kept nor was it empty.
func (t *relating) wrote(b *begun, q *journal.Post) bool {
	if t.step.Undoes() && q.As != nil {
		return q.As.Content
	}
	st := &b.state
	if q.Unwritten {
		return false
	}
	if !b.written {
		return st.Size == 0 && q.State.Size > 0
	}
	if st.Size == 0 && q.State.Size == 0 {
		return false
	}
	return journal.RewrittenSince(&q.State, st)
}

// settle notes what a node is when the step is over.
func (t *relating) settle(n *Node, q *journal.Post, v graph.Version) {
	st := q.State
	if st.Unread && !n.State.Unread && t.step.Undoes() { // it was set, and then hidden
		st.Xattrs, st.Unread = n.State.Xattrs, false
	}
	t.Bind(n, &st)
	n.Content, n.Dead = v, false
	t.Versions[v].State = q.State
	if q.Uncertain && q.State.Kind == journal.File {
		t.dispute(graph.Key{Part: graph.Content, Node: n.Number}, "the run was killed, and this may have been changed by another program afterwards")
	}
}

// between adds what another program wrote to a file of the step, and the step then
// destroyed: a gap between two transitions of the content.
func (t *relating) between(b *journal.Pre) {
	p, root := t.Place(string(b.Path), true)
	if root != 0 || p == (graph.Place{}) {
		return
	}
	n := t.Relations.Nodes[t.ByID[b.State.ID]]
	if n == nil || n.State.Kind != journal.File {
		n = t.NewNode(&b.State)
		n.Dead, n.Last = true, []graph.Place{p}
	}
	content := graph.Key{Part: graph.Content, Node: n.Number}
	own, other := t.NewVersion(n.Number, &journal.State{}), t.NewVersion(n.Number, &b.State)
	if b.Object != (journal.Object{}) {
		t.keepAs(other, b.Object)
	}
	t.through(content, graph.Value{N: n.Content}, graph.Value{N: own}, graph.Value{N: other})
	if len(n.Names) == 0 {
		at := graph.Value{N: n.Number}
		t.through(p.Key(), graph.Value{N: t.Entries[p]}, at, at)
	}
}

// through lets a key have another value for a while, which is found as then.
func (t *relating) through(k graph.Key, now, to, then graph.Value) {
	for i := range t.out {
		if x := &t.out[i]; x.Key == k {
			second := graph.Transition{Key: k, From: then, To: x.To, Step: x.Step}
			x.To = to
			t.out = slices.Insert(t.out, i+1, second)
			return
		}
	}
	t.out = append(t.out, graph.Transition{Key: k, From: now, To: to, Step: t.step.Number},
		graph.Transition{Key: k, From: then, To: now, Step: t.step.Number})
}

// dispute makes what a step left at a key something that is found nowhere.
func (t *relating) dispute(k graph.Key, why string) {
	t.Disputed[k] = why
	for i := range t.out {
		if x := &t.out[i]; x.Key == k {
			x.To = t.Nothing(k)
			return
		}
	}
}
