package interceptor

import (
	"container/list"
	"slices"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// topNode is the directory that has the roots.
const topNode = 1

// inode tells one object from others: the time of birth from one that had its number before.
type inode struct {
	dev, ino uint64
	birth    int64
}

// node is an object that the other side knows by a number. Its fields are nodes.mu's, but
// for those that never change.
type node struct {
	id      uint64
	is      inode
	kind    uint32 // a type as in st_mode
	root    *Root  // of a root: which; its descriptor is rootFD
	rootFD  int
	number  int // of a root
	names   []name
	lookups uint64
	gone    *unix.Statx_t // what it was when its last name went, nil for what has one
	pin     *pin
	watched atomic.Uint64 // of a directory: since which look changes in it are told, 0 for never
	handle  string        // by which they are told
}

// name is one by which the other side has found a node; the last is the newest.
type name struct {
	in   *node
	name string
}

// pin is an open directory.
type pin struct {
	fd, users int
	place     *list.Element // in nodes.unused, nil while it is used
	of        *node
	dropped   bool
}

// nodes are those that are known. What one request uses stays open until it is done.
type nodes struct {
	mu     sync.Mutex
	byID   map[uint64]*node
	byKey  map[inode]*node
	byName map[name]*node // the last one that a name led to
	next   uint64
	pins   int
	unused list.List // of *pin, the longest unused first
}

func (t *nodes) init() {
	t.byID, t.byKey, t.byName, t.next = make(map[uint64]*node), make(map[inode]*node), make(map[name]*node), topNode+1
}

func (t *nodes) get(id uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byID[id]
}

// found is told that an object has a name, and gives its node with one more lookup.
func (t *nodes) found(in *node, called string, st *unix.Statx_t) (*node, error) {
	is := inodeOf(st)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byKey[is]
	if n == nil || n.kind != uint32(st.Mode)&unix.S_IFMT {
		if len(t.byID) >= maxNodes {
			return nil, unix.ENFILE
		}
		n = &node{id: t.next, is: is, kind: uint32(st.Mode) & unix.S_IFMT}
		t.next++
		t.byID[n.id], t.byKey[is] = n, n
	}
	if n.root == nil {
		t.called(n, name{in, called})
		n.lookups++
	}
	return n, nil
}

// called makes a name the newest of a node; the lock is held.
func (t *nodes) called(n *node, k name) {
	if n.kind == unix.S_IFDIR {
		t.uncalled(n, n.names...) // a directory has one
	}
	t.uncalled(n, k)
	if len(n.names) >= maxNames {
		t.uncalled(n, n.names[0])
	}
	n.names = append(n.names, k)
	t.byName[k] = n
}

// uncalled takes names of a node away; the lock is held.
func (t *nodes) uncalled(n *node, names ...name) {
	for _, k := range slices.Clone(names) {
		n.names = slices.DeleteFunc(n.names, func(other name) bool { return other == k })
		if t.byName[k] == n {
			delete(t.byName, k)
		}
	}
}

// child is what a name led to last, nil where it is not known.
func (t *nodes) child(in *node, called string) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.byName[name{in, called}]
}

// known are the nodes of an object and its names.
func (t *nodes) known(is inode) (n *node, names []name) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n = t.byKey[is]; n != nil {
		names = slices.Clone(n.names)
	}
	return n, names
}

// all are all nodes with their names.
func (t *nodes) all() map[*node][]name {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := make(map[*node][]name, len(t.byID))
	for _, n := range t.byID {
		out[n] = slices.Clone(n.names)
	}
	return out
}

// namesOf are those of a node, the newest first.
func (t *nodes) namesOf(n *node) []name {
	t.mu.Lock()
	defer t.mu.Unlock()
	out := slices.Clone(n.names)
	slices.Reverse(out)
	return out
}

// lost is told that what was seen no longer has a name; gone says that it was the last one.
func (t *nodes) lost(st *unix.Statx_t, in *node, called string, gone bool) {
	is := inodeOf(st)
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byKey[is]
	if n == nil {
		return
	}
	t.uncalled(n, name{in, called})
	if gone {
		last := *st
		last.Nlink, n.gone = 0, &last
		delete(t.byKey, is)
		t.drop(n)
	}
}

// last is what a node was when its last name went: a program may stand in it, or have it open
// without a handle, as a FIFO is.
func (t *nodes) last(n *node) *unix.Statx_t {
	t.mu.Lock()
	defer t.mu.Unlock()
	return n.gone
}

// moved is told that a node has another name instead of one.
func (t *nodes) moved(is inode, from *node, was string, to *node, now string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if n := t.byKey[is]; n != nil {
		t.uncalled(n, name{from, was})
		t.called(n, name{to, now})
	}
}

// forget gives the node where nothing at the other side knows it any more.
func (t *nodes) forget(id, lookups uint64) *node {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := t.byID[id]
	if n == nil || n.root != nil {
		return nil
	}
	if n.lookups -= min(lookups, n.lookups); n.lookups > 0 {
		return nil
	}
	delete(t.byID, id)
	t.uncalled(n, n.names...)
	if t.byKey[n.is] == n {
		delete(t.byKey, n.is)
	}
	t.drop(n)
	return n
}

// use gives the pin of a node to one more user, nil where there is none.
func (t *nodes) use(n *node) *pin {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.used(n)
}

func (t *nodes) used(n *node) *pin {
	p := n.pin
	if p == nil {
		return nil
	}
	if p.users++; p.place != nil {
		t.unused.Remove(p.place)
		p.place = nil
	}
	return p
}

// keep makes an open directory the pin of a node, with one user. It closes fd where there is
// one already.
func (t *nodes) keep(n *node, fd int) *pin {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p := t.used(n); p != nil {
		unix.Close(fd)
		return p
	}
	n.pin = &pin{fd: fd, users: 1, of: n}
	t.pins++
	for t.pins > maxPins && t.unused.Len() > 0 {
		t.drop(t.unused.Front().Value.(*pin).of)
	}
	return n.pin
}

// done is told that one user of a pin is done with it.
func (t *nodes) done(p *pin) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if p.users--; p.users > 0 {
		return
	}
	if p.dropped {
		unix.Close(p.fd)
		return
	}
	p.place = t.unused.PushBack(p)
}

// unpin lets go of the directory of a node, which may have moved.
func (t *nodes) unpin(n *node) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.drop(n)
}

// drop is unpin; the lock is held.
func (t *nodes) drop(n *node) {
	p := n.pin
	if p == nil {
		return
	}
	n.pin, p.dropped = nil, true
	t.pins--
	if p.place != nil {
		t.unused.Remove(p.place)
		p.place = nil
		unix.Close(p.fd)
	}
}

func (t *nodes) closeAll() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, n := range t.byID {
		t.drop(n)
	}
}

func inodeOf(st *unix.Statx_t) inode {
	is := inode{dev: unix.Mkdev(st.Dev_major, st.Dev_minor), ino: st.Ino}
	if st.Mask&unix.STATX_BTIME != 0 {
		is.birth = st.Btime.Sec*1e9 + int64(st.Btime.Nsec)
	}
	return is
}
