package history

import (
	"os"
	"slices"
	"strings"

	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/pathname"
)

// relations are what journals say, as a graph: which node each entry leads to, which
// content and metadata each node has. They are made of the steps in their order, so
// they always are what the last of those steps left.
type relations struct {
	nodes    []*node    // by number; 0 is none
	versions []*version // by number; 0 is graph.Dead
	byID     map[journal.ID]graph.Node
	entries  map[graph.Place]graph.Node // 0 where it is said that there is nothing
	roots    map[string]graph.Node
	loose    map[graph.Place]graph.Node // the last directory of loose objects there
	found    map[side]foundSide         // what steps found, by the path that it had then
	left     map[side]foundSide         // and what they left
	holders  map[journal.Object]graph.Version
	setters  map[graph.Key]setting
	xattrs   map[string]bool // names of all attributes that some node has or had
	disputed map[graph.Key]string
	files    map[string]bool                                // roots that are files
	first    map[graph.Version]graph.Version                // that has the same content
	others   map[graph.Version][]graph.Version              // that have the same content as the first
	kept     func(p *journal.Pre, left *journal.State) bool // see Store.keptAsLeft
	betweens func(*steplog.Step) []journal.Pre              // see Log.betweens; nil: those of the step itself
}

// side names something that a step found.
type side struct {
	step uint64
	path string
}

type foundSide struct {
	node    graph.Node
	version graph.Version
}

// setting is what a step left at a key.
type setting struct {
	step uint64
	to   graph.Value
}

// node is a file system object, whatever inodes it had.
type node struct {
	number  graph.Node
	id      journal.ID // of its inode; zero where no record has it
	root    string     // the path of a root, "" for others
	names   []graph.Place
	last    []graph.Place // the names that it lost when it died
	dead    bool
	apart   bool // it may live outside, and the store has no link of it
	timed   bool // a step has set the times of this directory by themselves
	state   journal.State
	content graph.Version
	anchors []journal.Object // links of the inode in the store
	// versions are all of its contents, oldest first.
	versions []graph.Version
}

// version is one content of a node.
type version struct {
	node   graph.Node
	state  journal.State  // size, times and sum that the file had with it
	object journal.Object // zero where the store has no copy
	lost   string         // why there is none, though it was to be kept
	at     side           // where a step found it
}

func newRelations(kept func(*journal.Pre, *journal.State) bool) *relations {
	return &relations{
		nodes: make([]*node, 1), versions: make([]*version, 1),
		byID: make(map[journal.ID]graph.Node), entries: make(map[graph.Place]graph.Node), roots: make(map[string]graph.Node), loose: make(map[graph.Place]graph.Node),
		found: make(map[side]foundSide), left: make(map[side]foundSide), holders: make(map[journal.Object]graph.Version), setters: make(map[graph.Key]setting),
		xattrs: make(map[string]bool), disputed: make(map[graph.Key]string), files: make(map[string]bool), kept: kept,
	}
}

func (r *relations) newNode(st *journal.State) *node {
	n := &node{number: graph.Node(len(r.nodes))}
	r.nodes = append(r.nodes, n)
	r.bind(n, st)
	return n
}

// bind notes what a node is now.
func (r *relations) bind(n *node, st *journal.State) {
	if st.ID != n.id {
		if r.byID[n.id] == n.number {
			delete(r.byID, n.id)
		}
		if st.ID != (journal.ID{}) {
			r.byID[st.ID] = n.number
		}
	}
	was := n.state
	n.state, n.id = *st, st.ID
	if st.Unread && !was.Unread && was.Kind == st.Kind && was.ID == st.ID { // known from before the mode forbade it
		n.state.Xattrs, n.state.Unread = was.Xattrs, false
	}
	for k := range st.Xattrs {
		r.xattrs[k] = true
	}
}

func (r *relations) newVersion(n graph.Node, st *journal.State) graph.Version {
	v := graph.Version(len(r.versions))
	r.versions = append(r.versions, &version{node: n, state: *st})
	if n != 0 {
		r.nodes[n].versions = append(r.nodes[n].versions, v)
	}
	return v
}

// rootNode is the node of a root. One that is a file is an entry of the directory that
// it is in, of which no other is ever looked at.
func (r *relations) rootNode(path string) graph.Node {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		r.files[path] = true
		path = pathname.Parent(path)
	}
	if n := r.roots[path]; n != 0 {
		return n
	}
	n := r.newNode(&journal.State{Kind: journal.Dir})
	n.root, n.content = path, r.newVersion(n.number, &n.state)
	r.roots[path] = n.number
	return n.number
}

// place gives the entry of a path, and of a root its node. there says that something
// is at the path, so that the directories on the way are there too. Without it there
// is no entry where another record says that one of them is none.
func (r *relations) place(path string, there bool) (p graph.Place, root graph.Node) {
	if n := r.roots[path]; n != 0 {
		return graph.Place{}, n
	}
	top := ""
	for at := range r.roots {
		if pathname.Within(path, at) && len(at) > len(top) {
			top = at
		}
	}
	if top == "" {
		return graph.Place{}, 0
	}
	dir, rest := r.roots[top], strings.TrimPrefix(path[len(top):], "/")
	for {
		name, below, more := strings.Cut(rest, "/")
		if !more {
			return graph.Place{Dir: dir, Name: name}, 0
		}
		if dir = r.onTheWay(graph.Place{Dir: dir, Name: name}, there); dir == 0 {
			return graph.Place{}, 0
		}
		rest = below
	}
}

// onTheWay gives the directory at an entry, of which a step need not have said
// anything yet; 0 for none.
func (r *relations) onTheWay(p graph.Place, there bool) graph.Node {
	at, said := r.entries[p]
	if at != 0 && r.nodes[at].state.Kind == journal.Dir {
		return at
	}
	if said && !there {
		return 0
	}
	n := r.newNode(&journal.State{Kind: journal.Dir})
	n.content = r.newVersion(n.number, &n.state)
	r.lead(p, n.number)
	return n.number
}

// lead lets an entry lead to a node, 0 for none.
func (r *relations) lead(p graph.Place, to graph.Node) {
	was, said := r.entries[p]
	if said && was == to {
		return
	}
	if was != 0 {
		n := r.nodes[was]
		if n.names = slices.DeleteFunc(n.names, func(q graph.Place) bool { return q == p }); len(n.names) == 0 {
			n.last = []graph.Place{p}
		}
	}
	r.entries[p] = to
	if to == 0 {
		return
	}
	n := r.nodes[to]
	n.names = append(n.names, p)
	n.dead, n.last = false, nil
}

// path gives what an entry is called by the last record, "" where that is unknown.
// Of what is gone it is the last name.
func (r *relations) path(p graph.Place) string {
	parts := []string{p.Name}
	for dir := r.nodes[p.Dir]; len(parts) < pathDepth; {
		if dir.root != "" {
			slices.Reverse(parts)
			return pathname.Join(dir.root, strings.Join(parts, "/"))
		}
		names := dir.names
		if len(names) == 0 {
			names = dir.last
		}
		if len(names) == 0 {
			return ""
		}
		parts, dir = append(parts, names[0].Name), r.nodes[names[0].Dir]
	}
	return ""
}

// lost reports whether the directory of an entry, or one around that, has no name any more.
func (r *relations) lost(p graph.Place) bool {
	for range pathDepth {
		dir := r.nodes[p.Dir]
		if dir.root != "" {
			return false
		}
		if len(dir.names) == 0 {
			return true
		}
		p = dir.names[0]
	}
	return false
}

// pathDepth bounds how many directories a path goes through.
const pathDepth = 1 << 16

// known gives the node that has an inode, by what was seen at an entry: a number
// that the file system has given again is another node.
func (r *relations) known(st *journal.State) *node {
	n := r.nodes[r.byID[st.ID]]
	if n == nil || n.state.Kind != st.Kind || n.dead && (st.ID.Birth == 0 || n.apart) {
		return nil
	}
	return n
}

// meet gives the node that a step found at an entry.
func (r *relations) meet(p graph.Place, st *journal.State) *node {
	n := r.known(st)
	if n == nil {
		if at := r.nodes[r.entries[p]]; at != nil && at.id == (journal.ID{}) && at.state.Kind == st.Kind {
			n = at // a directory that was only on the way until now
		}
	}
	if n == nil {
		n = r.newNode(st)
	}
	return n
}

// contentOf gives the version of a node that is found with a state.
func (r *relations) contentOf(n *node, st *journal.State, b *journal.Pre) graph.Version {
	if n.content != graph.Dead {
		if st.Kind != journal.File || n.state.Kind != journal.File {
			return n.content
		}
		if v := r.versions[n.content]; r.same(v, st, b) {
			return n.content
		}
	}
	return r.newVersion(n.number, st)
}

// same reports whether a file that is found still has a version. A time of change
// that differs alone comes of other things, too: then the content decides, where the
// store has both.
func (r *relations) same(v *version, st *journal.State, b *journal.Pre) bool {
	if v.state.Size != st.Size || v.state.Mtime != st.Mtime {
		return b != nil && r.kept != nil && r.kept(b, &v.state)
	}
	if v.state.Ctime == st.Ctime || b == nil || b.Object == (journal.Object{}) || len(v.state.Sum) == 0 || r.kept == nil {
		return true
	}
	return r.kept(b, &v.state)
}

// keepAs notes which object has a version: it has no other from then on.
func (r *relations) keepAs(v graph.Version, o journal.Object) {
	if was := r.holders[o]; was != 0 && was != v && r.versions[was].object == o {
		r.versions[was].object = journal.Object{}
	}
	r.holders[o] = v
	r.versions[v].object = o
}

// alike takes versions of one node for one where they are known to have the same
// content.
func (r *relations) alike(ts []graph.Transition) []graph.Transition {
	r.classes()
	out := slices.Clone(ts)
	for i := range out {
		if t := &out[i]; t.Key.Part == graph.Content {
			t.From.N, t.To.N = r.class(t.From.N), r.class(t.To.N)
		}
	}
	return slices.DeleteFunc(out, func(t graph.Transition) bool { return t.From == t.To })
}

// classes finds which versions have the same content.
func (r *relations) classes() {
	r.first, r.others = make(map[graph.Version]graph.Version), make(map[graph.Version][]graph.Version)
	type sum struct {
		node graph.Node
		size int64
		sum  journal.Bytes
	}
	seen := make(map[sum]graph.Version)
	for v := 1; v < len(r.versions); v++ {
		x := r.versions[v]
		if len(x.state.Sum) == 0 {
			continue
		}
		k := sum{x.node, x.state.Size, x.state.Sum}
		if of, known := seen[k]; known {
			r.first[graph.Version(v)] = of
			r.others[of] = append(r.others[of], graph.Version(v))
		} else {
			seen[k] = graph.Version(v)
		}
	}
}

// class is the version that stands for all with the same content.
func (r *relations) class(v graph.Version) graph.Version {
	if of, is := r.first[v]; is {
		return of
	}
	return v
}

// nothing is a value that is found at no key.
func (r *relations) nothing(k graph.Key) graph.Value {
	if k.Part == graph.Content {
		return graph.Value{N: r.newVersion(k.Node, &journal.State{})}
	}
	if k.Part == graph.Meta {
		return graph.Value{S: "\x00"}
	}
	return graph.Value{N: r.newNode(&journal.State{}).number}
}

// called are all names of a key, those of before and those of now.
func (r *relations) called(k graph.Key) []string {
	if k.Part == graph.Entry {
		return []string{r.path(graph.Place{Dir: k.Node, Name: k.Name})}
	}
	n := r.nodes[k.Node]
	if n.root != "" {
		return []string{n.root}
	}
	var out []string
	for _, at := range slices.Concat(n.names, n.last) {
		out = append(out, r.path(at))
	}
	return out
}
