package graph

import (
	"slices"
)

// onlyIdentity reports whether nothing is lost but which files are one.
func onlyIdentity(d *Decision) bool {
	return len(d.Conflicts) == 0 && !slices.ContainsFunc(d.Lost, func(l Loss) bool { return l.Why != IdentityLost })
}

// oneByOne: several at once come to the same as each alone.
func (g *game) oneByOne(was *world, steps [][]Transition) {
	w := was.clone()
	for _, s := range steps {
		if res := w.run([][]Transition{s}, Abort); res.err != nil || res.d.Refused {
			g.fail("one by one: %v %v %v", res.err, res.d.Conflicts, res.d.Lost)
		}
	}
	if one, all := w.dump(true), g.dump(true); one != all {
		g.fail("one by one there is\n%s\nand at once\n%s", one, all)
	}
}

// exactly: without others, an undo leads back to what there was, and a redo too.
func (g *game) exactly(what string, undone int) {
	if undone < len(g.before) {
		if now := g.dump(true); now != g.before[undone] {
			g.fail("after %s there is\n%s\nand not\n%s", what, now, g.before[undone])
		}
	}
}

// judge looks at what must hold after every undo.
func (g *game) judge(was, now *world, res result, steps [][]Transition, m Mode) {
	g.tellDecision(res.d)
	for _, l := range res.d.Lost {
		if l.Why == NotKept && !g.losing {
			g.fail("%v is lost", l.Key)
		}
	}
	if res.err != nil {
		g.fail("%v", res.err)
		return
	}
	if res.d.Refused {
		if was.dump(true) != now.dump(true) {
			g.fail("refused, and something is done")
		}
		return
	}
	g.done(was, now, res.d)
	g.complete(now, res.d, steps)
	if len(steps) > 1 && len(res.d.Conflicts)+len(res.d.Lost)+len(res.d.Kept) == 0 {
		g.asOneByOne(was, now, res, steps)
	}
	g.crashes(was, now, steps, m)
	g.back(was, now, res)
}

func (g *game) tellDecision(d *Decision) {
	for _, c := range d.Conflicts {
		g.tell("conflict %v: %v, found %v, expected %v, follows %v, left %v", c.Key, c.Why, c.Found, c.Expected, c.Follows, c.Left)
	}
	for _, l := range d.Lost {
		g.tell("lost %v: %v %s", l.Key, l.Why, l.Text)
	}
	for _, s := range d.Sets {
		g.tell("set %v from %v to %v, derived %v", s.Key, s.From, s.To, s.Derived)
	}
}

// done: what was decided is what there is, and no more.
func (g *game) done(was, now *world, d *Decision) {
	set := make(map[Key]bool)
	for _, s := range d.Sets {
		set[s.Key] = true
		if v := now.value(s.Key); v != s.To {
			g.fail("%v is %v and not %v", s.Key, v, s.To)
		}
	}
	for _, c := range d.Conflicts {
		if v := now.value(c.Key); c.Left && !set[c.Key] && v != c.Found {
			g.fail("%v was to be left, and is %v", c.Key, v)
		}
	}
	if p, changed := other(was, now, set); changed {
		g.fail("%v has changed", p)
	}
	if p, changed := other(now, was, set); changed {
		g.fail("%v has changed", p)
	}
}

// other finds an entry that one world has and another has not, though that was
// not to be set. The directory is there in both.
func other(one, two *world, set map[Key]bool) (Place, bool) {
	for _, s := range one.walk(one.root) {
		d := two.inodes[s.dir]
		if d == nil || d.entries[s.name] != 0 {
			continue
		}
		for _, n := range []Node{one.bind[s.dir], two.bind[s.dir]} {
			if n != 0 && set[Place{n, s.name}.Key()] {
				d = nil
			}
		}
		if d != nil {
			return Place{one.bind[s.dir], s.name}, true
		}
	}
	return Place{}, false
}

func (w *world) value(k Key) Value {
	switch k.Part {
	case Entry:
		return Value{N: w.Entry(k.place())}
	case Content:
		return Value{N: w.Content(k.Node)}
	}
	return Value{S: w.Meta(k.Node)[k.Name]}
}

// complete: what a decision calls complete has every key as it was, but where
// something stays that is told.
func (g *game) complete(now *world, d *Decision, steps [][]Transition) {
	if !d.Complete() || len(d.Kept)+len(d.Copies) > 0 {
		return
	}
	derived := make(map[Key]bool)
	for _, s := range d.Sets {
		derived[s.Key] = s.Derived
	}
	var ts []Transition
	for _, s := range slices.Backward(steps) {
		ts = append(ts, s...)
	}
	for _, c := range Compose(ts) {
		if c.Part == Meta && (c.Weak() || now.Content(c.Node) == Dead) || derived[c.Key] {
			continue
		}
		if v := now.value(c.Key); v != c.First && !(c.Part == Entry && v.N == 0 && c.First.N == 0) {
			g.fail("complete, and %v is %v and not %v", c.Key, v, c.First)
		}
	}
}

// crashes: an undo that is interrupted anywhere, and resumed twice, comes to the
// same as one that is not.
func (g *game) crashes(was, now *world, steps [][]Transition, m Mode) {
	length := len(func() []Op { _, _, ops := was.clone().decide(steps, m); return ops }())
	for at := range length + 1 {
		if length > 8 && g.r.IntN(length) > 3 {
			continue
		}
		w := was.clone()
		_, _, ops := w.decide(steps, m)
		e := newExecutor(w, ops)
		err := e.run(at)
		for e.resumed = true; err == nil; {
			if err = e.run(length); err == nil {
				err = e.run(length)
			}
			break
		}
		if err != nil {
			g.fail("crash after %d: %v", at, err)
			return
		}
		if w.dump(false) != now.dump(false) {
			g.fail("crash after %d: there is\n%s\nand not\n%s", at, w.dump(false), now.dump(false))
			return
		}
	}
}

// back: what an undo has done is taken back whole, in any mode.
func (g *game) back(was, now *world, res result) {
	w := now.clone()
	steps := slices.Clone(res.records)
	slices.Reverse(steps)
	again := w.run(steps, Abort)
	if again.err != nil {
		g.tellDecision(again.d)
		g.fail("back: %v", again.err)
	}
	if again.d.Refused && g.losing && len(again.d.Lost) > 0 {
		return
	}
	if again.d.Refused && !onlyIdentity(again.d) && len(again.d.Kept) == 0 {
		g.tellDecision(again.d)
		g.fail("what was done cannot be taken back")
		return
	}
	if !again.d.Refused && len(again.d.Kept) == 0 && w.dump(false) != was.dump(false) {
		g.tellDecision(again.d)
		g.fail("taken back, there is\n%s\nand not\n%s", w.dump(false), was.dump(false))
	}
}

// backOneByOne: each of the records can be taken back alone, the last first.
func (g *game) backOneByOne(was, now *world, res result) {
	w := now.clone()
	for _, r := range slices.Backward(res.records) {
		again := w.run([][]Transition{r}, Abort)
		if again.err != nil {
			g.fail("back, one by one: %v", again.err)
			return
		}
		if len(again.d.Kept) > 0 || len(again.d.Lost) > 0 && (g.losing || onlyIdentity(again.d)) {
			return
		}
		if again.d.Refused {
			g.tellDecision(again.d)
			g.fail("what was done cannot be taken back one by one")
			return
		}
	}
	if w.dump(false) != was.dump(false) {
		g.fail("taken back one by one, there is\n%s\nand not\n%s", w.dump(false), was.dump(false))
	}
}

// asOneByOne: where nothing conflicts, several at once come to the same as each
// alone.
func (g *game) asOneByOne(was, now *world, res result, steps [][]Transition) {
	if was.clone().touched(steps) {
		return
	}
	w := was.clone()
	for _, s := range steps {
		one := w.run([][]Transition{s}, Abort)
		if one.err != nil {
			g.fail("one by one: %v", one.err)
			return
		}
		if len(one.d.Kept) > 0 || one.d.Refused || len(one.d.Conflicts) > 0 {
			return
		}
	}
	g.backOneByOne(was, now, res)
	if w.dump(false) != now.dump(false) {
		g.fail("one by one, there is\n%s\nand not\n%s", w.dump(false), now.dump(false))
	}
}

// touched reports whether a key is not what the steps left.
func (w *world) touched(steps [][]Transition) bool {
	last := make(map[Key]Value)
	for _, s := range slices.Backward(steps) {
		for _, t := range s {
			last[t.Key] = t.To
		}
	}
	for k, v := range last {
		if !k.Weak() && w.value(k) != v {
			return true
		}
	}
	return false
}
