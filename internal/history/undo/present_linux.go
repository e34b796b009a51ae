package undo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"
	"carrel/internal/pathname"

	"golang.org/x/sys/unix"
)

// present is what there is now, for one decision: the relations as the last step left
// them, compared with the trees. It implements [graph.Present].
type present struct {
	looker
	moved  map[graph.Node]bool // what the transitions take from entries or lead them to, see standIns
	born   []string            // directories that the request's steps made
	shared []string            // repositories among them that stay
	whole  whole
}

// lookAround looks at all that transitions speak of, and at what the whole request finds out of
// place: a node may be found at an entry that it has no name by yet.
func lookAround(s *store.Store, r *relate.Relations, roots []disk.Root, ts []graph.Transition, of whole) (*present, error) {
	p := &present{whole: of, looker: looker{
		Relations: r, store: s, roots: roots,
		at: make(map[graph.Place]*seenAt), dirs: make(map[graph.Node]dirNow), nodes: make(map[graph.Node]*nodeNow),
		named: make(map[graph.Node][]graph.Place), rebound: make(map[graph.Node]journal.ID), objects: make(map[journal.Object]journal.State),
	}}
	for again := true; again; again = p.foundSince() {
		for i := range ts {
			k := ts[i].Key
			if k.Part == graph.Entry {
				p.look1(graph.Place{Dir: k.Node, Name: k.Name})
			}
		}
		for i := range ts { // what another program removed comes back by its name, where another node may be now
			if k := ts[i].Key; k.Part != graph.Entry {
				for _, at := range r.Nodes[k.Node].Names {
					p.look1(at)
				}
			}
		}
		for _, at := range of.places {
			if int(at.Dir) < len(r.Nodes) { // not made by that look
				p.look1(at)
			}
		}
	}
	return p, p.failed
}

// foundSince forgets what was not found by way of directories that have been found at an
// entry since: another program has moved them there.
func (p *looker) foundSince() bool {
	found := false
	for n, d := range p.dirs {
		found = found || !d.ok && len(p.named[n]) > 0 && p.Relations.Nodes[n].Root == ""
	}
	if !found {
		return false
	}
	maps.DeleteFunc(p.dirs, func(_ graph.Node, d dirNow) bool { return !d.ok })
	maps.DeleteFunc(p.at, func(_ graph.Place, s *seenAt) bool { return s == nil })
	return true
}

// dir says where a directory is now. One that was replaced by another is taken for
// that, as long as its own inode is not known elsewhere.
func (p *looker) dir(n graph.Node) dirNow {
	if d, known := p.dirs[n]; known {
		return d
	}
	p.dirs[n] = dirNow{} // against circles
	d := dirNow{}
	x := p.Relations.Nodes[n]
	if x.Root != "" {
		d = dirNow{path: x.Root, ok: p.holds(x.Root)}
	} else {
		names := p.named[n] // where no step has met it
		if !x.Dead {
			names = slices.Concat(x.Names, names)
		}
		for _, name := range names {
			if at := p.look1(name); at != nil && at.node == n {
				d = dirNow{pathname.Join(p.dir(name.Dir).path, name.Name), name, true}
				break
			}
		}
	}
	p.dirs[n] = d
	return d
}

// holds reports whether a directory is in one of the roots, or holds one that is a
// file.
func (p *looker) holds(dir string) bool {
	return slices.ContainsFunc(p.roots, func(r disk.Root) bool {
		return pathname.Within(dir, r.Path) || r.File != "" && pathname.Parent(r.Path) == dir
	})
}

// path is what an entry is called now, "" where its directory is not there.
func (p *looker) path(at graph.Place) string {
	if d := p.dir(at.Dir); d.ok {
		return pathname.Join(d.path, at.Name)
	}
	return ""
}

// look1 looks at an entry; nil where its directory is not there.
func (p *looker) look1(at graph.Place) *seenAt {
	if s, known := p.at[at]; known {
		return s
	}
	path := p.path(at)
	if path == "" {
		p.at[at] = nil
		return nil
	}
	st, err := disk.LookIn(p.roots, path)
	if err != nil {
		if p.failed == nil {
			p.failed = &lookError{path, err}
		}
		st = journal.State{}
	}
	s := &seenAt{state: st}
	p.at[at] = s
	if st.Kind != journal.Absent {
		s.node = p.nodeOf(at, &st)
		p.named[s.node] = append(p.named[s.node], at)
	}
	return s
}

// lookError says that a path cannot be looked at.
type lookError struct {
	path string
	err  error
}

func (e *lookError) Error() string { return fmt.Sprintf("looking at %q: %v", e.path, e.err) }
func (e *lookError) Unwrap() error { return e.err }

// nodeOf gives the node that is found at an entry.
func (p *looker) nodeOf(at graph.Place, st *journal.State) graph.Node {
	n := p.Relations.Nodes[p.Entries[at]]
	// A directory that the steps only went through has no inode in the records. They may call
	// it gone by another name: another program had moved it here.
	passed := n != nil && n.ID == journal.ID{} && n.State.Kind == journal.Dir
	if is := p.Known(st); is != nil && !(is.Dead && passed) {
		return is.Number
	}
	if n != nil && n.State.Kind == st.Kind && (n.ID == journal.ID{} || st.Kind == journal.Dir && !p.elsewhere(n, at) || p.sameAgain(n, at, st)) {
		p.bindNow(n, st)
		return n.Number
	}
	if n := p.Stood(at); n != nil && st.Kind == journal.Dir && len(p.named[n.Number]) == 0 {
		p.bindNow(n, st)
		return n.Number
	}
	return p.Relations.NewNode(st).Number
}

// sameAgain reports whether another file at an entry is the same to everybody: saved
// once more as editors do, with the content that it had.
func (p *looker) sameAgain(n *relate.Node, at graph.Place, st *journal.State) bool {
	if st.Kind != journal.File || n.State.Links != 1 || len(n.Names) != 1 || len(n.Anchors) > 0 ||
		!journal.Interchangeable(st, &n.State) || !journal.SameXattrs(st, &n.State) {
		return false
	}
	dir, name, err := disk.ParentIn(p.roots, p.path(at))
	if err != nil {
		return false
	}
	defer unix.Close(dir)
	return disk.SumAt(dir, name, st, n.State.Sum) == n.State.Sum
}

// bindNow takes an inode for a node that no record of its own names.
func (p *looker) bindNow(n *relate.Node, st *journal.State) {
	state := n.State
	p.Bind(n, st)
	if state.ID != (journal.ID{}) {
		p.rebound[n.Number] = state.ID
		n.State = state // what the records say of it is compared with what is there
		n.State.ID = st.ID
	}
}

// elsewhere reports whether a directory is found at another entry that is known, or that was
// looked at.
func (p *looker) elsewhere(n *relate.Node, but graph.Place) bool {
	for _, at := range slices.Concat(n.Names, p.named[n.Number]) {
		if at != but {
			if s := p.look1(at); s != nil && s.state.ID == n.ID {
				return true
			}
		}
	}
	return false
}

// Entry implements [graph.Present].
func (p *looker) Entry(at graph.Place) graph.Node {
	s := p.look1(at)
	if s == nil || s.node == 0 {
		return 0
	}
	if x := p.nodes[s.node]; x != nil && !slices.Contains(x.names, at) {
		x.names = append(x.names, at) // found after the node was looked at
	}
	return s.node
}

// now looks at a node by all names that are known.
func (p *looker) now(n graph.Node) *nodeNow {
	if x := p.nodes[n]; x != nil {
		return x
	}
	x := &nodeNow{}
	p.nodes[n] = x
	if int(n) >= len(p.Relations.Nodes) { // made by the decision itself
		return x
	}
	own := p.Relations.Nodes[n]
	for _, at := range slices.Concat(own.Names, own.Last) {
		if s := p.look1(at); s != nil && s.node == n && !slices.Contains(x.names, at) {
			x.names = append(x.names, at)
		}
	}
	for _, at := range p.named[n] {
		if !slices.Contains(x.names, at) {
			x.names = append(x.names, at)
		}
	}
	slices.SortFunc(x.names, func(a, b graph.Place) int { return strings.Compare(p.path(a), p.path(b)) })
	switch {
	case own.Root != "" && disk.IsRoot(p.roots, own.Root):
		st, err := disk.LookIn(p.roots, own.Root)
		if err != nil && p.failed == nil {
			p.failed = &lookError{own.Root, err}
		}
		x.state = st
	case len(x.names) > 0:
		x.state = p.at[x.names[0]].state
	}
	if x.state.Unread && x.state.Ctime == own.State.Ctime && x.state.ID == own.State.ID {
		x.state.Xattrs, x.state.Unread = own.State.Xattrs, own.State.Unread
	}
	if x.state.Unread && len(x.names) > 0 {
		p.readHidden(x)
	}
	p.anchorsOf(own, x)
	x.content = p.Class(p.contentNow(own, x))
	return x
}

// readHidden reads the attributes that the mode keeps from being read. Where that does
// not work they stay unread.
func (p *looker) readHidden(x *nodeNow) {
	dir, name, err := disk.ParentIn(p.roots, p.path(x.names[0]))
	if err != nil {
		return
	}
	defer unix.Close(dir)
	pin, err := unix.Openat(dir, name, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return
	}
	defer unix.Close(pin)
	restore := disk.Widened(pin, 0o400)
	all, unread, err := disk.XattrsOf(pin, "")
	restore()
	st, e := disk.StateAt(pin, "", 0)
	if err == nil && e == nil && !unread && st.ID == x.state.ID {
		st.Xattrs = all
		x.state = st
	}
}

// Names implements [graph.Present].
func (p *present) Names(n graph.Node) []graph.Place { return p.now(n).names }

// LastNames implements [graph.Present].
func (p *present) LastNames(n graph.Node) []graph.Place {
	if int(n) >= len(p.Relations.Nodes) {
		return nil
	}
	x := p.Relations.Nodes[n]
	all := slices.Concat(x.Names, x.Last)
	for i := range all {
		all[i] = p.stands(all[i])
	}
	return all
}

// Unmet implements [graph.Present].
func (p *present) Unmet(n graph.Node) int { return p.now(n).unmet }

// Content implements [graph.Present].
func (p *present) Content(n graph.Node) graph.Version { return p.now(n).content }

// Meta implements [graph.Present].
func (p *present) Meta(n graph.Node) map[string]string {
	x := p.now(n)
	st := &x.state
	if st.Kind == journal.Absent && x.anchors > 0 && x.unmet > 0 {
		st = &x.held
	}
	if st.Kind == journal.Absent {
		if int(n) >= len(p.Relations.Nodes) {
			return nil
		}
		st = &p.Relations.Nodes[n].State
	}
	all := relate.MetaOf(st)
	for name := range p.Xattrs {
		if _, has := all[relate.XattrPart+name]; !has && !relate.Hidden(st, relate.XattrPart+name) {
			all[relate.XattrPart+name] = relate.NoXattr
		}
	}
	return all
}

var kindOfNode = map[journal.Kind]graph.Kind{journal.File: graph.File, journal.Dir: graph.Dir, journal.Symlink: graph.Symlink, journal.FIFO: graph.Special, journal.Socket: graph.Special}

// Kind implements [graph.Present].
func (p *looker) Kind(n graph.Node) graph.Kind {
	if int(n) >= len(p.Relations.Nodes) {
		return graph.Other
	}
	if k, ok := kindOfNode[p.Relations.Nodes[n].State.Kind]; ok {
		return k
	}
	return graph.Other
}

// Reachable implements [graph.Present].
func (p *present) Reachable(dir graph.Node) bool { return p.dir(dir).ok }

// Residents implements [graph.Present].
func (p *looker) Residents(dir graph.Node) []string {
	d := p.dir(dir)
	if !d.ok || !slices.ContainsFunc(p.roots, func(r disk.Root) bool { return pathname.Within(d.path, r.Path) }) {
		return nil
	}
	names, err := disk.NamesIn(p.roots, d.path)
	if err != nil && p.failed == nil {
		p.failed = &lookError{d.path, err}
	}
	return names
}

// Keeping implements [graph.Present].
func (p *present) Keeping(v graph.Version) (graph.Keeping, string) {
	k, why := p.keeping(v)
	for _, other := range p.Others[v] {
		if k == graph.Empty || k == graph.InObject {
			break
		}
		if as, _ := p.keeping(other); as == graph.InObject {
			k, why = as, ""
			p.Versions[v].Object = p.Versions[other].Object
		}
	}
	return k, why
}

func (p *present) keeping(v graph.Version) (graph.Keeping, string) {
	x := p.Versions[v]
	switch {
	case x.State.Kind == journal.File && x.State.Size == 0 && x.Lost == "":
		return graph.Empty, ""
	case x.Object != (journal.Object{}):
		if st := p.stored(x.Object); st.Kind != journal.File || st.Size != x.State.Size {
			return graph.Lost, errMissing.Error()
		}
		if len(x.State.Sum) > 0 && !p.store.HasSum(x.Object, x.State.Sum) {
			return graph.Lost, errMissing.Error()
		}
		return graph.InObject, ""
	case x.Lost != "":
		return graph.Lost, x.Lost
	}
	n := p.Relations.Nodes[x.Node]
	if now := p.now(n.Number); now.anchors > 0 && now.held.Size == x.State.Size && now.held.Mtime == x.State.Mtime {
		return graph.InAnchor, ""
	}
	return graph.Unkept, "its content was not kept"
}

// Held implements [graph.Present].
func (p *present) Held(n graph.Node) (graph.Version, graph.Keeping) {
	if int(n) >= len(p.Relations.Nodes) {
		return 0, graph.Unkept
	}
	x, own := p.now(n), p.Relations.Nodes[n]
	for _, v := range slices.Backward(own.Versions) {
		is := p.Versions[v]
		switch {
		case x.anchors == 0 && is.Object != (journal.Object{}):
			return v, graph.InObject
		case x.anchors > 0 && is.Object == (journal.Object{}) && is.State.Size == x.held.Size && is.State.Mtime == x.held.Mtime:
			return v, graph.InAnchor
		}
	}
	if x.anchors > 0 {
		return p.Relations.NewVersion(n, &x.held), graph.InAnchor
	}
	return 0, graph.Unkept
}

// Rest implements [graph.Present].
func (p *present) Rest(at graph.Place) graph.Rest {
	path := p.path(at)
	if path == "" {
		path = p.Relations.Path(at)
	}
	if p.sharedBy(path) != "" {
		return graph.Shared
	}
	if steplog.IsGitObject(path) && !slices.ContainsFunc(p.born, func(dir string) bool { return pathname.Within(steplog.GitDir(path), dir) }) {
		return graph.Pinned
	}
	return graph.Free
}

// Setter implements [graph.Present].
func (p *present) Setter(k graph.Key) uint64 {
	by := p.Setters[k]
	now := graph.Value{}
	switch k.Part {
	case graph.Entry:
		now.N = p.Entry(graph.Place{Dir: k.Node, Name: k.Name})
	case graph.Content:
		now.N = p.Content(k.Node)
	case graph.Meta:
		now.S = p.Meta(k.Node)[k.Name]
	}
	if now != by.To {
		return 0
	}
	return by.Step
}

// NewNode implements [graph.Present].
func (p *present) NewNode() graph.Node {
	return p.Relations.NewNode(&journal.State{Kind: journal.File}).Number
}

// NewVersion implements [graph.Present].
func (p *present) NewVersion() graph.Version {
	return p.Relations.NewVersion(0, &journal.State{Kind: journal.File})
}

// Beside implements [graph.Present].
func (p *present) Beside(name string, try int) string { return beside(name, try) }
