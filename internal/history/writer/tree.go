package writer

import (
	"strings"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"
)

// tree is what a step knows of the names below its roots: only those that it has
// touched, and the directories on the way. It follows renames, so that everything
// is known by its origin.
type tree struct {
	roots   map[string]*object
	slots   int   // how many names are known
	held    int64 // bytes of memory that they take, about
	longest int   // no path of them has more bytes
}

// slot is a name in a directory.
type slot struct {
	dir  *object // nil for a root
	name string
	is   *object // nil: nothing, as far as the step knows
	via  *via    // while a change of it is on its way
	kept bool    // what the step found here is in the journal
	used bool    // the name was given a meaning, or lost one
	// pending counts the changes on their way that put something there, or change what is.
	pending int
	other   *object // what another program had put there, see meetsStranger
	foreign bool    // what is there is that program's, as the change on its way has met it
	// changes counts those of the name, or of what is there, that did not fail.
	changes int
}

// via leads to a slot where no path does.
type via struct {
	dir    int // the directory that it is in; 0 or less where that is not known
	name   string
	in     journal.ID // what dir is, without the time of its birth; zero where that is not known
	pinned int        // what is there

	seen   *journal.State // what was seen there, see lookedAt
	with   int            // of what was asked for
	pauses uint64         // of the writer at that time
}

// object is what a name means.
type object struct {
	origin    string // "" for what the step made
	at        *slot  // where it is now, nil once it is gone
	names     map[string]*slot
	passed    bool           // a directory that a path went through, where nothing is known of who made it
	displaced *slot          // where it was until another program put something else there; at is nil then
	mayLose   bool           // its content, without another question
	counted   bool           // in the tally, as removed or replaced
	opened    bool           // for writing, once at least
	written   bool           // or could have been: such an open was made
	touched   bool           // its metadata was changed, or could have been
	timed     bool           // so were its times, by a call for just that
	meta      bool           // its state is in the journal
	content   bool           // its content is kept, or is known to be lost
	held      uint64         // the number of the link that keeps the file, as it has other names
	grouped   bool           // the content of a file with several names is written down for this one
	group     *group         // of a file with several names
	changes   int            // that did not fail
	copy      *journal.Pre   // what was written down when the content was kept
	found     *journal.State // as the step found it, once that is in the journal
	left      *journal.State // as a call of the step left it that opened nothing, or as it was met since
	hidden    *journal.State // as it was before the step kept its owner from reading it
	busy      chan struct{}  // a writer keeps it at the moment, or is about to take its last name
	number    uint64         // of what is kept
	linked    *hardLink      // kept by a link, which is no copy before the name is gone
	id        journal.ID     // where known
	own       *grant         // see grant; of a file with several names it is the group's
}

// grant is what is known of how the step writes to a file, nil where it does not.
func (o *object) grant() *grant {
	if o == nil {
		return nil
	}
	if o.group != nil {
		return o.group.grant
	}
	return o.own
}

func (o *object) setGrant(g *grant) {
	if o.group != nil {
		o.group.grant = g
		return
	}
	o.own = g
}

// group is a file with several names, as far as the step has met them.
type group struct {
	state   journal.State
	members []*object    // with an origin
	kept    *journal.Pre // its content, once it was copied
	holder  *object      // a member that has a link in the store, see [object.held]
	changes int          // by any name, that did not fail
	grant   *grant       // what is known of how the step writes to it by any name
	touched bool         // its metadata was changed by any name, or could have been
	written bool         // so was its content
}

// hardLink keeps a file by a second name. Its lease lasts until the first one is
// gone: who opened the file for writing in between, another run for one, would
// write into what is kept.
type hardLink struct {
	leased int // the file, -1 where there is no lease
}

func newTree(roots []string) *tree {
	t := &tree{roots: make(map[string]*object)}
	for _, r := range roots {
		s := &slot{name: r}
		s.is = &object{origin: r, at: s}
		t.roots[r] = s.is
	}
	return t
}

// rootOf gives the root that a path is in; "" for none.
func (t *tree) rootOf(path string) string {
	for r := range t.roots {
		if pathname.Within(path, r) {
			return r
		}
	}
	return ""
}

// find gives the slot of a path, nil for one in no root.
func (t *tree) find(path string) *slot {
	root := t.rootOf(path)
	if root == "" {
		return nil
	}
	s := t.roots[root].at
	if s == nil {
		return nil
	}
	for rest := strings.TrimPrefix(path[len(root):], "/"); rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		if name == "" {
			continue
		}
		known := 0
		if s.is != nil {
			known = len(s.is.names)
		}
		if s = s.down(name); len(s.dir.names) > known {
			t.slots++
			t.held += s.weight()
		}
	}
	t.longest = max(t.longest, len(path))
	return s
}

// down gives the slot of a name in what is at s. What lies in a directory that
// the step did not make is taken to be there until somebody has looked.
func (s *slot) down(name string) *slot {
	if s.is == nil {
		s.is = &object{at: s, passed: true}
	}
	d := s.is
	if c := d.names[name]; c != nil {
		return c
	}
	c := &slot{dir: d, name: strings.Clone(name), kept: d.origin == ""}
	if d.origin != "" {
		c.is = &object{origin: pathname.Join(d.origin, c.name), at: c}
	}
	if d.names == nil {
		d.names = make(map[string]*slot)
	}
	d.names[c.name] = c
	return c
}

// weight is what a new slot takes of memory, about: a state will be known of it.
func (s *slot) weight() int64 {
	const usual = 900
	w := usual + len(s.name)
	if s.is != nil {
		w += len(s.is.origin)
	}
	return int64(w)
}

// path is what a slot is called now, "" where a directory on the way is gone.
func (s *slot) path() string {
	top, n := s, 0
	for ; top.dir != nil; top = top.dir.at {
		if n += 1 + len(top.name); top.dir.at == nil {
			return ""
		}
	}
	if top.name != "/" {
		n += len(top.name)
	}
	b := make([]byte, n)
	for ; s.dir != nil; s = s.dir.at {
		n -= copy(b[n-len(s.name):], s.name) + 1
		b[n] = '/'
	}
	copy(b, top.name[:n])
	return string(b)
}

// placed reports whether a slot has a path: no directory on the way is gone.
func (s *slot) placed() bool {
	for ; s.dir != nil; s = s.dir.at {
		if s.dir.at == nil {
			return false
		}
	}
	return true
}

// origin is the path that a slot had when the step began, "" for one that did
// not exist: it is the directory's that counts.
func (s *slot) origin() string {
	switch {
	case s.dir == nil:
		return s.name
	case s.dir.origin == "":
		return ""
	}
	return pathname.Join(s.dir.origin, s.name)
}

// noted says whether the journal may have something of a slot.
func (s *slot) noted() bool { return s.used && s.dir != nil || s.is != nil && s.is.meta }

// gone empties a slot.
func (s *slot) gone() {
	if s.is != nil && s.is.at == s {
		s.is.at = nil
	}
	s.is = nil
}

// made puts something new there.
func (s *slot) made() {
	s.gone()
	s.is, s.used = &object{at: s, meta: true, content: true}, true
}

// moved puts what is at from there.
func (s *slot) moved(from *slot) {
	is := from.is
	if is == nil {
		is = &object{meta: true, content: true}
	}
	from.is = nil
	s.gone()
	s.is, is.at, s.used = is, s, true
}

// exchanged changes what is at two slots.
func (s *slot) exchanged(with *slot) {
	s.is, with.is = with.is, s.is
	for _, x := range []*slot{s, with} {
		if x.used = true; x.is != nil {
			x.is.at = x
		}
	}
}

// each calls do for every slot that was touched, parents first.
func (t *tree) each(do func(*slot)) {
	var stack []*slot
	for _, r := range t.roots {
		if r.at != nil {
			stack = append(stack, r.at)
		}
	}
	for len(stack) > 0 {
		s := stack[len(stack)-1]
		stack = stack[:len(stack)-1]
		do(s)
		if s.is == nil {
			continue
		}
		for _, c := range s.is.names {
			stack = append(stack, c)
		}
	}
}

// byOrigin gives where what the step found is now.
func (t *tree) byOrigin() map[string]*slot {
	now := make(map[string]*slot)
	t.each(func(s *slot) {
		if s.is != nil && s.is.origin != "" {
			now[s.is.origin] = s
		}
	})
	return now
}

// means gives what the two names of a change mean, nil where that is nothing.
func (t *tree) means(c *Change) (is [2]*object) {
	for i, path := range []string{c.Path, c.To} {
		if path == "" {
			continue
		}
		if s := t.find(path); s != nil {
			is[i] = s.is
		}
	}
	return is
}
