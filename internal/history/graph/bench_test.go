package graph

import (
	"fmt"
	"testing"
)

// removed is a place from which a step removed everything: files, or names of one.
type removed struct {
	dirs  Node
	names []Place // of node 2, if that is what is left
	next  uint64
}

func (r *removed) Entry(p Place) Node {
	if r.names != nil {
		return 2
	}
	return 0
}

func (r *removed) Names(n Node) []Place {
	if n == 2 {
		return r.names
	}
	return nil
}

func (r *removed) LastNames(Node) []Place { return nil }
func (r *removed) Unmet(Node) int         { return 0 }

func (r *removed) Content(n Node) Version {
	if n == 1 || n == 2 && r.names != nil {
		return n
	}
	return Dead
}

func (r *removed) Meta(Node) map[string]string { return map[string]string{"mode": "6", Mtime: "1"} }

func (r *removed) Kind(n Node) Kind {
	if n <= r.dirs {
		return Dir
	}
	return File
}

func (r *removed) Reachable(Node) bool               { return true }
func (r *removed) Residents(Node) []string           { return nil }
func (r *removed) Keeping(Version) (Keeping, string) { return InObject, "" }
func (r *removed) Held(Node) (Version, Keeping)      { return 0, Unkept }
func (r *removed) Rest(Place) Rest                   { return Free }
func (r *removed) Setter(Key) uint64                 { return 0 }
func (r *removed) NewNode() Node                     { r.next++; return 1<<40 + r.next }
func (r *removed) NewVersion() Version               { r.next++; return 1<<40 + r.next }
func (r *removed) Awaited(Node) ([]Place, bool)      { return nil, false }
func (r *removed) Holder(Node) bool                  { return false }
func (r *removed) Holds(Node, Version) bool          { return false }

func (r *removed) Beside(name string, try int) string { return fmt.Sprint(name, ".", try) }

const benched = 100000

func decideAll(b *testing.B, ts []Transition, p Present, m Mode) {
	for b.Loop() {
		d := Decide(Compose(ts), p, m)
		ops := d.Plan(p)
		records := Records([][]Transition{ts}, d)
		if len(ops) == 0 || len(records[0]) == 0 {
			b.Fatalf("%d operations, conflicts %v", len(ops), d.Conflicts[:min(3, len(d.Conflicts))])
		}
	}
}

// BenchmarkManyFiles is the undo of rm -r of many files in one directory of many
// levels.
func BenchmarkManyFiles(b *testing.B) {
	const depth = 1000
	var ts []Transition
	dies := func(n Node) Transition { return Transition{Key{Part: Content, Node: n}, Value{N: n}, Value{}, 1} }
	for i := range Node(benched) {
		n := depth + 2 + i
		ts = append(ts, Transition{Place{depth, fmt.Sprint(i)}.Key(), Value{N: n}, Value{}, 1}, dies(n))
	}
	for d := Node(depth); d > 1; d-- {
		ts = append(ts, Transition{Place{d - 1, "d"}.Key(), Value{N: d}, Value{}, 1}, dies(d))
	}
	decideAll(b, ts, &removed{dirs: depth}, Abort)
}

// BenchmarkManyNames is the undo of rename of many names of one file, and that of
// a write to it that conflicts.
func BenchmarkManyNames(b *testing.B) {
	r := &removed{dirs: 1}
	var ts []Transition
	for i := range benched {
		p := Place{1, fmt.Sprint(i)}
		r.names = append(r.names, p)
		ts = append(ts, Transition{p.Key(), Value{}, Value{N: 2}, 1})
	}
	ts = append(ts, Transition{Key{Part: Content, Node: 2}, Value{}, Value{N: 2}, 1})
	decideAll(b, ts, r, Abort)
}
