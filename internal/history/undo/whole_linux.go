package undo

import (
	"fmt"
	"slices"

	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
)

// whole is what a request of several steps comes to, for the decision on each of them.
type whole struct {
	anew   map[graph.Node]bool          // directories that are made again, see [graph.Decision]
	names  map[graph.Node][]graph.Place // what gets names or a content back: the names, or none
	places []graph.Place                // where another program has put or taken something
}

func wholeOf(d *graph.Decision) whole {
	w := whole{anew: make(map[graph.Node]bool), names: make(map[graph.Node][]graph.Place)}
	for _, n := range d.Anew {
		w.anew[n] = true
	}
	for i := range d.Sets {
		s := &d.Sets[i]
		at := graph.Place{Dir: s.Node, Name: s.Name}
		switch {
		case s.Part == graph.Content && s.To.N != graph.Dead:
			if _, known := w.names[s.Node]; !known {
				w.names[s.Node] = nil // no name yet
			}
		case s.Part == graph.Entry && s.To.N != 0:
			w.names[s.To.N] = append(w.names[s.To.N], at)
		}
		if s.Part == graph.Entry && s.Derived {
			w.places = append(w.places, at)
		}
	}
	for i := range d.Conflicts {
		if c := &d.Conflicts[i]; c.Part == graph.Entry {
			w.places = append(w.places, graph.Place{Dir: c.Node, Name: c.Name})
		}
	}
	return w
}

// Holder implements [graph.Present].
func (p *present) Holder(dir graph.Node) bool { return p.whole.anew[dir] }

// Awaited implements [graph.Present].
func (p *present) Awaited(n graph.Node) (names []graph.Place, is bool) {
	at, is := p.whole.names[n]
	return slices.Clone(at), is
}

// arrived looks whether the steps, taken back one by one, have come to what they were
// to come to together.
func (u *undo) arrived() error {
	d, err := u.decide(u.roots, u.steps, u.forPreview)
	if err != nil {
		return err
	}
	no := func(k graph.Key) error {
		return fmt.Errorf("%q: it is not as the steps had found it; take them back one by one", d.present.name(k))
	}
	if u.req.Mode != journal.Abort {
		if k, is := u.missed(d); is {
			return no(k)
		}
		return nil
	}
	for i := range d.Sets {
		if s := &d.Sets[i]; !s.Weak() && !d.present.alike(s.Key, s.From, s.To) {
			return no(s.Key)
		}
	}
	for i := range d.Conflicts {
		if c := &d.Conflicts[i]; !c.Follows && !c.Weak() && !u.livesOn(c) && !d.present.alike(c.Key, c.Found, c.Wanted) {
			return no(c.Key)
		}
	}
	return nil
}

// missed finds what the steps were to bring back together, and did not one by one, where
// another program has changed some of it. What stays was told.
func (u *undo) missed(d *decided) (graph.Key, bool) {
	told := make(map[graph.Key]bool)
	for i := range u.promised.Conflicts {
		if c := &u.promised.Conflicts[i]; c.Left {
			told[c.Key] = true
		}
	}
	for i := range u.promised.Copies {
		told[graph.Key{Part: graph.Content, Node: u.promised.Copies[i].From}] = true
	}
	back := func(k graph.Key, is, wanted graph.Value) bool { // a node or a version; 0 is none
		return k.Part == graph.Meta || wanted.N == 0 || told[k] || d.present.alike(k, is, wanted)
	}
	for i := range d.Sets {
		if s := &d.Sets[i]; !s.Derived && !back(s.Key, s.From, s.To) {
			return s.Key, true
		}
	}
	for i := range d.Conflicts {
		if c := &d.Conflicts[i]; c.Left && !c.Derived && !back(c.Key, c.Found, c.Wanted) {
			return c.Key, true
		}
	}
	return graph.Key{}, false
}
