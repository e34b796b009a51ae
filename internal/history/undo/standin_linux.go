package undo

import (
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
)

// standIns lets a directory that is nowhere any more, and that the transitions do not bring
// back, be the one that has its name now: what it held can come back there.
func (p *present) standIns(ts []graph.Transition) []graph.Transition {
	p.moved = make(map[graph.Node]bool)
	keys := make(map[graph.Key]bool, len(ts))
	for i := range ts {
		if keys[ts[i].Key] = true; ts[i].Key.Part == graph.Entry {
			p.moved[ts[i].From.N], p.moved[ts[i].To.N] = true, true
		}
	}
	var out []graph.Transition // nil as long as there is none
	for i := range ts {
		k := ts[i].Key
		if k.Part != graph.Entry {
			continue
		}
		at := graph.Place{Dir: k.Node, Name: k.Name}
		as := p.stands(at)
		if as == at || keys[as.Key()] {
			continue
		}
		if out == nil {
			out = append(out, ts...)
		}
		p.Entry(as)
		out[i].Key = as.Key()
	}
	if out == nil {
		return ts
	}
	return out
}

// stands gives an entry in the directory that is now where its own was.
func (p *present) stands(at graph.Place) graph.Place {
	if p.moved[at.Dir] || p.dir(at.Dir).ok {
		return at
	}
	if n := p.standIn(at.Dir, make(map[graph.Node]bool)); n != 0 && !p.moved[n] {
		at.Dir = n
	}
	return at
}

// standIn gives the directory that is now where one was last, 0 for none. on are those that
// are being asked for.
func (p *present) standIn(n graph.Node, on map[graph.Node]bool) graph.Node {
	if on[n] || int(n) >= len(p.Relations.Nodes) {
		return 0
	}
	on[n] = true
	if p.dir(n).ok {
		return n
	}
	x := p.Relations.Nodes[n]
	names := x.Names
	if len(names) == 0 {
		names = x.Last
	}
	for _, at := range names {
		if dir := p.standIn(at.Dir, on); dir != 0 {
			if s := p.look1(graph.Place{Dir: dir, Name: at.Name}); s != nil && s.state.Kind == journal.Dir && s.node != n {
				return s.node
			}
		}
	}
	return 0
}
