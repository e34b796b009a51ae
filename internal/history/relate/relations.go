package relate

import (
	"os"
	"slices"
	"strings"

	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/pathname"
)

// Relations are what journals say, as a graph: which node each entry leads to, which
// content and metadata each node has. They are made of the steps in their order, so
// they always are what the last of those steps left.
type Relations struct {
	Nodes    []*Node    // by number; 0 is none
	Versions []*Version // by number; 0 is graph.Dead
	ByID     map[journal.ID]graph.Node
	Entries  map[graph.Place]graph.Node // 0 where it is said that there is nothing
	roots    map[string]graph.Node
	loose    map[graph.Place]graph.Node // the last directory of loose objects there
	Found    map[Side]foundSide         // what steps found, by the path that it had then
	Left     map[Side]foundSide         // and what they left
	holders  map[journal.Object]graph.Version
	Setters  map[graph.Key]setting
	Xattrs   map[string]bool // names of all attributes that some node has or had
	Disputed map[graph.Key]string
	Files    map[string]bool                                // roots that are files
	first    map[graph.Version]graph.Version                // that has the same content
	Others   map[graph.Version][]graph.Version              // that have the same content as the first
	kept     func(p *journal.Pre, left *journal.State) bool // see New
	Betweens func(*steplog.Step) []journal.Pre              // see [steplog.Log.Betweens]; nil: those of the step itself
}

// Side names something that a step found.
type Side struct {
	Step uint64
	Path string
}

type foundSide struct {
	Node    graph.Node
	Version graph.Version
}

// setting is what a step left at a key.
type setting struct {
	Step uint64
	To   graph.Value
}

// Node is a file system object, whatever inodes it had.
type Node struct {
	Number  graph.Node
	ID      journal.ID // of its inode; zero where no record has it
	Root    string     // the path of a root, "" for others
	Names   []graph.Place
	Last    []graph.Place // the names that it lost when it died
	Dead    bool
	Apart   bool // it may live outside, and the store has no link of it
	Timed   bool // a step has set the times of this directory by themselves
	State   journal.State
	Content graph.Version
	Anchors []journal.Object // links of the inode in the store
	// Versions are all of its contents, oldest first.
	Versions []graph.Version
}

// Version is one content of a node.
type Version struct {
	Node   graph.Node
	State  journal.State  // size, times and sum that the file had with it
	Object journal.Object // zero where the store has no copy
	Lost   string         // why there is none, though it was to be kept
	At     Side           // where a step found it
}

// New gives the relations before any step. kept reports whether the content of a file, as
// a step found it, is what an earlier one had left.
func New(kept func(*journal.Pre, *journal.State) bool) *Relations {
	return &Relations{
		Nodes: make([]*Node, 1), Versions: make([]*Version, 1),
		ByID: make(map[journal.ID]graph.Node), Entries: make(map[graph.Place]graph.Node), roots: make(map[string]graph.Node), loose: make(map[graph.Place]graph.Node),
		Found: make(map[Side]foundSide), Left: make(map[Side]foundSide), holders: make(map[journal.Object]graph.Version), Setters: make(map[graph.Key]setting),
		Xattrs: make(map[string]bool), Disputed: make(map[graph.Key]string), Files: make(map[string]bool), kept: kept,
	}
}

// NewNode adds an object that is in a state, and has no name yet.
func (r *Relations) NewNode(st *journal.State) *Node {
	n := &Node{Number: graph.Node(len(r.Nodes))}
	r.Nodes = append(r.Nodes, n)
	r.Bind(n, st)
	return n
}

// Bind notes what a node is now.
func (r *Relations) Bind(n *Node, st *journal.State) {
	if st.ID != n.ID {
		if r.ByID[n.ID] == n.Number {
			delete(r.ByID, n.ID)
		}
		if st.ID != (journal.ID{}) {
			r.ByID[st.ID] = n.Number
		}
	}
	was := n.State
	n.State, n.ID = *st, st.ID
	if st.Unread && !was.Unread && was.Kind == st.Kind && was.ID == st.ID { // known from before the mode forbade it
		n.State.Xattrs, n.State.Unread = was.Xattrs, false
	}
	for k := range st.Xattrs {
		r.Xattrs[k] = true
	}
}

// NewVersion adds a content to a node, as its newest; of node 0 it belongs to none yet.
func (r *Relations) NewVersion(n graph.Node, st *journal.State) graph.Version {
	v := graph.Version(len(r.Versions))
	r.Versions = append(r.Versions, &Version{Node: n, State: *st})
	if n != 0 {
		r.Nodes[n].Versions = append(r.Nodes[n].Versions, v)
	}
	return v
}

// RootNode is the node of a root. One that is a file is an entry of the directory that
// it is in, of which no other is ever looked at.
func (r *Relations) RootNode(path string) graph.Node {
	if st, err := os.Lstat(path); err == nil && st.Mode().IsRegular() {
		r.Files[path] = true
		path = pathname.Parent(path)
	}
	if n := r.roots[path]; n != 0 {
		return n
	}
	n := r.NewNode(&journal.State{Kind: journal.Dir})
	n.Root, n.Content = path, r.NewVersion(n.Number, &n.State)
	r.roots[path] = n.Number
	return n.Number
}

// Place gives the entry of a path, and of a root its node. there says that something
// is at the path, so that the directories on the way are there too. Without it there
// is no entry where another record says that one of them is none.
func (r *Relations) Place(path string, there bool) (p graph.Place, root graph.Node) {
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
func (r *Relations) onTheWay(p graph.Place, there bool) graph.Node {
	at, said := r.Entries[p]
	if at != 0 && r.Nodes[at].State.Kind == journal.Dir {
		return at
	}
	if said && !there {
		return 0
	}
	if n := r.Stood(p); n != nil { // another program had made it again
		n.Content = n.Versions[0]
		r.lead(p, n.Number)
		return n.Number
	}
	n := r.NewNode(&journal.State{Kind: journal.Dir})
	n.Content = r.NewVersion(n.Number, &n.State)
	r.lead(p, n.Number)
	return n.Number
}

// Stood gives the directory of git's objects that was at an entry, and is nowhere by the last
// record; nil for none. What makes one there makes that again: what an undo brings back has
// its place in it.
func (r *Relations) Stood(p graph.Place) *Node {
	n := r.Nodes[r.loose[p]]
	if n == nil || !n.Dead || len(n.Names) > 0 || len(n.Versions) == 0 {
		return nil
	}
	return n
}

// lead lets an entry lead to a node, 0 for none.
func (r *Relations) lead(p graph.Place, to graph.Node) {
	was, said := r.Entries[p]
	if said && was == to {
		return
	}
	if was != 0 {
		n := r.Nodes[was]
		if n.Names = slices.DeleteFunc(n.Names, func(q graph.Place) bool { return q == p }); len(n.Names) == 0 {
			n.Last = []graph.Place{p}
		}
	}
	r.Entries[p] = to
	if to == 0 {
		return
	}
	n := r.Nodes[to]
	n.Names = append(n.Names, p)
	n.Dead, n.Last = false, nil
}

// Path gives what an entry is called by the last record, "" where that is unknown.
// Of what is gone it is the last name.
func (r *Relations) Path(p graph.Place) string {
	parts := []string{p.Name}
	for dir := r.Nodes[p.Dir]; len(parts) < PathDepth; {
		if dir.Root != "" {
			slices.Reverse(parts)
			return pathname.Join(dir.Root, strings.Join(parts, "/"))
		}
		names := dir.Names
		if len(names) == 0 {
			names = dir.Last
		}
		if len(names) == 0 {
			return ""
		}
		parts, dir = append(parts, names[0].Name), r.Nodes[names[0].Dir]
	}
	return ""
}

// lost reports whether the directory of an entry, or one around that, has no name any more.
func (r *Relations) lost(p graph.Place) bool {
	for range PathDepth {
		dir := r.Nodes[p.Dir]
		if dir.Root != "" {
			return false
		}
		if len(dir.Names) == 0 {
			return true
		}
		p = dir.Names[0]
	}
	return false
}

// PathDepth bounds how many directories a path goes through.
const PathDepth = 1 << 16

// Known gives the node that has an inode, by what was seen at an entry: a number
// that the file system has given again is another node.
func (r *Relations) Known(st *journal.State) *Node {
	n := r.Nodes[r.ByID[st.ID]]
	if n == nil || n.State.Kind != st.Kind || n.Dead && (st.ID.Birth == 0 || n.Apart) {
		return nil
	}
	return n
}

// meet gives the node that a step found at an entry.
func (r *Relations) meet(p graph.Place, b *journal.Pre) *Node {
	st := &b.State
	n := r.Known(st)
	if n == nil {
		if at := r.Nodes[r.Entries[p]]; at != nil && at.State.Kind == st.Kind && (at.ID == (journal.ID{}) || r.savedAgain(at, b)) {
			n = at // or a directory that was only on the way until now
		}
	}
	if n == nil {
		n = r.NewNode(st)
	}
	return n
}

// savedAgain reports whether another program has put another file in the place of one, with
// the content that a step left: as editors save, and `git status` its index.
func (r *Relations) savedAgain(n *Node, b *journal.Pre) bool {
	return r.kept != nil && b.State.Kind == journal.File && !n.Dead && len(n.Names) == 1 && len(n.Anchors) == 0 &&
		n.Content != graph.Dead && r.kept(b, &r.Versions[n.Content].State)
}

// contentOf gives the version of a node that is found with a state.
func (r *Relations) contentOf(n *Node, st *journal.State, b *journal.Pre) graph.Version {
	if n.Content != graph.Dead {
		if st.Kind != journal.File || n.State.Kind != journal.File {
			return n.Content
		}
		if v := r.Versions[n.Content]; r.same(v, st, b) {
			return n.Content
		}
	}
	return r.NewVersion(n.Number, st)
}

// same reports whether a file that is found still has a version. A time of change
// that differs alone comes of other things, too: then the content decides, where the
// store has both.
func (r *Relations) same(v *Version, st *journal.State, b *journal.Pre) bool {
	if v.State.Size != st.Size || v.State.Mtime != st.Mtime {
		return b != nil && r.kept != nil && r.kept(b, &v.State)
	}
	if v.State.Ctime == st.Ctime || b == nil || b.Object == (journal.Object{}) || len(v.State.Sum) == 0 || r.kept == nil {
		return true
	}
	return r.kept(b, &v.State)
}

// keepAs notes which object has a version: it has no other from then on.
func (r *Relations) keepAs(v graph.Version, o journal.Object) {
	if was := r.holders[o]; was != 0 && was != v && r.Versions[was].Object == o {
		r.Versions[was].Object = journal.Object{}
	}
	r.holders[o] = v
	r.Versions[v].Object = o
}

// Alike takes versions of one node for one where they are known to have the same
// content.
func (r *Relations) Alike(ts []graph.Transition) []graph.Transition {
	r.Classes()
	out := slices.Clone(ts)
	for i := range out {
		if t := &out[i]; t.Key.Part == graph.Content {
			t.From.N, t.To.N = r.Class(t.From.N), r.Class(t.To.N)
		}
	}
	return slices.DeleteFunc(out, func(t graph.Transition) bool { return t.From == t.To })
}

// Classes finds which versions have the same content.
func (r *Relations) Classes() {
	r.first, r.Others = make(map[graph.Version]graph.Version), make(map[graph.Version][]graph.Version)
	type sum struct {
		node graph.Node
		size int64
		sum  journal.Bytes
	}
	seen := make(map[sum]graph.Version)
	for v := 1; v < len(r.Versions); v++ {
		x := r.Versions[v]
		if len(x.State.Sum) == 0 {
			continue
		}
		k := sum{x.Node, x.State.Size, x.State.Sum}
		if of, known := seen[k]; known {
			r.first[graph.Version(v)] = of
			r.Others[of] = append(r.Others[of], graph.Version(v))
		} else {
			seen[k] = graph.Version(v)
		}
	}
}

// Class is the version that stands for all with the same content.
func (r *Relations) Class(v graph.Version) graph.Version {
	if of, is := r.first[v]; is {
		return of
	}
	return v
}

// Nothing is a value that is found at no key.
func (r *Relations) Nothing(k graph.Key) graph.Value {
	if k.Part == graph.Content {
		return graph.Value{N: r.NewVersion(k.Node, &journal.State{})}
	}
	if k.Part == graph.Meta {
		return graph.Value{S: "\x00"}
	}
	return graph.Value{N: r.NewNode(&journal.State{}).Number}
}

// Called are all names of a key, those of before and those of now.
func (r *Relations) Called(k graph.Key) []string {
	if k.Part == graph.Entry {
		return []string{r.Path(graph.Place{Dir: k.Node, Name: k.Name})}
	}
	n := r.Nodes[k.Node]
	if n.Root != "" {
		return []string{n.Root}
	}
	var out []string
	for _, at := range slices.Concat(n.Names, n.Last) {
		out = append(out, r.Path(at))
	}
	return out
}
