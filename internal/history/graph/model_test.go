package graph

import (
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
)

var (
	sequences = flag.Int("graph.sequences", 0, "sequences of the model; 0 for the usual number")
	firstSeed = flag.Uint64("graph.seed", 1, "seed of the first sequence")
)

// game is one sequence: a world, what can be taken back, and what can be made again.
type game struct {
	*world
	t      *testing.T
	r      *rand.Rand
	seed   uint64
	plain  bool // only the steps change anything
	losing bool // the store loses contents
	undos  [][]Transition
	redos  [][]Transition
	before []string // of each undo, with plain
	steps  uint64
	tokens int
	theirs map[string]bool // tokens that others wrote and have not removed
	log    []string
	failed bool
}

func TestModel(t *testing.T) {
	n := *sequences
	if n == 0 {
		n = 1500
		if os.Getenv("CARREL_SOAK") == "1" {
			n = 20000
		}
	}
	failures := 0
	for i := range n {
		g := newGame(t, *firstSeed+uint64(i))
		g.play()
		if g.failed {
			if failures++; failures == 5 {
				break
			}
		}
	}
}

func newGame(t *testing.T, seed uint64) *game {
	r := rand.New(rand.NewPCG(seed, 7))
	g := &game{world: newWorld(seed%8 != 0), t: t, r: r, seed: seed, plain: seed%2 == 0, theirs: make(map[string]bool)}
	if seed%10 == 5 {
		g.pinned["o"] = true
	}
	g.losing = seed%6 == 1
	return g
}

func (g *game) tell(format string, args ...any) {
	g.log = append(g.log, fmt.Sprintf(format, args...))
}

func (g *game) fail(format string, args ...any) {
	if g.failed {
		return
	}
	g.failed = true
	text := fmt.Sprintf(format, args...)
	g.t.Errorf("seed %d: %s\n%s", g.seed, text, strings.Join(g.log, "\n"))
}

func (g *game) play() {
	for range 3 + g.r.IntN(10) {
		g.outside()
	}
	g.tell("-- begin\n%s", g.dump(false))
	for range 3 + g.r.IntN(12) {
		if g.failed {
			return
		}
		g.turn()
		g.sound()
		if g.losing && g.r.IntN(4) == 0 {
			g.loseOne()
		}
	}
}

// turn does one thing that a user or an agent does.
func (g *game) turn() {
	k := g.r.IntN(10)
	switch {
	case k < 4 || len(g.undos)+len(g.redos) == 0:
		g.stepNow()
	case k < 5 && !g.plain:
		for range 1 + g.r.IntN(2) {
			g.outside()
		}
	case k < 7:
		g.takeBack(&g.undos, &g.redos, "undo")
	case k < 9:
		g.takeBack(&g.redos, &g.undos, "redo")
	default:
		g.middle()
	}
}

// stepNow is a step of an agent.
func (g *game) stepNow() {
	g.steps++
	g.before = append(g.before[:min(len(g.before), len(g.undos))], g.dump(true))
	g.begin(g.steps)
	g.tell("-- step %d", g.steps)
	for range 1 + g.r.IntN(5) {
		g.call()
		if !g.plain && g.r.IntN(6) == 0 {
			g.outside()
		}
	}
	g.undos = append(g.undos, g.end())
	g.redos = nil
}

// sound: what others wrote is in the tree or in the store.
func (g *game) sound() {
	var b strings.Builder
	for _, i := range g.inodes {
		b.WriteString(i.data)
	}
	for _, c := range g.versions {
		if c.object {
			b.WriteString(c.data)
		}
	}
	all := b.String()
	for _, s := range slices.Sorted(maps.Keys(g.theirs)) {
		if !strings.Contains(all, s) {
			g.fail("%s is nowhere", s)
		}
	}
}

// loseOne has the store lose a content.
func (g *game) loseOne() {
	var kept []Version
	for v, c := range g.versions {
		if k, _ := g.Keeping(v); k == InObject || k == InAnchor || k == Empty && !c.lost {
			kept = append(kept, v)
		}
	}
	if len(kept) == 0 {
		return
	}
	slices.Sort(kept)
	v := kept[g.r.IntN(len(kept))]
	g.tell("-- version %d is lost", v)
	g.versions[v].lost = true
	g.forget(g.versions[v].data)
}

// result is what one undo or redo came to.
type result struct {
	d       *Decision
	records [][]Transition
	err     error
}

// run takes steps back, the newest first.
func (w *world) run(steps [][]Transition, m Mode) result {
	d, records, ops := w.decide(steps, m)
	e := newExecutor(w, ops)
	err := e.run(len(ops))
	if !d.Refused {
		w.note(records)
	}
	return result{d, records, err}
}

func (w *world) decide(steps [][]Transition, m Mode) (*Decision, [][]Transition, []Op) {
	var ts []Transition
	for _, s := range slices.Backward(steps) {
		ts = append(ts, s...)
	}
	for _, t := range ts {
		if t.Key.Part == Entry {
			w.Entry(t.Key.place())
		}
	}
	d := Decide(Compose(ts), w, m)
	return d, Records(steps, d), d.Plan(w)
}

// note takes the records of an undo over into the tables.
func (w *world) note(records [][]Transition) {
	for _, r := range records {
		for _, t := range r {
			w.setBy[t.Key] = t.Step
			if t.Key.Part == Meta && w.dead[t.Key.Node] != nil {
				w.dead[t.Key.Node][t.Key.Name] = t.To.S
			}
			if t.Key.Part == Entry {
				w.last[t.Key.place()] = t.To.N
			}
		}
	}
	w.remember()
}

// takeBack takes some of the newest steps back, in any mode, and looks at all
// that must hold then.
func (g *game) takeBack(from, to *[][]Transition, what string) {
	k := len(*from)
	if k == 0 {
		return
	}
	n := 1 + g.r.IntN(min(k, 3))
	m := Abort
	if !g.plain {
		m = Mode(g.r.IntN(4))
	}
	steps := slices.Clone((*from)[k-n:])
	slices.Reverse(steps)
	g.tell("-- %s %d, mode %d", what, n, m)
	was := g.world.clone()
	res := g.world.run(steps, m)
	if g.judge(was, g.world, res, steps, m); g.failed {
		return
	}
	if g.plain && res.d.Refused && !onlyIdentity(res.d) {
		g.fail("refused without reason")
	}
	if g.plain && len(res.d.Kept) > 0 {
		g.fail("something stays: %v", res.d.Kept)
	}
	if res.d.Refused {
		return
	}
	*from = (*from)[:k-n]
	*to = append(*to, res.records...)
	if g.plain {
		g.oneByOne(was, steps)
		g.exactly(what, len(g.undos))
	}
}

// middle takes back a step that is not the last, or some paths of it.
func (g *game) middle() {
	if len(g.undos) < 2 {
		return
	}
	at := g.r.IntN(len(g.undos))
	m := Mode(g.r.IntN(4))
	g.tell("-- undo of the %d. of %d, mode %d", at+1, len(g.undos), m)
	steps := [][]Transition{g.undos[at]}
	if g.r.IntN(2) == 0 {
		steps[0] = g.some(steps[0])
	}
	w := g.world.clone()
	was := w.clone()
	res := w.run(steps, m)
	g.judge(was, w, res, steps, m)
}

// some selects a part of a step, as one does by paths.
func (g *game) some(ts []Transition) []Transition {
	if len(ts) == 0 {
		return ts
	}
	chosen := ts[g.r.IntN(len(ts))].Key
	g.tell("only %v", chosen)
	return Select(ts, func(k Key) bool { return k == chosen })
}
