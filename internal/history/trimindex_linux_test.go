package history

import (
	"bytes"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"

	"pgregory.net/rapid"
)

// TestTrimByIndex: a trim that takes sizes and ages from the index removes what one
// that reads all journals does.
func TestTrimByIndex(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		for range rapid.IntRange(2, 6).Draw(rt, "runs") {
			for range rapid.IntRange(1, 2).Draw(rt, "steps") {
				d.begin(rt)
				for range rapid.IntRange(0, 4).Draw(rt, "changes") {
					d.random(rt)
				}
				d.end(rt)
			}
			d.close(rt)
			if l := d.read(rt); rapid.IntRange(0, 2).Draw(rt, "undo") == 0 {
				_, _ = d.undo(rt, Request{Steps: []uint64{l.Changes()[len(l.Changes())-1].Number}})
			}
		}
		l := d.read(rt)
		size, err := d.store.Recount()
		if err != nil {
			rt.Fatal(err)
		}
		d.store.SetLimits(Limits{
			Steps: rapid.Int64Range(0, int64(len(l.Steps))).Draw(rt, "limit of steps"),
			Bytes: rapid.Int64Range(0, size.Bytes).Draw(rt, "limit of bytes"),
		})
		byIndex := d.collect(rt, true)
		if err := os.Remove(d.store.Dir() + "/index"); err != nil {
			rt.Fatal(err)
		}
		byJournals := d.collect(rt, true)
		if byIndex.Oldest = byJournals.Oldest; !reflect.DeepEqual(byIndex, byJournals) {
			rt.Fatalf("by the index %+v\nby the journals %+v", byIndex, byJournals)
		}
		if done := d.collect(rt, false); !slices.Equal(done.Steps, byIndex.Steps) || done.Freed.Disk != byIndex.Freed.Disk {
			rt.Fatalf("foretold %+v\ndone %+v", byIndex, done)
		}
		if f := d.verified(rt); len(f) > 0 {
			rt.Fatal(f)
		}
	})
}

func (d *desk) collect(t fataler, dry bool) *Removal {
	t.Helper()
	r, err := d.store.Collect(dry)
	if err != nil {
		t.Fatalf("collecting: %v", err)
	}
	return r
}

// misindex changes what the index says of one segment. Checksums are right, and so is the
// state of the file.
func (d *desk) misindex(t fataler, segment string, change func(is *steplog.SegmentState, steps []*steplog.Step) []*steplog.Step) {
	t.Helper()
	of, whole := d.indexOf(t)
	out := []byte(indexFileHead)
	for _, name := range slices.Sorted(maps.Keys(of)) {
		entry := of[name]
		if name == segment {
			is, steps, ok := steplog.ReadEntry(entry)
			if !ok {
				t.Fatalf("the entry of %s cannot be read", name)
			}
			steps = change(&is, steps)
			entry = string(steplog.WriteEntry(name, is, steps))
		}
		out = journal.AppendFrame(out, []byte(entry))
	}
	if !whole || of[segment] == "" {
		t.Fatalf("the index has no entry of %s", segment)
	}
	if err := os.WriteFile(d.store.Dir()+"/index", out, 0o600); err != nil {
		t.Fatalf("%v", err)
	}
}

// TestTrimByWrongIndex: an index that says something else than the journals, with right
// checksums, makes a trim remove nothing that it would not remove without one.
func TestTrimByWrongIndex(t *testing.T) {
	none := func(*steplog.SegmentState, []*steplog.Step) []*steplog.Step { return nil }
	each := func(change func(*steplog.Step)) func(*steplog.SegmentState, []*steplog.Step) []*steplog.Step {
		return func(_ *steplog.SegmentState, steps []*steplog.Step) []*steplog.Step {
			for _, s := range steps {
				change(s)
			}
			return steps
		}
	}
	for name, forge := range map[string]func(*steplog.SegmentState, []*steplog.Step) []*steplog.Step{
		"no steps":     none,
		"empty":        each(func(s *steplog.Step) { s.Refs.Empty = true }),
		"no objects":   each(func(s *steplog.Step) { s.Refs.Objects = nil }),
		"older":        each(func(s *steplog.Step) { s.Number = 0 }),
		"other number": each(func(s *steplog.Step) { s.Number += 100 }),
		"an undo of 1": each(func(s *steplog.Step) { s.Begin.Kind, s.Begin.Of = journal.StepUndo, []uint64{1} }),
		"aborted":      each(func(s *steplog.Step) { s.End.Aborted = true }),
		"late":         each(func(s *steplog.Step) { s.Stamp += 1 << 20 }),
		"other objects": each(func(s *steplog.Step) {
			s.Refs.Objects = []steplog.ObjectRange{{Segment: s.Segment, From: 900, To: 901}}
		}),
	} {
		for _, of := range []int{1, 4} { // one that goes, and one that stays
			t.Run(name, func(t *testing.T) {
				d := newDesk(t)
				d.fill(t)
				for i := range 8 {
					d.begin(t)
					d.write(t, "a", string(bytes.Repeat([]byte{byte('0' + i)}, 5000)))
					d.end(t)
					d.close(t)
				}
				d.store.SetLimits(Limits{Steps: 7})
				before := d.read(t)
				segment := before.Steps[of-1].Segment
				honest := d.collect(t, true)
				d.misindex(t, segment, forge)
				if got := d.collect(t, false); len(got.Steps) > len(honest.Steps) {
					t.Fatalf("steps %d went, want %d at most", got.Steps, honest.Steps)
				}
				_ = os.Remove(d.store.Dir() + "/index")
				left := numbers(d.read(t))
				for _, s := range before.Steps {
					if !slices.Contains(honest.Steps, s.Number) && !slices.Contains(left, s.Number) {
						t.Errorf("step %d, which the limits keep, is gone", s.Number)
					}
				}
				if f := d.verified(t); len(f) > 0 {
					t.Error(f)
				}
				if got := d.collect(t, false); len(got.Steps) > len(honest.Steps) {
					t.Errorf("steps %d went with the index made anew", got.Steps)
				}
			})
		}
	}
}
