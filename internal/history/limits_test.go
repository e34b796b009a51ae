package history

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestVictims: who goes for a limit of 100, and in which order.
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
		{"as many as it takes", []weight{step("a", 10), step("b", 10), step("c", 45), fixed(step("d", 45))}, 10, []int{0, 1}, 100},
		{"what frees nothing stays", []weight{step("a", 0), step("b", 60), fixed(step("c", 50))}, 0, []int{1}, 50},
		{"never the newest", []weight{fixed(step("a", 300))}, 0, nil, 300},
		{"a flood goes itself", []weight{step("a", 40), step("b", 30), step("b", 30), step("b", 30), fixed(step("b", 30))}, 0, []int{1, 2}, 100},
		{"a flood of an earlier run goes before the oldest", []weight{step("a", 40), step("b", 90), fixed(step("c", 1))}, 0, []int{1}, 41},
		{"beside a flood that stays, others keep half", []weight{step("a", 30), step("b", 20), fixed(step("c", 90))}, 0, nil, 140},
		{"and no more than half", []weight{step("a", 30), step("b", 30), fixed(step("c", 90))}, 0, []int{0}, 120},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, total := victims(c.list, 100, c.more, func(w *weight) int64 { return w.bytes })
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

// TestVictimsNever: nothing goes without need, nothing that is fixed, and others
// keep half beside what one run does.
func TestVictimsNever(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var list []weight
		var others int64
		for i := range rapid.IntRange(0, 12).Draw(t, "steps") {
			w := weight{run: fmt.Sprint(rapid.IntRange(0, 3).Draw(t, "run")), bytes: int64(rapid.IntRange(0, 60).Draw(t, "bytes"))}
			if w.run == "0" && others+w.bytes <= 50 {
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
		out, total := victims(list, 100, 0, func(w *weight) int64 { return w.bytes })
		kept := total
		for _, w := range slices.Backward(out) {
			if w.fixed {
				t.Fatalf("the newest went")
			}
			if w.run == "0" {
				t.Fatalf("a step went for the flood of another run")
			}
			if kept += w.bytes; kept <= 100 {
				t.Fatalf("%+v went without need", w)
			}
		}
	})
}
