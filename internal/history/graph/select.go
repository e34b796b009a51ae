package graph

// Select gives the transitions of the keys that are chosen, and of those without
// which they would mean something else: the other end of a rename, what is in a
// directory that is made or removed, a directory that something comes back into,
// and contents and metadata of the nodes that this reaches.
func Select(ts []Transition, chosen func(Key) bool) []Transition {
	s := &selection{keys: make(map[Key]*Change), taken: make(map[Key]bool), ends: make(map[Node]*ends)}
	s.read(ts)
	for i := range ts {
		if k := ts[i].Key; chosen(k) {
			s.take(k, true)
			s.lifetime(s.keys[k])
		}
	}
	s.close()
	var out []Transition
	for i := range ts {
		if s.taken[ts[i].Key] {
			out = append(out, ts[i])
		}
	}
	return out
}

// ends are the keys that have to do with a node.
type ends struct {
	leaves, comes []Key // entries
	inside        []Key // of a directory
	own           []Key // content and metadata
	opened        bool
}

type selection struct {
	order []Key
	keys  map[Key]*Change
	taken map[Key]bool
	ends  map[Node]*ends
	queue []Key
}

func (s *selection) of(n Node) *ends {
	e := s.ends[n]
	if e == nil {
		e = &ends{}
		s.ends[n] = e
	}
	return e
}

// read finds what each key was at first and is in the end.
func (s *selection) read(ts []Transition) {
	for i := range ts {
		t := &ts[i]
		if c := s.keys[t.Key]; c != nil {
			c.Last = t.To
			continue
		}
		s.keys[t.Key] = &Change{Key: t.Key, First: t.From, Last: t.To}
		s.order = append(s.order, t.Key)
	}
	for _, k := range s.order {
		c := s.keys[k]
		if k.Part != Entry {
			s.of(k.Node).own = append(s.of(k.Node).own, k)
			continue
		}
		s.of(k.Node).inside = append(s.of(k.Node).inside, k)
		if c.First == c.Last {
			continue
		}
		if n := c.First.N; n != 0 {
			s.of(n).leaves = append(s.of(n).leaves, k)
		}
		if n := c.Last.N; n != 0 {
			s.of(n).comes = append(s.of(n).comes, k)
		}
	}
}

// take adds a key. With open also what is in a directory that it makes or removes.
func (s *selection) take(k Key, open bool) {
	c := s.keys[k]
	if c == nil {
		return
	}
	if !s.taken[k] {
		s.taken[k] = true
		s.queue = append(s.queue, k)
	}
	if k.Part == Entry && open {
		s.open(c.First.N)
		s.open(c.Last.N)
	}
}

// lifetime adds the entries with which a chosen content came or went.
func (s *selection) lifetime(c *Change) {
	if c.Part != Content {
		return
	}
	if c.First.N == Dead {
		for _, k := range s.of(c.Node).comes {
			s.take(k, true)
		}
	}
	if c.Last.N == Dead {
		for _, k := range s.of(c.Node).leaves {
			s.take(k, true)
		}
	}
}

// open notes that what is in a directory belongs to the selection, if the steps
// made or removed it.
func (s *selection) open(n Node) {
	if c := s.keys[Key{Part: Content, Node: n}]; n == 0 || c == nil || (c.First.N == Dead) == (c.Last.N == Dead) {
		return
	}
	if e := s.of(n); !e.opened {
		e.opened = true
		s.queue = append(s.queue, e.inside...)
		for _, k := range e.inside {
			s.taken[k] = true
		}
	}
}

// close adds what belongs to the keys that are there, until nothing is new.
func (s *selection) close() {
	for len(s.queue) > 0 {
		k := s.queue[0]
		s.queue = s.queue[1:]
		if k.Part != Entry {
			continue
		}
		c := s.keys[k]
		if s.of(k.Node).opened {
			s.open(c.First.N)
			s.open(c.Last.N)
		}
		s.directory(k.Node)
		s.node(c.First.N, func(e *ends) []Key { return e.comes }, c)
		s.node(c.Last.N, func(e *ends) []Key { return e.leaves }, c)
	}
}

// directory adds a directory that the steps removed, so that something can come
// back into it.
func (s *selection) directory(n Node) {
	c := s.keys[Key{Part: Content, Node: n}]
	if c == nil || c.First.N == Dead || c.Last.N != Dead {
		return
	}
	e := s.of(n)
	for _, k := range e.leaves {
		s.take(k, false)
	}
	s.own(e)
}

// node adds a node that an entry led to, and the other end of its way.
func (s *selection) node(n Node, other func(*ends) []Key, c *Change) {
	if n == 0 {
		return
	}
	e := s.of(n)
	s.own(e)
	if c.First == c.Last {
		return
	}
	for _, k := range other(e) {
		s.take(k, s.of(k.Node).opened)
	}
}

func (s *selection) own(e *ends) {
	for _, k := range e.own {
		s.taken[k] = true
	}
}
