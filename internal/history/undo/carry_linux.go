package undo

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/pathname"
)

// carrier makes of a decision what is done, path by path: the actions, and what is
// written down of them.
type carrier struct {
	*present
	*graph.Decision
	plan   *Plan
	fresh  func() journal.Object
	where  map[graph.Node]graph.Place // directories that have another entry by now
	gone   map[graph.Node]bool        // directories that are removed by now
	parked map[graph.Node]journal.Object
	early  map[graph.Node]bool            // files that were changed already
	kept   map[graph.Node]journal.Object  // what their content becomes
	inodes map[string]journal.Object      // links of what lives on, by the path that it had
	copied map[graph.Node]bool            // what lives on, and the store can only copy
	used   map[graph.Place]journal.Object // links that become names
	ends   map[graph.Node][]graph.Place
	names  map[graph.Node][]graph.Place // that files have at this point of the plan
}

// carry fills in a plan.
func (p *present) carry(d *graph.Decision, plan *Plan, fresh func() journal.Object) error {
	c := &carrier{
		present: p, Decision: d, plan: plan, fresh: fresh, where: make(map[graph.Node]graph.Place), gone: make(map[graph.Node]bool),
		parked: make(map[graph.Node]journal.Object), early: make(map[graph.Node]bool), kept: make(map[graph.Node]journal.Object),
		inodes: make(map[string]journal.Object), copied: make(map[graph.Node]bool), used: make(map[graph.Place]journal.Object), ends: make(map[graph.Node][]graph.Place),
		names: make(map[graph.Node][]graph.Place),
	}
	c.tell()
	ops := d.Plan(p)
	plan.records.Actions = make([]journal.Action, 0, len(ops))
	for i := range ops {
		if err := c.act(&ops[i]); err != nil {
			return err
		}
	}
	c.note()
	c.noteUntimed()
	return p.failed
}

// noteUntimed notes the directories in which the steps changed names, and not the time: the
// kernel's clock for files stands still for some milliseconds.
func (c *carrier) noteUntimed() {
	c.plan.untimed = make(map[journal.ID]bool)
	for i := range c.Sets {
		s := &c.Sets[i]
		if s.Part == graph.Entry && c.live(s.Node).Kind == journal.Dir && (c.Relations.Nodes[s.Node].Root != "" || len(c.endNames(s.Node)) > 0) {
			c.plan.untimed[c.live(s.Node).ID] = true
		}
	}
	for _, n := range c.Retimed {
		delete(c.plan.untimed, c.live(n).ID)
	}
	for _, a := range c.Asides { // a name that was not there before
		delete(c.plan.untimed, c.live(a.To.Dir).ID)
	}
}

// now gives the path of an entry at this point of the plan.
func (c *carrier) now(at graph.Place) string {
	parts := []string{at.Name}
	for dir := at.Dir; len(parts) < relate.PathDepth; {
		if root := c.Relations.Nodes[dir].Root; root != "" {
			slices.Reverse(parts)
			return pathname.Join(root, strings.Join(parts, "/"))
		}
		above, moved := c.where[dir]
		if !moved {
			above = c.dir(dir).at
		}
		if above == (graph.Place{}) {
			return ""
		}
		parts, dir = append(parts, above.Name), above.Dir
	}
	return ""
}

// live is the state of a node's inode before anything is done.
func (c *carrier) live(n graph.Node) journal.State { return c.present.now(n).state }

var verbOf = map[graph.Verb]journal.Verb{
	graph.PutAside: journal.Aside, graph.Take: journal.Take, graph.Drop: journal.Drop, graph.Rmdir: journal.RemoveDir, graph.Mkdir: journal.MakeDir, graph.MakeLink: journal.MakeSymlink,
	graph.Mknod: journal.MakeNode, graph.MakeEmpty: journal.Empty, graph.Put: journal.Put, graph.Link: journal.MakeLink, graph.Swap: journal.Swap, graph.Rewrite: journal.Rewrite, graph.SetMeta: journal.SetMeta,
}

// act adds the action of one operation.
func (c *carrier) act(op *graph.Op) error {
	a := journal.Action{Verb: verbOf[op.Verb]}
	if n := c.Relations.Nodes; op.At == (graph.Place{}) && n[op.Node].Root != "" && !disk.IsRoot(c.roots, n[op.Node].Root) {
		return nil // the directory of a root that is a file
	}
	if op.At == (graph.Place{}) {
		if err := c.placeless(op, &a); err != nil {
			return err
		}
	} else if a.Path = journal.Bytes(c.now(op.At)); a.Path == "" {
		return fmt.Errorf("%q: the directory that it was in is not there", op.At.Name)
	} else if d := c.dir(op.At.Dir); d.ok {
		a.Known.Dir = d.path
	}
	switch op.Verb {
	case graph.PutAside:
		st := c.live(op.Node)
		a.State = journal.State{Kind: st.Kind, ID: st.ID, Target: journal.Bytes(op.To.Name)}
		c.moved(op.Node, op.To)
	case graph.Take:
		c.take(op, &a)
	case graph.Drop, graph.Rmdir:
		a.State = c.live(op.Node)
		if op.Verb == graph.Rmdir {
			c.gone[op.Node] = true
			break
		}
		if left := c.named(op.Node, op.At, graph.Place{}); len(left) > 0 {
			a.State.Target = journal.Bytes(c.now(left[0]))
		} else {
			a.To = c.present.now(op.Node).anchor
		}
	case graph.Mkdir:
		a.State.Kind = journal.Dir
		c.moved(op.Node, op.At)
	case graph.MakeLink, graph.Mknod:
		st := c.stateOf(op.Node)
		a.State = journal.State{Kind: st.Kind, Target: st.Target}
	case graph.MakeEmpty:
		a.State.Kind = journal.File
	case graph.Put:
		c.put(op, &a)
	case graph.Link:
		a.State = journal.State{Kind: journal.File, Target: journal.Bytes(c.now(op.To))}
	case graph.Swap:
		if c.Files[string(a.Path)] || disk.Fixed(c.roots, c.path(op.At), c.live(op.Was).UID) { // its directory is not to be changed
			a.Verb = journal.Rewrite
			c.rewrite(op, &a)
			break
		}
		a.State, a.Object = c.live(op.Was), c.Versions[op.Version].Object
		if op.Keep == graph.Anchored {
			a.Object = c.present.now(op.Node).anchor
			c.used[op.At] = a.Object
		}
		a.Holds = c.Versions[op.Version].State.Size + 1
		c.kept[op.Was] = a.Object
	case graph.Rewrite:
		c.rewrite(op, &a)
	case graph.SetMeta:
		a.State = c.stateOf(op.Node)
		relate.SetMetaOf(&a.State, op.Meta)
		c.early[op.Node] = true
	default:
		return fmt.Errorf("%v is no operation of an undo", op.Verb)
	}
	switch op.Verb {
	case graph.PutAside:
		c.named(op.Node, op.At, op.To)
	case graph.Take:
		c.named(op.Node, op.At, graph.Place{})
	case graph.Put, graph.Link, graph.MakeEmpty:
		c.named(op.Node, graph.Place{}, op.At)
	}
	c.plan.records.Actions = append(c.plan.records.Actions, a)
	return nil
}

// named takes a name from a file, and gives it another; the zero Place is none. It
// gives the names that there are then.
func (c *carrier) named(n graph.Node, less, more graph.Place) []graph.Place {
	names, known := c.names[n]
	if !known {
		names = slices.Clone(c.Names(n))
	}
	names = slices.DeleteFunc(names, func(at graph.Place) bool { return at == less })
	if more != (graph.Place{}) {
		names = append(names, more)
	}
	c.names[n] = names
	return names
}

// placeless says where something is that no entry of the tree leads to.
func (c *carrier) placeless(op *graph.Op, a *journal.Action) error {
	n := c.Relations.Nodes[op.Node]
	if n.Root != "" {
		a.Path = journal.Bytes(n.Root)
		return nil
	}
	if a.In = c.present.now(op.Node).anchor; a.In == (journal.Object{}) {
		return fmt.Errorf("node %d has no name", op.Node)
	}
	a.Known.Was = c.present.now(op.Node).held
	if names := slices.Concat(n.Names, n.Last); len(names) > 0 {
		a.Known.Last = c.Relations.Path(names[0])
	}
	return nil
}

// stateOf is what is known of a node: of one that is made of another, of that.
func (c *carrier) stateOf(n graph.Node) journal.State {
	for i := range c.Copies {
		if c.Copies[i].Node == n {
			n = c.Copies[i].From
		}
	}
	if st := c.live(n); st.Kind != journal.Absent {
		return st
	}
	return c.Relations.Nodes[n].State
}

func (c *carrier) moved(n graph.Node, to graph.Place) {
	if c.Kind(n) == graph.Dir {
		c.where[n] = to
		delete(c.gone, n)
	}
}

func (c *carrier) take(op *graph.Op, a *journal.Action) {
	a.Object, a.State = c.fresh(), c.live(op.Node)
	if c.early[op.Node] {
		a.State.Size = -1
	}
	switch op.Keep {
	case graph.Parked:
		c.parked[op.Node], a.Whole = a.Object, a.State.Kind != journal.Dir
	case graph.Anchored:
		if !c.crosses(string(a.Path)) {
			c.inodes[string(a.Path)] = a.Object
			break
		}
		c.copied[op.Node] = true
		c.kept[op.Node] = cmp.Or(c.kept[op.Node], a.Object)
	default:
		c.kept[op.Node] = a.Object
	}
}

func (c *carrier) put(op *graph.Op, a *journal.Action) {
	switch op.Keep {
	case graph.Parked:
		a.Object, a.State = c.parked[op.Node], c.live(op.Node)
		a.State.Size, a.Whole = -1, a.State.Kind != journal.Dir
		c.moved(op.Node, op.At)
	case graph.Anchored:
		now := c.present.now(op.Node)
		a.Object, a.State = now.anchor, journal.State{Kind: now.held.Kind, Size: -1, Mtime: now.held.Mtime}
		c.used[op.At] = a.Object
	case graph.Copied:
		v := c.Versions[op.Of]
		a.Verb, a.Object, a.State, a.Holds = journal.Duplicate, v.Object, journal.State{Kind: journal.File, Size: v.State.Size}, v.State.Size+1
		switch {
		case v.State.Kind == journal.Symlink:
			a.Verb, a.State, a.Holds = journal.MakeSymlink, journal.State{Kind: journal.Symlink, Target: v.State.Target}, 0
		case v.Object == (journal.Object{}):
			a.Verb = journal.Empty
		}
	default:
		v := c.Versions[op.Version]
		a.Object, a.State = v.Object, journal.State{Kind: journal.File, Size: v.State.Size, Mtime: v.State.Mtime}
	}
}

func (c *carrier) rewrite(op *graph.Op, a *journal.Action) {
	v := c.Versions[op.Version]
	a.To, a.Object = c.fresh(), v.Object
	st := c.live(op.Node)
	if st.Kind == journal.Absent {
		st = c.present.now(op.Node).held
	}
	a.State = journal.State{Kind: journal.File, ID: st.ID, Size: st.Size, Mtime: st.Mtime}
	if c.early[op.Node] {
		a.State.Size = -1
	}
	if v.Object != (journal.Object{}) {
		a.Holds = v.State.Size + 1
	}
	c.kept[op.Node], c.early[op.Node] = a.To, true
}

// note makes what is written down: what is found, and what will be there.
func (c *carrier) note() {
	changed := make(map[graph.Node]graph.Version)
	for i := range c.Sets {
		if s := &c.Sets[i]; s.Part == graph.Content {
			changed[s.Node] = s.To.N
		}
	}
	entries := 0
	for i := range c.Sets {
		if c.Sets[i].Part == graph.Entry {
			entries++
		}
	}
	c.plan.records.Pre, c.plan.records.Posts = make([]journal.Pre, 0, entries), make([]journal.Post, 0, entries)
	pre, post, beyond := make(map[string]bool, entries), make(map[string]bool, entries), make(map[graph.Node]bool)
	addPre := func(at graph.Place) {
		path := c.path(at)
		if path == "" || pre[path] {
			return
		}
		pre[path] = true
		b := journal.Pre{Path: journal.Bytes(path), Inode: c.inodes[path]}
		if s := c.look1(at); s != nil && s.node != 0 {
			b.State, b.Was = s.state, c.rebound[s.node]
			if _, is := changed[s.node]; is || c.copied[s.node] {
				b.Object = c.kept[s.node]
			}
			if len(c.endNames(s.node)) == 0 && !beyond[s.node] {
				beyond[s.node] = true
				c.noteBeyond(s.node, b.Path, changed)
			}
		}
		c.plan.records.Pre = append(c.plan.records.Pre, b)
	}
	addPost := func(at graph.Place, n graph.Node) {
		path := c.then(at)
		if path == "" || post[path] {
			return
		}
		post[path] = true
		q := journal.Post{Path: journal.Bytes(path), Planned: true, From: c.used[at], Timed: c.timed(n)}
		if n != 0 {
			c.origin(&q, n, changed)
		}
		c.plan.records.Posts = append(c.plan.records.Posts, q)
	}
	for i := range c.Sets {
		s := &c.Sets[i]
		if s.Part == graph.Entry {
			at := graph.Place{Dir: s.Node, Name: s.Name}
			addPre(at)
			addPost(at, s.To.N)
			for _, n := range []graph.Node{c.Entry(at), s.To.N} {
				if by, lives := c.staysAt(n); lives {
					addPre(by)
					addPost(by, n)
				}
			}
		}
		// Of an entry the directory, which has another time afterwards.
		if root := c.Relations.Nodes[s.Node].Root; root != "" {
			if !pre[root] && disk.IsRoot(c.roots, root) {
				pre[root], post[root] = true, true
				c.plan.records.Pre = append(c.plan.records.Pre, journal.Pre{Path: journal.Bytes(root), State: c.live(s.Node), Object: c.kept[s.Node]})
				c.plan.records.Posts = append(c.plan.records.Posts, journal.Post{Path: journal.Bytes(root), Origin: journal.Bytes(root), Planned: true, Timed: c.timed(s.Node)})
			}
			continue
		}
		for _, at := range c.Names(s.Node) {
			addPre(at)
		}
		for _, at := range c.endNames(s.Node) {
			addPost(at, s.Node)
		}
	}
	c.noteWithin(changed)
	// A directory comes before what is in it: read the other way round, its name would stand
	// for what the records had there last.
	slices.SortStableFunc(c.plan.records.Pre, func(a, b journal.Pre) int { return cmp.Compare(pathname.Depth(a.Path), pathname.Depth(b.Path)) })
}

// staysAt gives a name that a file has before and afterwards. It is written down with
// names that the file gets or loses: a journal that is read from there on has to tell
// that it is the same file.
func (c *carrier) staysAt(n graph.Node) (graph.Place, bool) {
	if n == 0 || c.live(n).Links < 2 || c.Kind(n) == graph.Dir {
		return graph.Place{}, false
	}
	for _, at := range c.Names(n) {
		if slices.Contains(c.endNames(n), at) {
			return at, true
		}
	}
	return graph.Place{}, false
}

// noteBeyond writes down a file that only has names outside afterwards, as long as the
// store has a link of it.
func (c *carrier) noteBeyond(n graph.Node, path journal.Bytes, changed map[graph.Node]graph.Version) {
	if c.Unmet(n) == 0 {
		return
	}
	if c.copied[n] {
		c.noteGone(n)
		return
	}
	link := c.present.now(n).anchor
	for _, at := range c.Names(n) {
		if o := c.inodes[c.path(at)]; o != (journal.Object{}) {
			link = o
		}
	}
	if link != (journal.Object{}) {
		c.plan.records.Beyond = append(c.plan.records.Beyond, journal.Beyond{Path: path, As: c.as(n, changed), Link: link})
	}
}

// noteGone writes down which names a file no longer has: without one it is lost to the
// history, which can only bring a copy of it back.
func (c *carrier) noteGone(n graph.Node) {
	for _, at := range c.Relations.Nodes[n].Names {
		if path := c.Relations.Path(at); path != "" && !slices.Contains(c.Names(n), at) {
			c.plan.records.Pre = append(c.plan.records.Pre, journal.Pre{Path: journal.Bytes(path)})
		}
	}
}

// origin says what will be at a path: what it is called now, and what a step found
// that it is.
func (c *carrier) origin(q *journal.Post, n graph.Node, changed map[graph.Node]graph.Version) {
	for i, at := range c.Names(n) {
		if path := c.path(at); i == 0 || path == string(q.Path) {
			q.Origin = journal.Bytes(path)
		}
	}
	if _, is := changed[n]; is || len(q.Origin) == 0 {
		q.As = c.as(n, changed)
	}
}

// as names what a step found that a node will be; nil for what no step found.
func (c *carrier) as(n graph.Node, changed map[graph.Node]graph.Version) *journal.As {
	v, is := changed[n]
	if !is {
		v = c.Relations.Nodes[n].Content
	}
	if int(v) >= len(c.Versions) || v == graph.Dead || c.Versions[v].At.Step == 0 {
		return nil
	}
	at := c.Versions[v].At
	return &journal.As{Step: at.Step, Path: journal.Bytes(at.Path), Content: is}
}

// noteWithin writes down what was in files that only have names outside, and get one
// in the tree: also in a directory that is made only now, where it is changed.
func (c *carrier) noteWithin(changed map[graph.Node]graph.Version) {
	set := make(map[graph.Node]bool)
	for i := range c.Sets {
		set[c.Sets[i].Node] = set[c.Sets[i].Node] || c.Sets[i].Part != graph.Entry
	}
	for i := range c.Sets {
		s := &c.Sets[i]
		if s.Part != graph.Entry || s.To.N == 0 || len(c.Names(s.To.N)) > 0 || c.Unmet(s.To.N) == 0 {
			continue
		}
		at := graph.Place{Dir: s.Node, Name: s.Name}
		in := &journal.Within{State: c.present.now(s.To.N).held}
		if _, is := changed[s.To.N]; is {
			in.Object = c.kept[s.To.N]
		}
		path := c.path(at)
		if path == "" && set[s.To.N] {
			c.plan.records.Pre = append(c.plan.records.Pre, journal.Pre{Path: journal.Bytes(c.then(at)), Within: in})
		}
		if path == "" {
			continue
		}
		for j := range c.plan.records.Pre {
			if b := &c.plan.records.Pre[j]; string(b.Path) == path {
				b.Within = in
			}
		}
	}
}
