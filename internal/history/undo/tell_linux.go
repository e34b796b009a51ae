package undo

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/pathname"
)

// tell lists what will be restored and removed, and what will not.
func (c *carrier) tell() {
	stays := make(map[graph.Node]bool) // it has another entry afterwards
	for i := range c.Sets {
		if s := &c.Sets[i]; s.Part == graph.Entry && s.To.N != 0 {
			stays[s.To.N] = true
		}
	}
	restored, removed := make(map[string]bool), make(map[string]bool)
	unmet := make(map[journal.ID]bool)
	for i := range c.Sets {
		s := &c.Sets[i]
		switch {
		case s.Part == graph.Entry && s.To.N == 0:
			if at := c.path(graph.Place{Dir: s.Node, Name: s.Name}); at != "" && !stays[s.From.N] {
				removed[at] = true
			}
		case s.Part == graph.Entry && !c.isAside(s.Key):
			restored[c.then(graph.Place{Dir: s.Node, Name: s.Name})] = true
		case s.Weak() && c.Kind(s.Node) == graph.Dir && !c.timed(s.Node):
		case s.Part != graph.Entry:
			if n := c.Relations.Nodes; int(s.Node) < len(n) {
				restored[n[s.Node].Root] = true
			}
			for _, at := range c.endNames(s.Node) {
				restored[c.then(at)] = true
			}
			if id, is := c.livesUnmet(s); is {
				unmet[id] = true
			}
		}
	}
	c.tellUnmet(unmet, restored)
	for i := range c.Asides {
		a := &c.Asides[i]
		name := c.then(a.To)
		delete(restored, name)
		if name != "" {
			c.plan.Beside = append(c.plan.Beside, Beside{c.path(a.From), name})
		}
	}
	slices.SortFunc(c.plan.Beside, func(a, b Beside) int { return strings.Compare(a.Name, b.Name) })
	delete(restored, "")
	for at := range removed {
		if restored[at] {
			delete(removed, at)
		}
	}
	c.plan.Restored, c.plan.Removed = slices.Sorted(maps.Keys(restored)), slices.Sorted(maps.Keys(removed))
	for i := range c.Sets {
		if s := &c.Sets[i]; s.Part == graph.Content && s.From.N == graph.Dead && int(s.Node) < len(c.Relations.Nodes) && c.Relations.Nodes[s.Node].Apart {
			for _, at := range c.endNames(s.Node) {
				c.plan.Unrestorable = append(c.plan.Unrestorable, Unrestorable{c.then(at), whyLost(graph.Loss{Why: graph.IdentityLost})})
			}
		}
	}
	alone := make(map[string]bool)
	for _, k := range c.Kept {
		if k.Why == graph.InUse && c.Kind(k.Node) == graph.Dir {
			continue // told as what is in it
		}
		key := k.Key()
		if k.Place == (graph.Place{}) {
			key = graph.Key{Part: graph.Content, Node: k.Node}
		}
		at := c.name(key)
		if whole := c.sharedBy(at); whole != "" {
			at, k.Why = whole, graph.Shared
		}
		if alone[at] {
			continue
		}
		alone[at] = true
		if k.Why == graph.Ignored {
			c.plan.Unrestorable = append(c.plan.Unrestorable, Unrestorable{at, journal.Ignored})
		} else {
			c.plan.LeftAlone = append(c.plan.LeftAlone, Unrestorable{at, whyKept[k.Why]})
		}
	}
	var times []Unrestorable
	for _, n := range c.Retimed { // that of a directory changes with its names, unless a step has set it
		if at := c.name(graph.Key{Part: graph.Content, Node: n}); !alone[at] && (c.Kind(n) != graph.Dir || c.timed(n)) {
			alone[at] = true
			times = append(times, Unrestorable{at, "its time was changed after the step, and is not set back"})
		}
	}
	slices.SortFunc(times, func(a, b Unrestorable) int { return strings.Compare(a.Path, b.Path) })
	c.plan.LeftAlone = append(c.plan.LeftAlone, times...)
}

// livesUnmet gives the file that something is set of, if no name leads to it that a step has
// met: another program has renamed it, and the store has the way to it.
func (c *carrier) livesUnmet(s *graph.Set) (journal.ID, bool) {
	if s.Part == graph.Content && s.To.N == graph.Dead || len(c.endNames(s.Node)) > 0 {
		return journal.ID{}, false
	}
	now := c.present.now(s.Node)
	return now.held.ID, now.state.Kind == journal.Absent && now.anchors > 0 && now.unmet > 0
}

// tellUnmet tells of such files by a name that they have now. One outside of the project is
// not looked for.
func (c *carrier) tellUnmet(files map[journal.ID]bool, restored map[string]bool) {
	if len(files) == 0 {
		return
	}
	_ = disk.NamesOf(c.roots, files, func(path string, _ journal.ID) (bool, error) {
		restored[path] = true
		return true, nil
	})
}

// timed reports whether a step has set the times of a directory by themselves, so that
// they are told.
func (c *carrier) timed(n graph.Node) bool {
	return n != 0 && int(n) < len(c.Relations.Nodes) && c.Relations.Nodes[n].Timed
}

func (c *carrier) isAside(k graph.Key) bool {
	return slices.ContainsFunc(c.Asides, func(a graph.Aside) bool { return a.To.Key() == k })
}

// then is what an entry will be called when all is done.
func (c *carrier) then(at graph.Place) string {
	parts := []string{at.Name}
	for dir := at.Dir; len(parts) < relate.PathDepth; {
		if root := c.Relations.Nodes[dir].Root; root != "" {
			slices.Reverse(parts)
			return pathname.Join(root, strings.Join(parts, "/"))
		}
		names := c.endNames(dir)
		if len(names) == 0 {
			return ""
		}
		parts, dir = append(parts, names[0].Name), names[0].Dir
	}
	return ""
}

// endNames are the entries that will lead to a node.
func (c *carrier) endNames(n graph.Node) []graph.Place {
	if len(c.ends) == 0 {
		c.ends[0] = nil
		for i := range c.Sets {
			s := &c.Sets[i]
			if s.Part != graph.Entry {
				continue
			}
			at := graph.Place{Dir: s.Node, Name: s.Name}
			if s.From.N != 0 {
				c.ends[s.From.N] = slices.DeleteFunc(c.startNames(s.From.N), func(p graph.Place) bool { return p == at })
			}
			if s.To.N != 0 {
				c.ends[s.To.N] = append(c.startNames(s.To.N), at)
			}
		}
	}
	return c.startNames(n)
}

func (c *carrier) startNames(n graph.Node) []graph.Place {
	names, changed := c.ends[n]
	if !changed {
		names = slices.Clone(c.Names(n))
		if n != 0 {
			c.ends[n] = names
		}
	}
	return names
}

// name is what a key is called, for people.
func (p *present) name(k graph.Key) string {
	if k.Part == graph.Entry {
		at := graph.Place{Dir: k.Node, Name: k.Name}
		if path := p.path(at); path != "" {
			return path
		}
		return p.Relations.Path(at)
	}
	if n := p.Relations.Nodes[k.Node]; n.Root != "" {
		return n.Root
	}
	for _, at := range slices.Concat(p.Names(k.Node), p.LastNames(k.Node)) {
		if path := p.name(at.Key()); path != "" {
			return path
		}
	}
	return ""
}

// whyKept says why something is left as it is, though the steps made it.
var whyKept = map[graph.Rest]string{
	graph.Pinned:    "git may need it for other branches; `git gc` removes it when nothing does",
	graph.Shared:    "the repository holds changes of others, and stays whole",
	graph.Residents: "there is something in it that the step did not make",
	graph.InUse:     "other names lead to it",
}

// whyLost says why something does not come back.
func whyLost(l graph.Loss) string {
	switch l.Why {
	case graph.NotKept:
		return l.Text
	case graph.NotMade:
		return "devices are not made"
	case graph.IdentityLost:
		return "it comes back as a file of its own: it had other names"
	case graph.Unread:
		return "its metadata cannot be read, so it is not replaced"
	}
	return whyConflict[l.Why]
}

// isApart reports whether an earlier undo has brought back, as a file of its own, what a
// change took away.
func (p *present) isApart(c *graph.Change) bool {
	n := c.Node
	return c.Last.N == graph.Dead && c.First.N != graph.Dead && p.Relations.Nodes[n].Apart && p.Content(n) == c.First.N
}

// told says what is wrong with a path that is not as the steps left it.
func (c *Conflict) told(why graph.Why) string {
	switch text := whyConflict[why]; {
	case text != "":
		return text
	case c.Found.Kind == journal.Absent:
		return "it was removed or renamed after the step"
	case c.Expected.Kind == journal.Absent:
		return fmt.Sprintf("a %s was put there after the step", c.Found.Kind)
	case c.Found.Kind != c.Expected.Kind:
		return fmt.Sprintf("a %s took the place of the %s after the step", c.Found.Kind, c.Expected.Kind)
	}
	return "it was changed after the step"
}

// whyConflict says what is wrong with a path that is not as the steps left it; ""
// where the states say it.
var whyConflict = map[graph.Why]string{
	graph.Gap:          "it was changed between the steps",
	graph.LastName:     "it is the last name of a file that stays",
	graph.InTheWay:     "a directory with something in it is in the place of what comes back",
	graph.Nameless:     "it has no name left in the project",
	graph.NoDirectory:  "the directory that it was in is not there",
	graph.Gone:         "it was removed outside of the steps, and no copy of it was kept",
	graph.Loop:         "a directory would be in itself",
	graph.Together:     "it moves together with what stays",
	graph.OutsideNames: "its only names are outside of the project",
}
