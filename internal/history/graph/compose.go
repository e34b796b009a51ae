package graph

import "slices"

// Change is what several transitions of one key come to.
type Change struct {
	Key
	First, Last Value
	// Gaps are values that a transition found and the one before had not left.
	Gaps  []Value
	Steps []uint64 // oldest first
	// Names are, of a content with gaps, the entries that led to the node.
	Names []Place
	// Passing: of metadata, the steps made the node and removed it again.
	Passing bool
	// within: it even did so in one step, so that no redo will bring it.
	within bool
	// between: it was not Dead, or none, between two of the steps.
	between bool
}

// Compose puts transitions together, in the order in which they were written. A
// key that is in the end what it was at first, without gaps, is not in the result.
func Compose(ts []Transition) []Change {
	at := make(map[Key]int, len(ts))
	all := make([]Change, 0, len(ts))
	for i := range ts {
		t := &ts[i]
		n, known := at[t.Key]
		if !known {
			at[t.Key] = len(all)
			all = append(all, Change{Key: t.Key, First: t.From, Last: t.To, Steps: []uint64{t.Step}})
			continue
		}
		all[n].follow(t)
	}
	for i := range all {
		c := &all[i]
		if n, known := at[Key{Part: Content, Node: c.Node}]; known && c.Part == Meta {
			of := &all[n]
			c.Passing = of.First.N == Dead && of.Last.N == Dead
			c.within = c.Passing && !of.between
		}
	}
	all = slices.DeleteFunc(all, func(c Change) bool { return c.First == c.Last && len(c.Gaps) == 0 || c.within })
	nameGaps(all, ts)
	return all
}

func (c *Change) follow(t *Transition) {
	unknown := c.Part == Meta && (t.From == Unknown || c.Last == Unknown)
	if t.From != c.Last && !c.Weak() && !unknown {
		c.Gaps = append(c.Gaps, t.From)
	}
	c.Last = t.To
	if c.Steps[len(c.Steps)-1] != t.Step {
		c.between = c.between || t.From.N != Dead
		c.Steps = append(c.Steps, t.Step)
	}
}

// nameGaps notes where the contents with gaps were found, also by entries that
// drop out.
func nameGaps(all []Change, ts []Transition) {
	of := make(map[Node]*Change)
	for i := range all {
		if c := &all[i]; c.Part == Content && len(c.Gaps) > 0 {
			of[c.Node] = c
		}
	}
	if len(of) == 0 {
		return
	}
	seen := make(map[Transition]bool)
	for i := range ts {
		t := &ts[i]
		if t.Key.Part != Entry {
			continue
		}
		for _, n := range [...]Node{t.From.N, t.To.N} {
			mark := Transition{Key: t.Key, To: Value{N: n}}
			if c := of[n]; c != nil && !seen[mark] {
				seen[mark] = true
				c.Names = append(c.Names, t.Key.place())
			}
		}
	}
}
