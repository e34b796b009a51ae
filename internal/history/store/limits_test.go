package store

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestVictims: what goes for a limit of 100, and in which order; 88 are left then at most.
func TestVictims(t *testing.T) {
	step := func(run string, bytes int64) weight { return weight{run: run, bytes: bytes} }
	fixed := func(w weight) weight { w.fixed = true; return w }
	for _, c := range []struct {
		name  string
		list  []weight
		more  int64
		want  []int
		total int64
	}{
		{"within", []weight{step("a", 40), step("b", 30), fixed(step("c", 30))}, 0, nil, 100},
		{"the oldest", []weight{step("a", 40), step("b", 30), step("c", 20), fixed(step("d", 30))}, 0, []int{0}, 80},
		{"a batch at once", []weight{step("a", 5), step("b", 6), step("c", 8), step("d", 42), fixed(step("e", 40))}, 0, []int{0, 1, 2}, 82},
		{"as many as it takes", []weight{step("a", 10), step("b", 10), step("c", 40), fixed(step("d", 40))}, 10, []int{0, 1, 2}, 50},
		{"what frees nothing stays", []weight{step("a", 0), step("b", 60), fixed(step("c", 50))}, 0, []int{1}, 50},
		{"never the newest", []weight{fixed(step("a", 300))}, 0, nil, 300},
		{"a flood goes itself", []weight{step("a", 40), step("b", 30), step("b", 30), step("b", 30), fixed(step("b", 30))}, 0, []int{1, 2, 3}, 70},
		{"a flood of an earlier run goes before the oldest", []weight{step("a", 40), step("b", 90), fixed(step("c", 1))}, 0, []int{1}, 41},
		{"beside a flood that stays, others keep half", []weight{step("a", 24), step("b", 20), fixed(step("c", 90))}, 0, nil, 134},
		{"and no more than half", []weight{step("a", 30), step("b", 30), fixed(step("c", 90))}, 0, []int{0}, 120},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, total := overLimit(c.list, 100, c.more, func(w *weight) int64 { return w.bytes })
			var got []int
			for _, w := range out {
				got = append(got, slices.IndexFunc(c.list, func(o weight) bool { return o == *w }))
			}
			for i := range got { // equal ones go by their order
				if got[i] != c.want[min(i, len(c.want)-1)] && c.list[got[i]] != c.list[c.want[min(i, len(c.want)-1)]] {
					t.Fatalf("got %v, want %v", got, c.want)
				}
			}
			if len(got) != len(c.want) || total != c.total {
				t.Errorf("got %v and %d, want %v and %d", got, total, c.want, c.total)
			}
		})
	}
}

// TestStepsGoInBatches: of a store that gets step after step a batch goes at once, so
// that the pass over all journals is paid once in 125 steps.
func TestStepsGoInBatches(t *testing.T) {
	const limit = 1000
	var list []weight
	passes, least, most := 0, limit, 0
	for n := range 3000 {
		list = append(list, weight{run: fmt.Sprint(n)})
		out, _ := overLimit(list, limit, 0, func(*weight) int64 { return 1 })
		if len(out) > 0 {
			passes++
		}
		if list = list[len(out):]; n >= limit {
			least, most = min(least, len(list)), max(most, len(list))
		}
	}
	if want := 2000/125 - 1; passes < want || passes > want+1 || least != 875 || most != limit {
		t.Errorf("%d passes, want %d; %d to %d steps kept, want 875 to 1000", passes, want, least, most)
	}
}

// TestVictimsNever: nothing goes without need, nothing that is fixed, and others
// keep half beside what one run does.
func TestVictimsNever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []weight
		var others int64
		for i := range rapid.IntRange(0, 12).Draw(t, "steps") {
			w := weight{run: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "run")), bytes: int64(rapid.IntRange(0, 60).Draw(t, "bytes"))}
			if w.run == "0" && others+w.bytes <= LowWater(100)/2 {
				others += w.bytes
			} else if w.run == "0" {
				w.run = "1"
			}
			if w.run != "0" { // the other runs are one flood
				w.run = "1"
			}
			w.fixed = i == 11 && w.run == "1"
			list = append(list, w)
		}
		out, total := overLimit(list, 100, 0, func(w *weight) int64 { return w.bytes })
		kept := total
		for _, w := range slices.Backward(out) {
			if w.fixed {
				t.Fatalf("the newest went")
			}
			if w.run == "0" {
				t.Fatalf("a step went for the flood of another run")
			}
			if kept += w.bytes; kept <= LowWater(100) {
				t.Fatalf("%+v went without need", w)
			}
		}
		if len(out) > 0 && kept <= 100 {
			t.Fatalf("%d went from a store within its limit", len(out))
		}
	})
}
