package history

import (
	"bytes"
	"os"
	"reflect"
	"testing"

	"carrel/internal/history/journal"

	"pgregory.net/rapid"
)

// TestSurveyIsRead: what is known of a step without reading it, and what is read
// when it is asked for, is what the journals say, whatever becomes of the file
// that it is kept in.
func TestSurveyIsRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		for range rapid.IntRange(1, 4).Draw(rt, "runs") {
			for range rapid.IntRange(1, 3).Draw(rt, "steps") {
				d.begin(rt)
				for range rapid.IntRange(0, 6).Draw(rt, "changes") {
					d.random(rt)
				}
				if rapid.IntRange(0, 9).Draw(rt, "killed") == 0 {
					d.kill()
					break
				}
				d.end(rt)
			}
			if d.w != nil {
				d.close(rt)
			}
			if _, err := d.store.Recover([]string{d.root}); err != nil {
				rt.Fatal(err)
			}
			d.sameRead(rt)
			if l := d.read(rt); rapid.Bool().Draw(rt, "undo") && len(l.Steps) > 0 {
				n := l.Steps[len(l.Steps)-1]
				redo := n.Begin.Kind == journal.StepUndo
				if n.Begin.Kind != journal.StepRedo {
					_, _ = d.undo(rt, Request{Steps: []uint64{n.Number}, Redo: redo})
				}
			}
			if rapid.IntRange(0, 3).Draw(rt, "damaged") == 0 {
				spoil(rt, d.store.Dir()+"/index")
			}
			d.sameRead(rt)
		}
	})
}

// sameRead compares both ways to read, twice: the first one may write the file.
func (d *desk) sameRead(t *rapid.T) {
	for range 2 {
		want, err := d.store.Read()
		if err != nil {
			t.Fatal(err)
		}
		got, err := d.store.Survey()
		if err != nil {
			t.Fatal(err)
		}
		if len(got.Steps) != len(want.Steps) || got.Stamp != want.Stamp || got.Number != want.Number {
			t.Fatalf("%d steps to stamp %d, number %d; read are %d to %d, %d", len(got.Steps), got.Stamp, got.Number, len(want.Steps), want.Stamp, want.Number)
		}
		for i, w := range want.Steps {
			g := got.Steps[i]
			if g.Counts() != w.Counts() || g.Stamp != w.Stamp || g.Last != w.Last || g.UndoneBy != w.UndoneBy || g.Number != w.Number ||
				!reflect.DeepEqual(g.Begin, w.Begin) || !reflect.DeepEqual(g.End, w.End) {
				t.Fatalf("step %d, unread:\n%+v\n%+v", w.Number, g, w)
			}
			if !reflect.DeepEqual(g.Posts(), w.Posts()) || !reflect.DeepEqual(g.Pres(), w.Pres()) || !reflect.DeepEqual(g.First, w.First) {
				t.Fatalf("step %d:\n%+v\n%+v", w.Number, g, w)
			}
			if g.Unread != nil || !reflect.DeepEqual(g.Begin, w.Begin) || !reflect.DeepEqual(g.End, w.End) {
				t.Fatalf("step %d, once read:\n%+v\n%+v", w.Number, g, w)
			}
		}
		if got.Unreadable() != nil {
			t.Fatal(got.Unreadable())
		}
	}
}

// spoil damages a file in one of the ways that happen.
func spoil(t *rapid.T, at string) {
	data, err := os.ReadFile(at)
	if err != nil || len(data) == 0 {
		return
	}
	n := rapid.IntRange(0, len(data)-1).Draw(t, "at")
	switch rapid.IntRange(0, 3).Draw(t, "how") {
	case 0:
		data[n] ^= 0x10
	case 1:
		data = data[:n]
	case 2:
		data = append(data, data...)
	case 3:
		data = append(bytes.Repeat([]byte{0xa5}, 9), data...)
	}
	if err := os.WriteFile(at, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestJournalGoneMeanwhile: an undo that needs what can no longer be read changes
// nothing, and says why.
func TestJournalGoneMeanwhile(t *testing.T) {
	for name, harm := range map[string]func(at string) error{
		"removed": os.Remove,
		"cut":     func(at string) error { return os.Truncate(at, 40) },
		"zeroed": func(at string) error {
			st, err := os.Stat(at)
			if err == nil {
				err = os.WriteFile(at, make([]byte, st.Size()), 0o600)
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			for _, text := range []string{"first", "second"} {
				d.begin(t)
				d.write(t, "a", text)
				d.end(t)
				d.close(t)
			}
			after := snapshot(t, d.root)
			d.read(t) // makes the file
			for _, steps := range [][]uint64{{2}, {1}, {1, 2}} {
				l := d.read(t)
				if l.Steps[1].Unread == nil {
					t.Fatal("the step was read already")
				}
				segment := d.store.Dir() + "/journal/" + l.Steps[1].Segment
				kept, err := os.ReadFile(segment)
				if err != nil {
					t.Fatal(err)
				}
				if err := harm(segment); err != nil {
					t.Fatal(err)
				}
				if _, err := d.store.Undo(l, Request{Steps: steps, Roots: []string{d.root}, Mode: journal.Force}); err == nil {
					t.Errorf("steps %d were taken back without the journal of step 2", steps)
				}
				if got := snapshot(t, d.root); got != after {
					t.Errorf("steps %d:\n%s", steps, apart(got, after))
				}
				if err := os.WriteFile(segment, kept, 0o600); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}
