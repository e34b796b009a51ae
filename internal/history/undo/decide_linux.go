package undo

import (
	"cmp"
	"fmt"
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/history/steplog"
	"carrel/internal/pathname"
)

// relate reads what the steps of the request say, and all that came after the oldest.
func (u *undo) relate() error {
	u.known, u.changed = relate.New(u.KeptAsLeft), make(map[uint64][]graph.Transition)
	u.known.Betweens = u.log.Betweens
	for _, at := range u.req.Roots {
		u.known.RootNode(at)
	}
	if len(u.steps) == 0 {
		return nil
	}
	oldest := u.steps[len(u.steps)-1].Number
	for _, st := range u.steps { // what an undo knew, its redo has to know
		oldest = min(oldest, u.log.First(st).Number)
	}
	i, _ := slices.BinarySearchFunc(u.log.Known, oldest, func(s *steplog.Step, n uint64) int { return cmp.Compare(s.Number, n) })
	if slices.ContainsFunc(u.log.Known[i:], (*steplog.Step).Anchors) {
		for ; i > 0 && u.log.Known[i-1].Damaged == ""; i-- { // for the links that the store had of such files by then
		}
	}
	latest := make(map[graph.Key]*graph.Transition)
	for _, st := range u.log.Known[i:] {
		ts := u.known.Follow(st)
		u.overlap(latest, st, ts)
		if u.set[st.Number] {
			u.changed[st.Number] = ts
		}
		if st.Damaged != "" && st.Number > oldest {
			return fmt.Errorf("step %d cannot be taken back: what step %d changed afterwards is not known: %s", oldest, st.Number, st.Damaged)
		}
	}
	u.atOnce()
	return u.log.Unreadable()
}

// overlap corrects what a step is said to have left at keys that never conflict, where
// another one found something else in the meantime.
func (u *undo) overlap(latest map[graph.Key]*graph.Transition, st *steplog.Step, ts []graph.Transition) {
	for i := range ts {
		t := &ts[i]
		if !t.Key.Weak() {
			continue
		}
		if was := latest[t.Key]; was != nil && was.To != t.From {
			if before := u.log.Step(was.Step); before != nil && st.Stamp < before.Last {
				was.To = t.From
			}
		}
		latest[t.Key] = t
	}
}

// atOnce finds what steps changed that were made at the same time: one of them can
// only be taken back together with the other, if both met all they share in one order.
func (u *undo) atOnce() {
	for _, st := range u.steps {
		for i := range st.Posts() {
			q := &st.Posts()[i]
			other, together := u.log.Beside(st, q, u.set)
			if other == 0 && !together {
				continue
			}
			p, root := u.known.Place(string(q.Path), false)
			if root != 0 {
				continue
			}
			n := u.known.Nodes[u.known.Entries[p]]
			for j := range u.changed[st.Number] {
				t := &u.changed[st.Number][j]
				if t.Key != p.Key() && (n == nil || t.Key.Node != n.Number || t.Key.Part == graph.Entry) {
					continue
				}
				if other != 0 {
					u.known.Disputed[t.Key] = fmt.Sprintf("step %d changed it at the same time", other)
					t.To = u.known.Nothing(t.Key)
				} else if next := u.nextOf(t, st.Number); next != nil {
					t.To = next.From
				}
			}
		}
	}
}

// nextOf gives the transition of the same key by the next step of the request.
func (u *undo) nextOf(t *graph.Transition, after uint64) *graph.Transition {
	for _, st := range slices.Backward(u.steps) {
		for i := range u.changed[st.Number] {
			if next := &u.changed[st.Number][i]; st.Number > after && next.Key == t.Key {
				return next
			}
		}
	}
	return nil
}

// transitions are what some steps of the request come to, newest first, of the paths
// that it is about.
func (u *undo) transitions(steps []*steplog.Step) []graph.Transition {
	var ts []graph.Transition
	for _, st := range slices.Backward(steps) {
		ts = append(ts, u.changed[st.Number]...)
	}
	if u.req.Paths == nil {
		return ts
	}
	found := make(map[graph.Node][]string) // what something was called that the steps moved
	for _, st := range steps {
		for i := range st.Pres() {
			at := string(st.Pres()[i].Path)
			if n := u.known.Found[relate.Side{Step: st.Number, Path: at}].Node; n != 0 {
				found[n] = append(found[n], at)
			}
		}
	}
	return graph.Select(ts, func(k graph.Key) bool {
		was := slices.Clone(found[k.Node])
		if k.Part == graph.Entry {
			for i := range was {
				was[i] = pathname.Join(was[i], k.Name)
			}
		}
		return slices.ContainsFunc(slices.Concat(u.known.Called(k), was), u.asked)
	})
}

// asked reports whether a path is one of those that the request is about.
func (u *undo) asked(path string) bool {
	return u.req.Paths == nil || slices.ContainsFunc(u.req.Paths, func(p string) bool { return pathname.Within(path, p) })
}

// decided is a decision with what it was made of.
type decided struct {
	*graph.Decision
	present   *present
	plan      *Plan
	conflicts []Conflict
}

// decide compares some steps of the request with what is there.
func (u *undo) decide(roots []disk.Root, steps []*steplog.Step, fresh func() journal.Object) (*decided, error) {
	return u.decideAs(u.req.Mode, roots, steps, fresh)
}

func (u *undo) decideAs(mode journal.Mode, roots []disk.Root, steps []*steplog.Step, fresh func() journal.Object) (*decided, error) {
	ts := u.known.Alike(u.transitions(steps))
	now, err := lookAround(u.Store, u.known, roots, ts, u.whole)
	if err != nil {
		return nil, err
	}
	if u.repos == nil { // of the whole request, which is looked at first
		u.repos = now.repositories(ts)
	}
	if now.born = now.where(u.repos.made); mode != journal.Force {
		now.shared = now.where(u.repos.shared)
	}
	ts = now.standIns(ts)
	changes := graph.Compose(ts)
	d := &decided{Decision: graph.Decide(changes, now, graph.Mode(mode)), present: now, plan: &Plan{Step: steps[0]}}
	d.conflicts = u.conflicts(d)
	d.plan.skips = len(d.conflicts) > 0
	if err := now.carry(d.Decision, d.plan, fresh); err != nil {
		return nil, err
	}
	u.tellAlone(d.plan, steps)
	d.plan.Unrestorable = append(d.plan.Unrestorable, u.notRestored(d, changes)...)
	return d, nil
}

// notRestored lists, one reason for each path, what does not come back: it is lost, the
// mode was to bring it back and cannot, or an earlier undo has brought it back as another file.
func (u *undo) notRestored(d *decided, changes []graph.Change) (out []Unrestorable) {
	told := make(map[string]bool)
	tell := func(k graph.Key, why string) {
		if at := d.present.name(k); !told[at] {
			told[at] = true
			out = append(out, Unrestorable{at, why})
		}
	}
	for _, l := range d.Lost {
		if l.Why != graph.Changed { // which is told as a conflict
			tell(l.Key, whyLost(l))
		}
	}
	for _, own := range [...]bool{true, false} { // one that says more than that it was changed, if there is one
		for i := range d.Conflicts {
			c := d.Conflicts[i]
			if c.Why = c.Stays; c.Left && own == (c.Why != graph.Changed && c.Why != graph.Nameless) && u.bringsBack(&c) {
				tell(c.Key, u.conflict(d.present, d.present.name(c.Key), &c).Why)
			}
		}
	}
	for i := range changes {
		if c := &changes[i]; c.Part == graph.Content && d.present.isApart(c) {
			for _, at := range d.present.Names(c.Node) {
				tell(at.Key(), whyLost(graph.Loss{Why: graph.IdentityLost}))
			}
		}
	}
	return out
}

// bringsBack reports whether the mode was to bring something back at a key in spite of
// its conflict. Metadata that another program has set stays with --keep-both.
func (u *undo) bringsBack(c *graph.Conflict) bool {
	switch u.req.Mode {
	case journal.Force:
		return true
	case journal.KeepBoth:
		return c.Part != graph.Meta && c.Wanted.N != 0
	}
	return false
}

// conflicts tells them by path: one for each.
func (u *undo) conflicts(d *decided) (out []Conflict) {
	told, lost := make(map[string]bool), make(map[string]bool)
	for _, l := range d.Lost {
		lost[d.present.name(l.Key)] = true
	}
	for i := range d.Conflicts {
		c := &d.Conflicts[i]
		at := d.present.name(c.Key)
		if c.Follows && (u.req.Mode != journal.Skip || lost[at]) || told[at] { // with Skip, all that stays is named
			continue
		}
		told[at] = true
		out = append(out, u.conflict(d.present, at, c))
	}
	slices.SortStableFunc(out, func(a, b Conflict) int { return cmp.Compare(a.Path, b.Path) })
	return out
}

func (u *undo) conflict(p *present, at string, c *graph.Conflict) Conflict {
	out := Conflict{Path: at}
	switch c.Part {
	case graph.Entry:
		if s := p.look1(graph.Place{Dir: c.Node, Name: c.Name}); s != nil {
			out.Found = s.state
		}
		if n := p.Relations.Nodes[c.Expected.N]; n != nil {
			out.Expected = n.State
		}
	default:
		out.Found = p.now(c.Node).state
		out.Expected = p.Relations.Nodes[c.Node].State
	}
	out.Why = out.told(c.Why)
	if !slices.ContainsFunc(p.roots, func(r disk.Root) bool { return pathname.Within(at, r.Path) }) {
		out.Why = disk.ErrNoRoot.Error()
	} else if why := p.Disputed[c.Key]; why != "" {
		out.Why = why
	} else if c.Why == graph.Changed && c.Step != 0 {
		if st := u.log.Step(c.Step); st != nil {
			out.Step = u.log.First(st).Number
			out.Why = fmt.Sprintf("step %d changed it afterwards", out.Step)
		}
	}
	return out
}
