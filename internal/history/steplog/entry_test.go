package steplog

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/history/journal"
)

// entrySteps draws the steps of one segment, as a survey keeps them.
func entrySteps(t *rapid.T, segment string, size int64) []*Step {
	texts := rapid.SliceOfN(rapid.Map(rapid.StringN(0, 6, -1), func(s string) journal.Bytes { return journal.Bytes(s) }), 0, 3)
	numbers := rapid.SliceOfN(rapid.Uint64Range(1, 1<<40), 0, 3)
	none := func(list []journal.Bytes) []journal.Bytes { // a list of nothing is read as none
		if len(list) == 0 {
			return nil
		}
		return list
	}
	some := func(name string) []uint64 {
		if list := numbers.Draw(t, name); len(list) > 0 {
			return list
		}
		return nil
	}
	count := rapid.IntRange(0, 1000)
	var out []*Step
	for i := range rapid.IntRange(0, 3).Draw(t, "steps") {
		from := rapid.Int64Range(0, size).Draw(t, "from")
		st := &Step{
			Segment: segment, Number: uint64(i + 1), Stamp: rapid.Uint64Range(1, 90).Draw(t, "stamp"), Last: rapid.Uint64Range(0, 90).Draw(t, "last"),
			from: from, to: rapid.Int64Range(from, size).Draw(t, "to"),
			counts: &journal.Counts{Added: count.Draw(t, "added"), Modified: count.Draw(t, "modified"), Lost: count.Draw(t, "lost"), Kept: rapid.Int64().Draw(t, "kept")},
			Refs:   &Refs{Empty: rapid.Bool().Draw(t, "empty")},
			Begin: journal.Begin{
				Kind: rapid.SampledFrom([]string{journal.StepRun, journal.StepJob}).Draw(t, "kind"), Run: rapid.StringN(0, 8, -1).Draw(t, "run"),
				Command: none(texts.Draw(t, "command")), Label: rapid.StringN(0, 8, -1).Draw(t, "label"), Time: rapid.Int64().Draw(t, "time"),
				Open: rapid.Bool().Draw(t, "open"),
			},
			End: &journal.End{
				Time: rapid.Int64().Draw(t, "end"), Exit: rapid.IntRange(-1, 255).Draw(t, "exit"),
				Interrupted: rapid.Bool().Draw(t, "interrupted"), Aborted: rapid.Bool().Draw(t, "aborted"), Left: none(texts.Draw(t, "left")),
			},
		}
		if rapid.Bool().Draw(t, "undo") {
			st.Begin.Kind, st.Begin.Of, st.Begin.Rest = journal.StepUndo, []uint64{uint64(i + 1)}, some("rest")
		}
		for range rapid.IntRange(0, 2).Draw(t, "ranges") {
			from := rapid.Uint64Range(1, 50).Draw(t, "first")
			of := rapid.SampledFrom([]string{segment, journal.SegmentName(3, "other")}).Draw(t, "of")
			st.Refs.Objects = append(st.Refs.Objects, ObjectRange{of, from, from + rapid.Uint64Range(0, 20).Draw(t, "more")})
		}
		out = append(out, st)
	}
	return out
}

// TestEntry: an entry is read as it was written; one that is cut anywhere is refused, and
// so is one with more behind it.
func TestEntry(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		segment := journal.SegmentName(1, "run")
		is := SegmentState{Size: 5000, Mtime: rapid.Int64().Draw(rt, "mtime"), Inode: rapid.Uint64().Draw(rt, "inode"), Stamp: 100, Number: 10}
		steps := entrySteps(rt, segment, is.Size)
		for _, s := range steps {
			if (&journal.Record{Stamp: s.Stamp, Step: s.Number, Begin: &s.Begin}).Valid() != nil {
				rt.Skip("no beginning")
			}
		}
		entry := string(WriteEntry(segment, is, steps))
		gotIs, got, ok := ReadEntry(entry)
		if !ok || gotIs != is || !reflect.DeepEqual(got, steps) {
			rt.Fatalf("read %v, %+v, %+v; written %+v, %+v", ok, gotIs, got, is, steps)
		}
		for n := range len(entry) {
			if _, _, ok := ReadEntry(entry[:n]); ok {
				rt.Fatalf("%d of %d bytes were taken for an entry", n, len(entry))
			}
		}
		if _, _, ok := ReadEntry(entry + "\x00"); ok {
			rt.Fatal("an entry with something behind it was taken")
		}
	})
}

// TestEntryRefused: what an entry says has to be possible.
func TestEntryRefused(t *testing.T) {
	segment := journal.SegmentName(5, "run")
	for name, change := range map[string]func(is *SegmentState, s *Step){
		"":                              func(*SegmentState, *Step) {},
		"number beyond the segment's":   func(_ *SegmentState, s *Step) { s.Number = 3 },
		"number 0":                      func(_ *SegmentState, s *Step) { s.Number = 0 },
		"stamp beyond the segment's":    func(_ *SegmentState, s *Step) { s.Stamp = 10 },
		"stamp before the segment":      func(_ *SegmentState, s *Step) { s.Stamp = 4 },
		"last stamp beyond it":          func(_ *SegmentState, s *Step) { s.Last = 10 },
		"ends before it begins":         func(_ *SegmentState, s *Step) { s.from, s.to = 50, 40 },
		"ends behind the segment":       func(_ *SegmentState, s *Step) { s.to = 101 },
		"begins before the segment":     func(_ *SegmentState, s *Step) { s.from = -1 },
		"more objects than bytes":       func(_ *SegmentState, s *Step) { s.Refs.Objects = []ObjectRange{{segment, 1, 200}} },
		"objects that end first":        func(_ *SegmentState, s *Step) { s.Refs.Objects = []ObjectRange{{segment, 2, 0}} },
		"objects of no segment":         func(_ *SegmentState, s *Step) { s.Refs.Objects = []ObjectRange{{"../x", 1, 1}} },
		"segment with too great stamps": func(is *SegmentState, _ *Step) { is.Stamp = journal.MaxNumber + 1 },
	} {
		s := &Step{Segment: segment, Number: 2, Stamp: 6, Last: 9, from: 10, to: 90, counts: &journal.Counts{}, Refs: &Refs{}, Begin: journal.Begin{Kind: journal.StepRun}, End: &journal.End{}}
		is := SegmentState{Size: 100, Stamp: 9, Number: 2}
		change(&is, s)
		if _, _, ok := ReadEntry(string(WriteEntry(segment, is, []*Step{s}))); ok != (name == "") {
			t.Errorf("%s: taken is %v", name, ok)
		}
	}
}

// FuzzReadEntry: nothing that is no entry ends the program or takes much memory, and what
// is taken for one is written as the same again.
func FuzzReadEntry(f *testing.F) {
	segment := journal.SegmentName(5, "run")
	s := &Step{Segment: segment, Number: 2, Stamp: 6, Last: 9, from: 10, to: 90, counts: &journal.Counts{Added: 3}, Refs: &Refs{Objects: []ObjectRange{{segment, 1, 3}}},
		Begin: journal.Begin{Kind: journal.StepRun, Command: []journal.Bytes{"touch", "f"}, Roots: []journal.Bytes{"/p"}}, End: &journal.End{Exit: 1}}
	is := SegmentState{Size: 100, Mtime: 7, Inode: 8, Stamp: 9, Number: 2}
	f.Add(string(WriteEntry(segment, is, nil)))
	f.Add(string(WriteEntry(segment, is, []*Step{s})))
	f.Add(string(WriteEntry(segment, is, []*Step{s, s})))
	f.Add("")
	f.Add("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01")
	f.Fuzz(func(t *testing.T, entry string) {
		is, steps, ok := ReadEntry(entry)
		if !ok {
			return
		}
		r := indexReader{rest: entry}
		name := r.text()
		again, more, ok := ReadEntry(string(WriteEntry(name, is, steps)))
		if !ok || again != is || !reflect.DeepEqual(more, steps) {
			t.Errorf("%+v, %+v; once more %+v, %+v", is, steps, again, more)
		}
	})
}
