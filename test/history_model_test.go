//go:build linux

package e2e

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// TestHistoryModel: random steps, edits and commands of the history in a small project,
// each compared with a model of the tree. Undo and redo give exactly the trees between
// the steps; where an edit lies between they may refuse, and lose no text of it. A seed
// always draws the same. CARREL_SEED names one to look at again.
func TestHistoryModel(t *testing.T) {
	t.Parallel()
	var seeds []int
	for seed := 1; seed <= often(60, 2000); seed++ {
		seeds = append(seeds, seed)
	}
	if named := os.Getenv("CARREL_SEED"); named != "" {
		seeds = []int{someSeed(t)}
	}
	var shrunk atomic.Int64
	for _, seed := range seeds {
		d := newDrawer(seed)
		name := fmt.Sprintf("seed %d, %s", seed, d.name)
		if d.other {
			name += ", elsewhere"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			first := d.project()
			m := drawn(t, d, first)
			if m.failure != nil {
				tries := 0
				if len(seeds) == 1 || shrunk.Add(1) <= 3 {
					tries = 150
				}
				told := shrink(t, trial{first, m.items, m.failure, d.other}, tries)
				t.Errorf("CARREL_SEED=%d: %s: %s\n%s", seed, told.failure.kind, told.failure.why, told)
			} else if testing.Verbose() && len(seeds) == 1 {
				t.Logf("\n%s", trial{first, m.items, nil, d.other})
			}
		})
	}
}

// drawn plays what a drawer draws.
func drawn(t *testing.T, d *drawer, first []op) *model {
	m := newModel(t, d.other)
	m.start(first)
	m.play(func() (item, bool) { return d.next(m) })
	m.leave()
	return m
}

// newModel makes a world, with the history on another file system if that is wanted.
func newModel(t *testing.T, other bool) *model {
	w := newWorld(t, ordinary(t))
	if other {
		w.mount("tmpfs", w.base+"/other", "size=64m,mode=0700")
		w.configured("history: {dir: " + w.base + "/other/kept}")
	}
	return &model{w: w, other: other}
}

func (m *model) leave() {
	if m.other {
		m.w.unmountAll()
	}
	m.w.leaveNow()
}

// trial is a sequence, and how it fails.
type trial struct {
	first   []op
	items   []item
	failure *failure
	other   bool
}

// String is the sequence as a person types it, in an empty directory of the project.
func (t trial) String() string {
	var b strings.Builder
	if t.other {
		b.WriteString("# history.dir is on another file system\n")
	}
	b.WriteString("mkdir -p " + beyond + "\n" + typed(t.first) + "\n")
	for _, i := range t.items {
		b.WriteString(i.String() + "\n")
	}
	return b.String()
}

// again plays a sequence, and says whether it fails in the same way.
func (t *trial) again(test *testing.T, first []op, items []item) bool {
	m := newModel(test, t.other)
	m.start(first)
	rest := items
	m.play(func() (i item, ok bool) {
		if ok = len(rest) > 0; ok {
			i, rest = rest[0], rest[1:]
		}
		return i, ok
	})
	m.leave()
	if m.failure == nil || m.failure.kind != t.failure.kind {
		return false
	}
	t.first, t.items, t.failure = first, m.items, m.failure
	return true
}

// shrink leaves out what the failure does not need, in a bounded number of tries.
func shrink(test *testing.T, t trial, tries int) trial {
	for was := t.size() + 1; t.size() < was && tries > 0; {
		was = t.size()
		for k := t.size() - 1; k >= 0 && tries > 0; k-- {
			if first, items, ok := t.without(k); ok {
				tries--
				t.again(test, first, items)
			}
			k = min(k, t.size())
		}
	}
	return t
}

// lists are the operations of an item.
func (i *item) lists() []*[]op { return []*[]op{&i.step, &i.during, &i.edit} }

// size is how many parts can be left out.
func (t *trial) size() int {
	n := len(t.first) + 2*len(t.items)
	for _, i := range t.items {
		n += len(i.step) + len(i.during) + len(i.edit)
	}
	return n
}

// without leaves out one part: an operation within an item, one that makes the project,
// the dry run of a command, or an item.
func (t *trial) without(k int) (first []op, items []item, ok bool) {
	first, items = slices.Clone(t.first), slices.Clone(t.items)
	for n := range items {
		for _, list := range items[n].lists() {
			if k >= 0 && k < len(*list) {
				gone := (*list)[k][0]
				if *list = slices.Delete(slices.Clone(*list), k, k+1); gone == "hold" {
					items[n].during = nil
				}
				return first, items, len(*list) > 0
			}
			k -= len(*list)
		}
	}
	if k < len(first) {
		return slices.Delete(first, k, k+1), items, true
	}
	k -= len(first)
	if k < len(items) {
		was := items[k].dry
		items[k].dry = false
		return first, items, was
	}
	return first, slices.Delete(items, k-len(items), k-len(items)+1), true
}
