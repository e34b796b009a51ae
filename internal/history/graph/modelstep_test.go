package graph

import "maps"

// begin opens a step; what is called until end is recorded in it.
func (w *world) begin(step uint64) { w.step, w.ts = step, nil }

// end closes the step.
func (w *world) end() []Transition {
	w.remember()
	ts := w.ts
	w.ts = nil
	return ts
}

// remember notes the metadata of all nodes, as a journal has it.
func (w *world) remember() {
	for n := range w.inoOf {
		if i := w.inode(n); i != nil && w.Content(n) != Dead {
			w.dead[n] = maps.Clone(i.meta)
		}
	}
}

func (w *world) record(k Key, from, to Value) {
	if from == to {
		return
	}
	w.ts = append(w.ts, Transition{Key: k, From: from, To: to, Step: w.step})
	w.setBy[k] = w.step
	if k.Part == Entry {
		w.last[k.place()] = to.N
	}
}

// entry changes an entry, and records that, with the time of the directory.
func (w *world) entry(dir uint64, name string, ino uint64) {
	d := w.dirAt(dir)
	p := Place{d, name}
	was := w.Entry(p)
	var n Node
	if ino != 0 {
		n = w.meet(ino)
	}
	time := w.inodes[dir].meta[Mtime]
	w.memory.set(dir, name, ino)
	w.record(p.Key(), Value{N: was}, Value{N: n})
	w.record(Key{Meta, d, Mtime}, Value{S: time}, Value{S: w.inodes[dir].meta[Mtime]})
	if n != 0 {
		w.name(p, n)
	}
}

// birth records that a new node is there.
func (w *world) birth(dir uint64, name string, i *inode) {
	n := w.meet(i.ino)
	w.madeBy[n] = w.step
	w.versions[w.ver[n]].step = w.step
	w.entry(dir, name, i.ino)
	w.record(Key{Part: Content, Node: n}, Value{}, Value{N: w.ver[n]})
}

func (w *world) create(dir uint64, name, data string) {
	i := w.make(File)
	i.data, i.wrote = data, w.tick()
	w.birth(dir, name, i)
}

func (w *world) mkdir(dir uint64, name string) { w.birth(dir, name, w.make(Dir)) }

func (w *world) symlink(dir uint64, name, target string) {
	i := w.make(Symlink)
	i.data = target
	w.birth(dir, name, i)
}

// keep has the store keep a content that the step did not make.
func (w *world) keep(n Node) {
	c := w.versions[w.ver[n]]
	if c.step != w.step && w.kindOf[n] == File {
		c.object = true
	}
}

// met notes that a call goes by an entry.
func (w *world) met(s spot) Node {
	n := w.meet(s.ino)
	w.name(Place{w.dirAt(s.dir), s.name}, n)
	return n
}

// modify writes to a file.
func (w *world) modify(s spot, data string) {
	n, ino := w.met(s), s.ino
	w.sync(n)
	i := w.inodes[ino]
	time := i.meta[Mtime]
	w.memory.write(i, data)
	if own := w.versions[w.ver[n]]; own.step == w.step {
		own.data = data
	} else {
		w.keep(n)
		v := w.NewVersion()
		w.record(Key{Part: Content, Node: n}, Value{N: w.ver[n]}, Value{N: v})
		w.versions[v] = &content{data: data, step: w.step, of: n}
		w.ver[n] = v
	}
	w.wrote[n] = i.wrote
	w.record(Key{Meta, n, Mtime}, Value{S: time}, Value{S: i.meta[Mtime]})
}

// depart keeps what is about to lose a name.
func (w *world) depart(dir uint64, name string) {
	ino := w.at(dir, name)
	if ino == 0 {
		return
	}
	n := w.meet(ino)
	w.name(Place{w.dirAt(dir), name}, n)
	w.sync(n)
	i := w.inodes[ino]
	w.dead[n] = maps.Clone(i.meta)
	if i.kind == Dir || w.madeBy[n] == w.step && w.versions[w.ver[n]].step == w.step {
		return
	}
	if w.anchors {
		w.store[held(n)] = ino
	} else {
		w.keep(n)
	}
}

// departed records the end of what has lost its last name.
func (w *world) departed(ino uint64) {
	if ino == 0 {
		return
	}
	n := w.bind[ino]
	links := w.links2(ino)
	w.unmet[n] = links - len(w.Names(n))
	if links == 0 {
		w.record(Key{Part: Content, Node: n}, Value{N: w.ver[n]}, Value{})
	}
}

// links2 is the number of names of an inode that may have gone altogether.
func (w *world) links2(ino uint64) int {
	if w.inodes[ino] == nil {
		return 0
	}
	return w.links(ino)
}

func (w *world) unlink(dir uint64, name string) {
	ino := w.at(dir, name)
	w.depart(dir, name)
	w.entry(dir, name, 0)
	w.departed(ino)
}

func (w *world) link(s spot, dir uint64, name string) {
	w.met(s)
	w.entry(dir, name, s.ino)
}

func (w *world) rename(dir uint64, name string, to uint64, as string) {
	ino, over := w.at(dir, name), w.at(to, as)
	if ino == over {
		return
	}
	w.dirAt(dir)
	w.name(Place{w.bind[dir], name}, w.meet(ino))
	w.depart(to, as)
	// The name that is new comes first, as a node without any is forgotten here.
	if over != 0 {
		w.store["over"] = over
	}
	w.entry(to, as, ino)
	w.entry(dir, name, 0)
	delete(w.store, "over")
	w.reap(over)
	w.departed(over)
}

func (w *world) exchange(dir uint64, name string, to uint64, as string) {
	a, b := w.at(dir, name), w.at(to, as)
	w.name(Place{w.dirAt(dir), name}, w.meet(a))
	w.name(Place{w.dirAt(to), as}, w.meet(b))
	w.store["a"] = a
	w.store["b"] = b
	w.entry(to, as, a)
	w.entry(dir, name, b)
	delete(w.store, "a")
	delete(w.store, "b")
}

// removeAll removes a directory as rm -r does.
func (w *world) removeAll(dir uint64, name string) {
	spots := w.walk(w.at(dir, name))
	for k := len(spots) - 1; k >= 0; k-- {
		w.unlink(spots[k].dir, spots[k].name)
	}
	w.unlink(dir, name)
}

func (w *world) setMeta(s spot, part, text string) {
	n, i := w.meet(s.ino), w.inodes[s.ino]
	if s.ino != w.root {
		w.met(s)
	}
	w.record(Key{Meta, n, part}, Value{S: i.meta[part]}, Value{S: text})
	i.meta[part] = text
}
