package graph

import (
	"fmt"
	"maps"
	"slices"
)

// content is a version, as the store knows it.
type content struct {
	data   string
	object bool // there is a copy of it
	lost   bool
	step   uint64 // that made it, 0 for another program
	of     Node
}

// world is a file system with the tables of its history.
type world struct {
	*memory
	anchors  bool // the store is on the same file system
	nextNode Node
	nextVer  Version
	bind     map[uint64]Node
	inoOf    map[Node]uint64
	kindOf   map[Node]Kind
	madeBy   map[Node]uint64
	ver      map[Node]Version // as last known
	wrote    map[Node]int     // the inode's, when that was known
	versions map[Version]*content
	known    map[Node]map[Place]bool
	last     map[Place]Node // by the last record
	setBy    map[Key]uint64
	dead     map[Node]map[string]string
	unmet    map[Node]int // as last seen
	pinned   map[string]bool

	step uint64
	ts   []Transition
}

func newWorld(anchors bool) *world {
	w := &world{
		memory: newMemory(), anchors: anchors, bind: make(map[uint64]Node), inoOf: make(map[Node]uint64), kindOf: make(map[Node]Kind),
		madeBy: make(map[Node]uint64), ver: make(map[Node]Version), wrote: make(map[Node]int), versions: make(map[Version]*content),
		known: make(map[Node]map[Place]bool), last: make(map[Place]Node), setBy: make(map[Key]uint64),
		dead: make(map[Node]map[string]string), unmet: make(map[Node]int), pinned: make(map[string]bool),
	}
	w.meet(w.root)
	return w
}

func (w *world) clone() *world {
	c := *w
	c.memory = w.memory.clone()
	c.bind, c.inoOf, c.kindOf, c.madeBy = maps.Clone(w.bind), maps.Clone(w.inoOf), maps.Clone(w.kindOf), maps.Clone(w.madeBy)
	c.ver, c.wrote, c.last, c.setBy = maps.Clone(w.ver), maps.Clone(w.wrote), maps.Clone(w.last), maps.Clone(w.setBy)
	c.unmet, c.pinned = maps.Clone(w.unmet), maps.Clone(w.pinned)
	c.versions = make(map[Version]*content, len(w.versions))
	for k, v := range w.versions {
		x := *v
		c.versions[k] = &x
	}
	c.known = make(map[Node]map[Place]bool, len(w.known))
	for k, v := range w.known {
		c.known[k] = maps.Clone(v)
	}
	c.dead = make(map[Node]map[string]string, len(w.dead))
	for k, v := range w.dead {
		c.dead[k] = maps.Clone(v)
	}
	c.ts = slices.Clone(w.ts)
	return &c
}

func (w *world) NewNode() Node       { w.nextNode++; return w.nextNode }
func (w *world) NewVersion() Version { w.nextVer++; return w.nextVer }

func (w *world) Holder(Node) bool { return false }

func (w *world) Awaited(Node) ([]Place, bool) { return nil, false }

func (w *world) Holds(n Node, v Version) bool {
	for ino, of := range w.bind {
		if of == n && w.inodes[ino] != nil && w.versions[v] != nil {
			return w.inodes[ino].data == w.versions[v].data
		}
	}
	return false
}

func (w *world) Beside(name string, try int) string {
	if try == 1 {
		return name + ".undo-conflict"
	}
	return fmt.Sprintf("%s.undo-conflict-%d", name, try)
}

// meet gives an inode its number.
func (w *world) meet(ino uint64) Node {
	if n, ok := w.bind[ino]; ok {
		return n
	}
	n := w.NewNode()
	w.bindTo(n, ino)
	v := w.NewVersion()
	i := w.inodes[ino]
	w.kindOf[n], w.dead[n] = i.kind, maps.Clone(i.meta)
	w.ver[n], w.wrote[n] = v, i.wrote
	w.versions[v] = &content{data: i.data, of: n}
	return n
}

func (w *world) bindTo(n Node, ino uint64) {
	if old, ok := w.inoOf[n]; ok && old != ino {
		delete(w.bind, old)
	}
	w.bind[ino], w.inoOf[n] = n, ino
}

// name notes that an entry is known to lead to a node, and all above it.
func (w *world) name(p Place, n Node) {
	if w.known[n] == nil {
		w.known[n] = make(map[Place]bool)
	}
	w.known[n][p] = true
	if _, ok := w.last[p]; !ok {
		w.last[p] = n
	}
}

// dirAt meets a directory that is gone through, and those above it.
func (w *world) dirAt(ino uint64) Node {
	n := w.meet(ino)
	for at := ino; at != w.root && at != w.out && at != 0; {
		up := w.parent(at)
		if up == 0 {
			break
		}
		for name, e := range w.inodes[up].entries {
			if e == at {
				w.name(Place{w.meet(up), name}, w.meet(at))
			}
		}
		at = up
	}
	return n
}

// inode is the one of a node, while it exists.
func (w *world) inode(n Node) *inode {
	ino, ok := w.inoOf[n]
	if !ok {
		return nil
	}
	return w.inodes[ino]
}

func held(n Node) string   { return fmt.Sprint("held ", n) }
func parked(n Node) string { return fmt.Sprint("parked ", n) }

// Entry implements Present.
func (w *world) Entry(p Place) Node {
	d := w.inode(p.Dir)
	if d == nil || !w.attached(d.ino) {
		return 0
	}
	ino, ok := d.entries[p.Name]
	if !ok {
		return 0
	}
	w.rebind(p, ino)
	n := w.meet(ino)
	w.name(p, n)
	return n
}

// rebind takes a directory that was made again outside for the one that was there.
func (w *world) rebind(p Place, ino uint64) {
	was := w.last[p]
	if _, met := w.bind[ino]; met || was == 0 || w.kindOf[was] != Dir || w.inodes[ino].kind != Dir || w.inode(was) != nil {
		return
	}
	if w.dead[was] != nil && w.dead[was]["mode"] != w.inodes[ino].meta["mode"] {
		return
	}
	w.bindTo(was, ino)
	w.wrote[was] = w.inodes[ino].wrote
}

// Names implements Present.
func (w *world) Names(n Node) []Place {
	i := w.inode(n)
	if i == nil {
		return nil
	}
	var ps []Place
	for p := range w.known[n] {
		if d := w.inode(p.Dir); d != nil && d.entries[p.Name] == i.ino && w.attached(d.ino) {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, byPlace)
	return ps
}

func byPlace(a, b Place) int {
	return slices.Compare([]string{fmt.Sprintf("%09d", a.Dir), a.Name}, []string{fmt.Sprintf("%09d", b.Dir), b.Name})
}

// LastNames implements Present.
func (w *world) LastNames(n Node) []Place {
	var ps []Place
	for p, of := range w.last {
		if of == n {
			ps = append(ps, p)
		}
	}
	slices.SortFunc(ps, byPlace)
	return ps
}

// look is what is known of a node's names: how many no step has met, and whether
// the inode can be looked at.
func (w *world) look(n Node) (names, unmet int, seen bool) {
	if n == w.bind[w.root] {
		return 1, 0, true
	}
	names = len(w.Names(n))
	i := w.inode(n)
	_, anchored := w.store[held(n)]
	switch {
	case names > 0 || i != nil && anchored:
		w.unmet[n] = w.links(i.ino) - names
		return names, w.unmet[n], true
	case w.kindOf[n] == Dir:
		if i != nil && w.links(i.ino) > 0 {
			return 0, 1, false // elsewhere
		}
		return 0, 0, false
	}
	return 0, w.unmet[n], false
}

// Unmet implements Present.
func (w *world) Unmet(n Node) int {
	if n == w.bind[w.root] {
		return 0
	}
	_, u, _ := w.look(n)
	return u
}

// Content implements Present.
func (w *world) Content(n Node) Version {
	names, unmet, seen := w.look(n)
	if names+unmet == 0 {
		return Dead
	}
	if seen {
		w.sync(n)
	}
	return w.ver[n]
}

// sync gives a node a version of no step if its inode was written to.
func (w *world) sync(n Node) {
	i := w.inode(n)
	if i == nil || i.kind != File || i.wrote == w.wrote[n] {
		return
	}
	v := w.NewVersion()
	w.versions[v] = &content{data: i.data, of: n}
	w.ver[n], w.wrote[n] = v, i.wrote
}

// Meta implements Present.
func (w *world) Meta(n Node) map[string]string {
	if w.Content(n) == Dead {
		return w.dead[n]
	}
	if i := w.inode(n); i != nil {
		return i.meta
	}
	return w.dead[n]
}

// Kind implements Present.
func (w *world) Kind(n Node) Kind { return w.kindOf[n] }

// Reachable implements Present.
func (w *world) Reachable(n Node) bool {
	i := w.inode(n)
	return i != nil && (i.ino == w.root || len(w.Names(n)) > 0)
}

// Residents implements Present.
func (w *world) Residents(n Node) []string {
	i := w.inode(n)
	if i == nil {
		return nil
	}
	return slices.Sorted(maps.Keys(i.entries))
}

// Keeping implements Present.
func (w *world) Keeping(v Version) (Keeping, string) {
	c := w.versions[v]
	switch {
	case c == nil:
		return Lost, "never heard of"
	case c.lost:
		return Lost, "too large"
	case c.object && c.data == "":
		return Empty, ""
	case c.object:
		return InObject, ""
	}
	if hv, k := w.Held(c.of); k == InAnchor && hv == v && w.Content(c.of) == Dead {
		return InAnchor, ""
	}
	return Unkept, ""
}

// Held implements Present.
func (w *world) Held(n Node) (Version, Keeping) {
	if ino, ok := w.store[held(n)]; ok && w.inoOf[n] == ino {
		w.sync(n)
		return w.ver[n], InAnchor
	}
	if v := w.ver[n]; w.versions[v] != nil && w.versions[v].object {
		return v, InObject
	}
	return 0, Unkept
}

// Rest implements Present.
func (w *world) Rest(p Place) Rest {
	if w.pinned[p.Name] {
		return Pinned
	}
	return Free
}

// Setter implements Present.
func (w *world) Setter(k Key) uint64 { return w.setBy[k] }
