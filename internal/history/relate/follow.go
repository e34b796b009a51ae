package relate

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
	*Relations
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

// Follow takes a step over, and gives its transitions.
func (r *Relations) Follow(s *steplog.Step) []graph.Transition {
	for _, at := range s.Begin.Roots {
		r.RootNode(string(at))
	}
	t := &relating{
		Relations: r, step: s, spared: s.Spares(), from: make(map[graph.Place]graph.Node), places: make(map[graph.Node][]graph.Place), said: make(map[graph.Place]bool),
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
		n := r.Nodes[r.Found[Side{s.Number, string(b.Path)}].Node]
		if n != nil && t.ended[n.Number] == nil && b.State.Kind != journal.Absent {
			t.ended[n.Number] = &journal.Post{State: b.State, As: b.As}
		}
	}
	t.entriesLeft()
	for _, n := range t.nodes {
		t.nodeLeft(r.Nodes[n])
	}
	between := s.Between()
	if r.Betweens != nil {
		between = r.Betweens(s)
	}
	for i := range between {
		t.between(&between[i])
	}
	for i := range posts {
		if p, root := t.Place(string(posts[i].Path), false); root == 0 {
			if n := r.Nodes[r.Entries[p]]; n != nil {
				r.Left[Side{s.Number, string(posts[i].Path)}] = foundSide{n.Number, n.Content}
			}
		}
	}
	return t.out
}

// dropLost takes names from a node that are in directories which are nowhere any more: another
// program had removed them, and it with them.
func (t *relating) dropLost(n *Node) {
	if n == nil {
		return
	}
	for _, q := range slices.Clone(n.Names) {
		if t.Relations.lost(q) {
			t.Relations.lead(q, 0)
		}
	}
}

// elsewhere takes the names from what an undo made again that was not dead for the steps: another
// program had removed or renamed it, with all that was in it.
func (t *relating) elsewhere(n *Node, q *journal.Post) {
	if n == nil || !t.step.Undoes() || n.Dead || n.ID == q.State.ID || n.ID == (journal.ID{}) || t.begun[n.Number] != nil || t.ended[n.Number] != nil {
		return
	}
	for _, at := range slices.Clone(n.Names) {
		t.Relations.lead(at, 0)
	}
	if n.State.Kind != journal.Dir {
		return
	}
	for at := range t.Entries {
		if at.Dir == n.Number {
			t.Relations.lead(at, 0)
		}
	}
}

// onlyAt takes other names from what a step found at an entry, where it had one alone: another
// program had renamed it.
func (t *relating) onlyAt(n *Node, p graph.Place, st *journal.State) {
	if n == nil || st.Kind != journal.Dir && st.Links != 1 {
		return
	}
	for _, q := range slices.Clone(n.Names) {
		if q != p && !slices.Contains(t.places[n.Number], q) {
			t.Relations.lead(q, 0)
		}
	}
}

// begin takes over what the step found at a path.
func (t *relating) begin(b *journal.Pre) {
	p, root := t.Place(string(b.Path), b.State.Kind != journal.Absent)
	if root == 0 && p == (graph.Place{}) {
		if b.Within != nil { // the directory is made by the step
			t.inside[string(b.Path)] = b.Within
		}
		return
	}
	var n *Node
	switch {
	case root != 0:
		n = t.Relations.Nodes[root]
	case b.State.Kind != journal.Absent:
		if n = t.Relations.Nodes[t.ByID[b.Was]]; n == nil || b.Was == (journal.ID{}) || n.State.Kind != b.State.Kind {
			n = t.meet(p, b)
		}
	}
	to := graph.Node(0)
	if n != nil {
		to = n.Number
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
	t.Found[Side{t.step.Number, string(b.Path)}] = foundSide{to, v}
}

// hush notes whether a node is only at entries that are left alone.
func (t *relating) hush(n graph.Node, alone bool) {
	if is, known := t.quiet[n]; n != 0 && (!known || is) {
		t.quiet[n] = alone
	}
}

func (t *relating) foundNode(n *Node, b *journal.Pre) graph.Version {
	x := t.begun[n.Number]
	if x == nil {
		x = &begun{state: b.State, version: t.contentOf(n, &b.State, b), anchors: len(n.Anchors)}
		t.begun[n.Number] = x
		t.nodes = append(t.nodes, n.Number)
		t.Bind(n, &b.State)
		n.Content = x.version
	}
	v := t.Versions[x.version]
	v.At = Side{t.step.Number, string(b.Path)}
	switch {
	case b.Object != (journal.Object{}):
		t.keepAs(x.version, b.Object)
		v.State.Size, x.written = b.State.Size, true
	case b.Lost != "":
		v.Lost, x.written = b.Lost, true
	}
	if b.Inode != (journal.Object{}) && !slices.Contains(n.Anchors, b.Inode) { // one may do for all names
		n.Anchors = append(n.Anchors, b.Inode)
	}
	return x.version
}

// end takes over what the step left at a path.
func (t *relating) end(q *journal.Post) {
	p, root := t.Place(string(q.Path), q.State.Kind != journal.Absent)
	switch {
	case root == 0 && p == (graph.Place{}):
		return
	case root != 0:
		t.leftNode(t.Relations.Nodes[root], q)
		return
	}
	if in := t.inside[string(q.Path)]; in != nil {
		t.within[p] = in
	}
	if _, known := t.from[p]; !known {
		t.from[p] = t.Entries[p]
		t.order = append(t.order, p)
	}
	n := t.nodeAt(p, q)
	t.dropLost(n)
	t.elsewhere(n, q)
	t.looseAt(p, n, string(q.Path))
	to := graph.Node(0)
	if n != nil {
		to = n.Number
		t.reborn[to] = t.reborn[to] || t.begun[to] == nil && len(n.Names) == 0
		n.Anchors = slices.DeleteFunc(n.Anchors, func(o journal.Object) bool { return o == q.From })
		t.leftNode(n, q)
	}
	t.alone[p] = t.spared.Left[string(q.Path)]
	t.hush(to, t.alone[p])
	t.said[p] = true
	t.lead(p, to)
}

func (t *relating) leftNode(n *Node, q *journal.Post) {
	n.Timed = n.Timed || q.Timed
	if t.begun[n.Number] == nil && t.ended[n.Number] == nil {
		t.nodes = append(t.nodes, n.Number)
	}
	t.ended[n.Number] = q
}

// nodeAt gives the node that the step left at an entry. What an undo brings back is
// what the step had found that it takes back, whatever inode it has now.
func (t *relating) nodeAt(p graph.Place, q *journal.Post) *Node {
	if q.State.Kind == journal.Absent {
		return nil
	}
	again := func(at Side) *Node {
		n := t.Relations.Nodes[t.Found[at].Node]
		if n == nil || n.State.Kind != q.State.Kind {
			return nil
		}
		return n
	}
	if q.As != nil {
		if n := again(Side{q.As.Step, string(q.As.Path)}); n != nil {
			return n
		}
	}
	if len(q.Origin) > 0 {
		if n := again(Side{t.step.Number, string(q.Origin)}); n != nil && (n.ID == q.State.ID || t.step.Undoes()) {
			return n
		}
	}
	if t.step.Undoes() && q.As == nil && len(t.step.Begin.Of) == 1 && len(q.Origin) == 0 {
		if n := again(Side{t.step.Begin.Of[0], string(q.Path)}); n != nil && (n.Dead || n.ID == q.State.ID || n.State.Kind == journal.Dir) {
			t.onlyAt(n, p, &q.State) // another program had removed a directory: it was made again
			return n                 // or by a version that did not write As
		}
	}
	if n := t.Known(&q.State); n != nil {
		return n
	}
	if n := t.Relations.Nodes[t.Entries[p]]; n != nil && n.ID == (journal.ID{}) && n.State.Kind == q.State.Kind {
		return n
	}
	if n := t.Relations.Nodes[t.loose[p]]; n != nil && q.State.Kind == journal.Dir && steplog.IsGitStore(string(q.Path)) && t.gone(n, p) {
		return n
	}
	return t.NewNode(&q.State)
}

// looseAt remembers a directory of git's objects. Git removes one of loose objects with the last
// of them, and makes it anew with the next; a repository made anew in the place of another has
// others of all kinds. As objects are never taken away, that is the same one, or what an undo
// brings back would have no place.
func (t *relating) looseAt(p graph.Place, n *Node, path string) {
	if n != nil && n.State.Kind == journal.Dir && steplog.IsGitStore(path) {
		t.loose[p] = n.Number
	}
}

// gone reports whether a directory is nowhere but, by what was known, at an entry.
func (t *relating) gone(n *Node, p graph.Place) bool {
	return !slices.ContainsFunc(n.Names, func(at graph.Place) bool { return at != p }) &&
		!slices.ContainsFunc(t.step.Posts(), func(q journal.Post) bool { return q.State.ID == n.ID && q.State.Kind == journal.Dir })
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
			t.write(p.Key(), graph.Value{N: from}, graph.Value{N: t.Entries[p]})
		}
	}
}

func (t *relating) write(k graph.Key, from, to graph.Value) {
	if from == to || t.silent {
		return
	}
	t.Setters[k] = setting{t.step.Number, to}
	t.out = append(t.out, graph.Transition{Key: k, From: from, To: to, Step: t.step.Number})
}
