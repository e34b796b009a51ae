package graph

import (
	"reflect"
	"testing"
)

func entryKey(dir Node, name string) Key { return Place{dir, name}.Key() }

func TestCompose(t *testing.T) {
	f, c := entryKey(1, "f"), Key{Part: Content, Node: 2}
	mode, mtime := Key{Meta, 2, "mode"}, Key{Meta, 2, Mtime}
	n := func(v uint64) Value { return Value{N: v} }
	text := func(s string) Value { return Value{S: s} }
	for _, test := range []struct {
		name string
		ts   []Transition
		want []Change
	}{
		{"nothing", nil, []Change{}},
		{"one", []Transition{{f, n(0), n(2), 1}}, []Change{{Key: f, Last: n(2), Steps: []uint64{1}}}},
		{"two are one", []Transition{{c, n(1), n(2), 1}, {c, n(2), n(3), 2}}, []Change{{Key: c, First: n(1), Last: n(3), Steps: []uint64{1, 2}}}},
		{"back again", []Transition{{f, n(0), n(2), 1}, {f, n(2), n(0), 1}}, []Change{}},
		{
			"a gap stays, also where it leads back",
			[]Transition{{c, n(1), n(2), 1}, {f, n(2), n(0), 2}, {c, n(9), n(1), 2}},
			[]Change{
				{Key: c, First: n(1), Last: n(1), Gaps: []Value{n(9)}, Steps: []uint64{1, 2}, Names: []Place{{1, "f"}}},
				{Key: f, First: n(2), Last: n(0), Steps: []uint64{2}},
			},
		},
		{
			"node 1 is no unknown metadata",
			[]Transition{{f, n(0), n(1), 1}, {f, n(0), n(3), 1}},
			[]Change{{Key: f, Last: n(3), Gaps: []Value{n(0)}, Steps: []uint64{1}}},
		},
		{
			"times have no gaps",
			[]Transition{{mtime, text("1"), text("2"), 1}, {mtime, text("8"), text("9"), 1}},
			[]Change{{Key: mtime, First: text("1"), Last: text("9"), Steps: []uint64{1}}},
		},
		{
			"what is unknown is no gap",
			[]Transition{{mode, text("1"), text("2"), 1}, {mode, Unknown, text("3"), 1}},
			[]Change{{Key: mode, First: text("1"), Last: text("3"), Steps: []uint64{1}}},
		},
		{
			"metadata of what one step made and removed",
			[]Transition{{c, n(0), n(1), 1}, {mode, text("1"), text("2"), 1}, {c, n(1), n(0), 1}},
			[]Change{},
		},
		{
			"metadata of what a later step removed",
			[]Transition{{c, n(0), n(1), 1}, {mode, text("1"), text("2"), 1}, {c, n(1), n(0), 2}},
			[]Change{{Key: mode, First: text("1"), Last: text("2"), Steps: []uint64{1}, Passing: true}},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := Compose(test.ts)
			for i := range got {
				got[i].between = false
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("Compose gives\n%+v\nand not\n%+v", got, test.want)
			}
		})
	}
}

// FuzzCompose: what is composed in two parts is what is composed at once.
func FuzzCompose(f *testing.F) {
	f.Add([]byte{1, 2, 3, 1, 3, 2, 9, 1, 1})
	f.Fuzz(func(t *testing.T, b []byte) {
		var ts []Transition
		for ; len(b) >= 3; b = b[3:] {
			k := [...]Key{entryKey(1, "f"), {Part: Content, Node: 2}, {Meta, 2, "mode"}}[b[0]%3]
			from, to := Value{N: uint64(b[1] % 4)}, Value{N: uint64(b[2] % 4)}
			if k.Part == Meta {
				from, to = Value{S: string('a' + rune(b[1]%4))}, Value{S: string('a' + rune(b[2]%4))}
			}
			ts = append(ts, Transition{k, from, to, uint64(b[0])})
		}
		last, first := make(map[Key]Value), make(map[Key]Value)
		gaps := make(map[Key]int)
		for _, x := range ts {
			if v, ok := last[x.Key]; !ok {
				first[x.Key] = x.From
			} else if v != x.From {
				gaps[x.Key]++
			}
			last[x.Key] = x.To
		}
		seen := make(map[Key]bool)
		for _, c := range Compose(ts) {
			if c.First != first[c.Key] || c.Last != last[c.Key] || len(c.Gaps) != gaps[c.Key] || seen[c.Key] {
				t.Errorf("%+v of %+v", c, ts)
			}
			seen[c.Key] = true
		}
		for k := range last {
			if !seen[k] && k.Part != Meta && (first[k] != last[k] || gaps[k] > 0) {
				t.Errorf("%v is not in the composition of %+v", k, ts)
			}
		}
	})
}

func TestSelect(t *testing.T) {
	n := func(v uint64) Value { return Value{N: v} }
	d, x, y := entryKey(1, "d"), entryKey(2, "x"), entryKey(2, "y")
	away, to := entryKey(1, "a"), entryKey(1, "b")
	content := func(of Node) Key { return Key{Part: Content, Node: of} }
	removed := []Transition{
		{x, n(3), n(0), 1}, {content(3), n(30), n(0), 1}, {y, n(4), n(0), 1}, {content(4), n(40), n(0), 1},
		{d, n(2), n(0), 1}, {content(2), n(20), n(0), 1},
	}
	moved := []Transition{{to, n(0), n(5), 1}, {away, n(5), n(0), 1}, {content(5), n(50), n(51), 1}, {x, n(0), n(6), 1}}
	links := []Transition{{away, n(5), n(0), 1}, {to, n(5), n(0), 1}, {content(5), n(50), n(0), 1}}
	for _, test := range []struct {
		name   string
		ts     []Transition
		chosen Key
		want   []Key
	}{
		{"a directory with all that was in it", removed, d, []Key{x, content(3), y, content(4), d, content(2)}},
		{"one file with the directory that it was in", removed, x, []Key{x, content(3), d, content(2)}},
		{"both ends of a rename", moved, away, []Key{to, away, content(5)}},
		{"one of two names that went", links, to, []Key{to, content(5)}},
		{"a content with the entry that it went with", removed, content(4), []Key{y, content(4), d, content(2)}},
	} {
		t.Run(test.name, func(t *testing.T) {
			var got []Key
			for _, x := range Select(test.ts, func(k Key) bool { return k == test.chosen }) {
				got = append(got, x.Key)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("Select gives\n%v\nand not\n%v", got, test.want)
			}
		})
	}
}
