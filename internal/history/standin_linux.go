package history

import "carrel/internal/history/graph"

// standIns lets a directory that is nowhere any more, and that the transitions do not bring
// back, be the one that has its name now: what it held can come back there.
func (p *present) standIns(ts []graph.Transition) []graph.Transition {
	moved, keys := make(map[graph.Node]bool), make(map[graph.Key]bool, len(ts))
	for i := range ts {
		if keys[ts[i].Key] = true; ts[i].Key.Part == graph.Entry {
			moved[ts[i].From.N], moved[ts[i].To.N] = true, true
		}
	}
	var out []graph.Transition // nil as long as there is none
	for i := range ts {
		k := ts[i].Key
		if k.Part != graph.Entry || moved[k.Node] || p.dir(k.Node).ok {
			continue
		}
		n := p.standIn(k.Node, make(map[graph.Node]bool))
		as := graph.Place{Dir: n, Name: k.Name}
		if n == 0 || moved[n] || keys[as.Key()] {
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

// standIn gives the directory that is now where one was last, 0 for none. on are those that
// are being asked for.
func (p *present) standIn(n graph.Node, on map[graph.Node]bool) graph.Node {
	if on[n] || int(n) >= len(p.relations.nodes) {
		return 0
	}
	on[n] = true
	if p.dir(n).ok {
		return n
	}
	x := p.relations.nodes[n]
	names := x.names
	if len(names) == 0 {
		names = x.last
	}
	for _, at := range names {
		if dir := p.standIn(at.Dir, on); dir != 0 {
			if s := p.look1(graph.Place{Dir: dir, Name: at.Name}); s != nil && s.state.Kind == Dir && s.node != n {
				return s.node
			}
		}
	}
	return 0
}
