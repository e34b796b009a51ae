package graph

import (
	"fmt"
	"maps"
	"slices"
)

// executor carries operations out on the model. Resumed, it does all of them
// again and takes what it finds done for done; else it takes nothing for granted.
type executor struct {
	*world
	ops     []Op
	planned map[Node]uint64 // inodes when the plan was made
	made    map[int]uint64  // inodes that an operation brought
	resumed bool
}

func newExecutor(w *world, ops []Op) *executor {
	e := &executor{world: w, ops: ops, planned: make(map[Node]uint64), made: make(map[int]uint64)}
	for n, ino := range w.inoOf {
		e.planned[n] = ino
	}
	return e
}

// run does operations up to one.
func (e *executor) run(to int) error {
	for i := range to {
		if err := e.do(i, &e.ops[i]); err != nil {
			return fmt.Errorf("operation %d, %s: %w", i, show(e.ops[i]), err)
		}
	}
	return nil
}

func show(op Op) string {
	return fmt.Sprintf("%v at %v node %d was %d to %v keep %d v%d of v%d old v%d",
		op.Verb, op.At, op.Node, op.Was, op.To, op.Keep, op.Version, op.Of, op.Old)
}

func (e *executor) do(i int, op *Op) error {
	var dir *inode
	if op.At != (Place{}) {
		dir = e.inode(op.At.Dir)
		if dir == nil || !e.attached(dir.ino) {
			if e.resumed && slices.Contains([]Verb{Take, Drop, Rmdir, PutAside, Rewrite, SetMeta}, op.Verb) {
				return nil
			}
			return fmt.Errorf("the directory is not there")
		}
	}
	switch op.Verb {
	case PutAside:
		return e.putAside(dir, op)
	case Take, Drop, Rmdir:
		return e.remove(dir, op)
	case Mkdir, MakeLink, MakeEmpty, Put, Link, Mknod:
		return e.bring(i, dir, op)
	case Swap:
		return e.swap(i, dir, op)
	case Rewrite:
		return e.rewrite(dir, op)
	case SetMeta:
		return e.setAll(dir, op)
	}
	return fmt.Errorf("unknown")
}

func (e *executor) putAside(dir *inode, op *Op) error {
	ino := dir.entries[op.At.Name]
	if ino == 0 || ino != e.inoOf[op.Node] {
		return e.unless(dir.entries[op.To.Name] == e.inoOf[op.Node])
	}
	if dir.entries[op.To.Name] != 0 {
		return fmt.Errorf("the other name is taken")
	}
	e.store["moving"] = ino
	e.memory.set(dir.ino, op.At.Name, 0)
	e.memory.set(dir.ino, op.To.Name, ino)
	delete(e.store, "moving")
	e.name(op.To, op.Node)
	return nil
}

// unless is an error, but not when it was done before.
func (e *executor) unless(done bool) error {
	if e.resumed && done {
		return nil
	}
	return fmt.Errorf("not as expected")
}

func (e *executor) remove(dir *inode, op *Op) error {
	ino := dir.entries[op.At.Name]
	if ino == 0 || ino != e.planned[op.Was] {
		return e.unless(true)
	}
	n := op.Node
	e.dead[n] = maps.Clone(e.inodes[ino].meta)
	switch {
	case op.Verb == Drop:
		if _, ok := e.store[held(n)]; e.links(ino) < 2 && !ok && e.store[parked(n)] != ino {
			return fmt.Errorf("it has no other name")
		}
	case op.Verb == Rmdir:
		if len(e.inodes[ino].entries) > 0 {
			return fmt.Errorf("there is something in it")
		}
	case op.Keep == Parked:
		e.store[parked(n)] = ino
	case !e.anchors && e.inodes[ino].kind != File: // it is made again
	case !e.anchors:
		if e.versions[op.Old].data != e.inodes[ino].data {
			return fmt.Errorf("another content than planned")
		}
		e.versions[op.Old].object = true
	default:
		e.store[held(n)] = ino
		if op.Keep == AsObject && e.versions[op.Old].data != e.inodes[ino].data {
			return fmt.Errorf("another content than planned")
		}
	}
	e.memory.set(dir.ino, op.At.Name, 0)
	if e.inodes[ino] != nil {
		e.unmet[n] = max(0, e.links(ino)-len(e.Names(n)))
	}
	return nil
}

// bring makes an entry lead to a node.
func (e *executor) bring(i int, dir *inode, op *Op) error {
	if now := dir.entries[op.At.Name]; now != 0 {
		return e.unless(now == e.inoOf[op.Node])
	}
	ino, err := e.fetch(i, op)
	if err != nil {
		return err
	}
	e.memory.set(dir.ino, op.At.Name, ino)
	delete(e.store, parked(op.Node))
	if op.Verb == Put && op.Keep == Anchored {
		delete(e.store, held(op.Node))
	}
	e.name(op.At, op.Node)
	return nil
}

// fetch gives the inode that an entry is to lead to.
func (e *executor) fetch(i int, op *Op) (uint64, error) {
	switch {
	case op.Verb == Link:
		d := e.inode(op.To.Dir)
		if d == nil || !e.attached(d.ino) || d.entries[op.To.Name] != e.inoOf[op.Node] {
			return 0, fmt.Errorf("the first name does not lead to it")
		}
		return e.inoOf[op.Node], nil
	case op.Verb == Put && op.Keep == Parked:
		return e.stored(parked(op.Node))
	case op.Verb == Put && op.Keep == Anchored:
		ino, err := e.stored(held(op.Node))
		if op.Version != 0 {
			e.ver[op.Node] = op.Version
		}
		return ino, err
	}
	made := e.make(op.Kind)
	e.made[i] = made.ino
	n := op.Node
	if c := e.versions[op.Version]; c != nil {
		made.data = c.data
	}
	if op.Verb == Put && op.Keep == AsObject {
		if c := e.versions[op.Version]; c == nil || c.lost || !c.object {
			return 0, fmt.Errorf("there is no such object")
		}
		e.versions[op.Version].object = false
	}
	if op.Verb == Put && op.Keep == Copied {
		of := e.versions[op.Of]
		if k, _ := e.Keeping(op.Of); k != Empty && k != InObject && k != InAnchor {
			return 0, fmt.Errorf("nothing to copy")
		}
		made.data = of.data
		e.kindOf[n] = op.Kind
		e.versions[op.Version] = &content{data: of.data, of: n}
	}
	made.wrote = e.tick()
	e.become(n, made, op.Version, op.Old)
	return made.ino, nil
}

// become has a node be another inode, with a content.
func (e *executor) become(n Node, i *inode, v, old Version) {
	if old != 0 {
		e.versions[old].object = true
	}
	e.bindTo(n, i.ino)
	delete(e.store, held(n))
	e.ver[n], e.wrote[n] = v, i.wrote
}

func (e *executor) stored(name string) (uint64, error) {
	ino, ok := e.store[name]
	if !ok {
		return 0, fmt.Errorf("the store has no %s", name)
	}
	return ino, nil
}

func (e *executor) swap(i int, dir *inode, op *Op) error {
	now := dir.entries[op.At.Name]
	if now != 0 && now == e.made[i] {
		return e.unless(true)
	}
	if op.Was != op.Node {
		return e.exchangeNodes(i, dir, op)
	}
	c := e.versions[op.Version]
	if now != e.inoOf[op.Was] || c == nil || !c.object || c.lost {
		return fmt.Errorf("not as expected")
	}
	if e.links(now) != 1 {
		return fmt.Errorf("it has %d names", e.links(now))
	}
	if e.versions[op.Old].data != e.inodes[now].data {
		return fmt.Errorf("another content than planned")
	}
	made := e.make(File)
	made.data, made.wrote = c.data, e.tick()
	e.made[i] = made.ino
	e.versions[op.Old].object, c.object = true, false
	e.become(op.Node, made, op.Version, op.Old)
	e.memory.set(dir.ino, op.At.Name, made.ino)
	return nil
}

// exchangeNodes is a Swap of a node that dies and one that comes.
func (e *executor) exchangeNodes(i int, dir *inode, op *Op) error {
	now := dir.entries[op.At.Name]
	if now != e.planned[op.Was] || e.links(now) != 1 || e.versions[op.Old].data != e.inodes[now].data {
		return fmt.Errorf("not as expected")
	}
	ino, err := e.fetch(i, &Op{Verb: Put, Node: op.Node, Keep: op.Keep, Kind: op.Kind, Version: op.Version})
	if err != nil {
		return err
	}
	e.made[i] = ino
	e.dead[op.Was] = maps.Clone(e.inodes[now].meta)
	if e.anchors {
		e.store[held(op.Was)] = now
	} else {
		e.versions[op.Old].object = true
	}
	e.memory.set(dir.ino, op.At.Name, ino)
	if op.Keep == Anchored {
		delete(e.store, held(op.Node))
	}
	e.name(op.At, op.Node)
	return nil
}

func (e *executor) rewrite(dir *inode, op *Op) error {
	ino := e.inoOf[op.Node]
	if dir != nil && dir.entries[op.At.Name] != ino {
		return e.unless(true)
	}
	if held := e.store[held(op.Node)]; dir == nil && held != ino {
		return fmt.Errorf("there is no anchor")
	}
	i, c := e.inodes[ino], e.versions[op.Version]
	if c == nil || !c.object || c.lost {
		return fmt.Errorf("there is no such object")
	}
	if old := e.versions[op.Old]; !old.object {
		if old.data != i.data {
			return fmt.Errorf("another content than planned")
		}
		old.object = true
	}
	e.memory.write(i, c.data)
	e.ver[op.Node], e.wrote[op.Node] = op.Version, i.wrote
	return nil
}

func (e *executor) setAll(dir *inode, op *Op) error {
	i := e.inode(op.Node)
	if i == nil {
		return fmt.Errorf("there is no such node")
	}
	if dir != nil && dir.entries[op.At.Name] != i.ino {
		return e.unless(true)
	}
	if dir == nil && i.ino != e.root && e.store[held(op.Node)] != i.ino {
		return fmt.Errorf("there is no way to it")
	}
	i.meta = maps.Clone(op.Meta)
	return nil
}
