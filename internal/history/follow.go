package history

import (
	"cmp"
	"slices"

	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/pathname"
)

// relating is one step on its way into the relations.
type relating struct {
	*relations
	step   *steplog.Step
	spared steplog.Spared       // what is left alone, as it is ignored
	alone  map[graph.Place]bool // entries that are left as they are
	void   map[graph.Place]bool // entries of which what was found does not come back
	quiet  map[graph.Node]bool  // nodes that have only such entries
	silent bool
	reborn map[graph.Node]bool             // nodes that had no name when the step began
	within map[graph.Place]*journal.Within // what was in the files that got names there
	inside map[string]*journal.Within      // the same by path, where the directory of that is not there yet
	order  []graph.Place
	from   map[graph.Place]graph.Node
	places map[graph.Node][]graph.Place // at which the step found a node
	said   map[graph.Place]bool         // it has a Post
	begun  map[graph.Node]*begun
	ended  map[graph.Node]*journal.Post
	nodes  []graph.Node // in the order in which they were met
	out    []graph.Transition
}

// begun is a node as the step found it.
type begun struct {
	state   journal.State
	version graph.Version
	written bool // it may have been: its content was kept, or could not be
	anchors int  // that it had before
}

// follow takes a step over, and gives its transitions.
func (r *relations) follow(s *steplog.Step) []graph.Transition {
	for _, at := range s.Begin.Roots {
		r.rootNode(string(at))
	}
	t := &relating{
		relations: r, step: s, spared: s.Spares(), from: make(map[graph.Place]graph.Node), places: make(map[graph.Node][]graph.Place), said: make(map[graph.Place]bool),
		begun: make(map[graph.Node]*begun), ended: make(map[graph.Node]*journal.Post),
		alone: make(map[graph.Place]bool), void: make(map[graph.Place]bool), quiet: make(map[graph.Node]bool),
		reborn: make(map[graph.Node]bool), within: make(map[graph.Place]*journal.Within), inside: make(map[string]*journal.Within),
	}
	for i := range s.Pres() {
		t.begin(&s.Pres()[i])
	}
	posts := slices.Clone(s.Posts())
	slices.SortStableFunc(posts, func(a, b journal.Post) int { return cmp.Compare(pathname.Depth(a.Path), pathname.Depth(b.Path)) })
	for i := range posts {
		if !posts[i].Planned {
			t.end(&posts[i])
		}
	}
	for i := range s.Beyond {
		b := &s.Beyond[i]
		n := r.nodes[r.found[side{s.Number, string(b.Path)}].node]
		if n != nil && t.ended[n.number] == nil && b.State.Kind != journal.Absent {
			t.ended[n.number] = &journal.Post{State: b.State, As: b.As}
		}
	}
	t.entriesLeft()
	for _, n := range t.nodes {
		t.nodeLeft(r.nodes[n])
	}
	between := s.Between()
	if r.betweens != nil {
		between = r.betweens(s)
	}
	for i := range between {
		t.between(&between[i])
	}
	for i := range posts {
		if p, root := t.place(string(posts[i].Path), false); root == 0 {
			if n := r.nodes[r.entries[p]]; n != nil {
				r.left[side{s.Number, string(posts[i].Path)}] = foundSide{n.number, n.content}
			}
		}
	}
	return t.out
}

// dropLost takes names from a node that are in directories which are nowhere any more: another
// program had removed them, and it with them.
func (t *relating) dropLost(n *node) {
	if n == nil {
		return
	}
	for _, q := range slices.Clone(n.names) {
		if t.relations.lost(q) {
			t.relations.lead(q, 0)
		}
	}
}

// onlyAt takes other names from what a step found at an entry, where it had one alone: another
// program had renamed it.
func (t *relating) onlyAt(n *node, p graph.Place, st *journal.State) {
	if n == nil || st.Kind != journal.Dir && st.Links != 1 {
		return
	}
	for _, q := range slices.Clone(n.names) {
		if q != p && !slices.Contains(t.places[n.number], q) {
			t.relations.lead(q, 0)
		}
	}
}

// begin takes over what the step found at a path.
func (t *relating) begin(b *journal.Pre) {
	p, root := t.place(string(b.Path), b.State.Kind != journal.Absent)
	if root == 0 && p == (graph.Place{}) {
		if b.Within != nil { // the directory is made by the step
			t.inside[string(b.Path)] = b.Within
		}
		return
	}
	var n *node
	switch {
	case root != 0:
		n = t.relations.nodes[root]
	case b.State.Kind != journal.Absent:
		if n = t.relations.nodes[t.byID[b.Was]]; n == nil || b.Was == (journal.ID{}) || n.state.Kind != b.State.Kind {
			n = t.meet(p, &b.State)
		}
	}
	to := graph.Node(0)
	if n != nil {
		to = n.number
	}
	if root == 0 {
		t.looseAt(p, n, string(b.Path))
		if b.Within != nil {
			t.within[p] = b.Within
		}
		t.void[p] = t.void[p] || t.spared.Found[string(b.Path)]
		t.hush(to, t.spared.Found[string(b.Path)])
		t.lead(p, to)
		t.onlyAt(n, p, &b.State)
		if _, known := t.from[p]; !known {
			t.from[p] = to
			t.order = append(t.order, p)
			t.places[to] = append(t.places[to], p)
		}
	}
	var v graph.Version
	if n != nil {
		v = t.foundNode(n, b)
	}
	t.found[side{t.step.Number, string(b.Path)}] = foundSide{to, v}
}

// hush notes whether a node is only at entries that are left alone.
func (t *relating) hush(n graph.Node, alone bool) {
	if is, known := t.quiet[n]; n != 0 && (!known || is) {
		t.quiet[n] = alone
	}
}

func (t *relating) foundNode(n *node, b *journal.Pre) graph.Version {
	x := t.begun[n.number]
	if x == nil {
		x = &begun{state: b.State, version: t.contentOf(n, &b.State, b), anchors: len(n.anchors)}
		t.begun[n.number] = x
		t.nodes = append(t.nodes, n.number)
		t.bind(n, &b.State)
		n.content = x.version
	}
	v := t.versions[x.version]
	v.at = side{t.step.Number, string(b.Path)}
	switch {
	case b.Object != (journal.Object{}):
		t.keepAs(x.version, b.Object)
		v.state.Size, x.written = b.State.Size, true
	case b.Lost != "":
		v.lost, x.written = b.Lost, true
	}
	if b.Inode != (journal.Object{}) {
		n.anchors = append(n.anchors, b.Inode)
	}
	return x.version
}

// end takes over what the step left at a path.
func (t *relating) end(q *journal.Post) {
	p, root := t.place(string(q.Path), q.State.Kind != journal.Absent)
	switch {
	case root == 0 && p == (graph.Place{}):
		return
	case root != 0:
		t.leftNode(t.relations.nodes[root], q)
		return
	}
	if in := t.inside[string(q.Path)]; in != nil {
		t.within[p] = in
	}
	if _, known := t.from[p]; !known {
		t.from[p] = t.entries[p]
		t.order = append(t.order, p)
	}
	n := t.nodeAt(p, q)
	t.dropLost(n)
	t.looseAt(p, n, string(q.Path))
	to := graph.Node(0)
	if n != nil {
		to = n.number
		t.reborn[to] = t.reborn[to] || t.begun[to] == nil && len(n.names) == 0
		n.anchors = slices.DeleteFunc(n.anchors, func(o journal.Object) bool { return o == q.From })
		t.leftNode(n, q)
	}
	t.alone[p] = t.spared.Left[string(q.Path)]
	t.hush(to, t.alone[p])
	t.said[p] = true
	t.lead(p, to)
}

func (t *relating) leftNode(n *node, q *journal.Post) {
	n.timed = n.timed || q.Timed
	if t.begun[n.number] == nil && t.ended[n.number] == nil {
		t.nodes = append(t.nodes, n.number)
	}
	t.ended[n.number] = q
}

// nodeAt gives the node that the step left at an entry. What an undo brings back is
// what the step had found that it takes back, whatever inode it has now.
func (t *relating) nodeAt(p graph.Place, q *journal.Post) *node {
	if q.State.Kind == journal.Absent {
		return nil
	}
	again := func(at side) *node {
		n := t.relations.nodes[t.found[at].node]
		if n == nil || n.state.Kind != q.State.Kind {
			return nil
		}
		return n
	}
	if q.As != nil {
		if n := again(side{q.As.Step, string(q.As.Path)}); n != nil {
			return n
		}
	}
	if len(q.Origin) > 0 {
		if n := again(side{t.step.Number, string(q.Origin)}); n != nil && (n.id == q.State.ID || t.step.Undoes()) {
			return n
		}
	}
	if t.step.Undoes() && q.As == nil && len(t.step.Begin.Of) == 1 && len(q.Origin) == 0 {
		if n := again(side{t.step.Begin.Of[0], string(q.Path)}); n != nil && (n.dead || n.id == q.State.ID || n.state.Kind == journal.Dir) {
			t.onlyAt(n, p, &q.State) // another program had removed a directory: it was made again
			return n                 // or by a version that did not write As
		}
	}
	if n := t.known(&q.State); n != nil {
		return n
	}
	if n := t.relations.nodes[t.entries[p]]; n != nil && n.id == (journal.ID{}) && n.state.Kind == q.State.Kind {
		return n
	}
	if n := t.relations.nodes[t.loose[p]]; n != nil && q.State.Kind == journal.Dir && steplog.IsGitObject(string(q.Path)) && t.gone(n, p) {
		return n
	}
	return t.newNode(&q.State)
}

// looseAt remembers a directory of git's loose objects. Git removes it with the last of
// them, and makes it anew with the next: as objects are never taken away, that is the same
// one, or what an undo brings back would have no place.
func (t *relating) looseAt(p graph.Place, n *node, path string) {
	if n != nil && n.state.Kind == journal.Dir && steplog.IsGitObject(path) {
		t.loose[p] = n.number
	}
}

// gone reports whether a directory is nowhere but, by what was known, at an entry.
func (t *relating) gone(n *node, p graph.Place) bool {
	return !slices.ContainsFunc(n.names, func(at graph.Place) bool { return at != p }) &&
		!slices.ContainsFunc(t.step.Posts(), func(q journal.Post) bool { return q.State.ID == n.id && q.State.Kind == journal.Dir })
}

// entriesLeft gives the transitions of entries. What was in a directory that is gone
// has no Post.
func (t *relating) entriesLeft() {
	for _, p := range t.order {
		if !t.said[p] {
			t.lead(p, 0)
		}
	}
	for _, p := range t.order {
		from := t.from[p]
		if t.void[p] {
			from = 0
		}
		if !t.alone[p] {
			t.write(p.Key(), graph.Value{N: from}, graph.Value{N: t.entries[p]})
		}
	}
}

func (t *relating) write(k graph.Key, from, to graph.Value) {
	if from == to || t.silent {
		return
	}
	t.setters[k] = setting{t.step.Number, to}
	t.out = append(t.out, graph.Transition{Key: k, From: from, To: to, Step: t.step.Number})
}
