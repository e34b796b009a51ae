package history

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/history/steplog"
)

// TestSoFar: an open step is told as it would be if it ended at this moment.
func TestSoFar(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		for range rapid.IntRange(1, 2).Draw(rt, "steps") {
			d.begin(rt)
			for range rapid.IntRange(1, 12).Draw(rt, "changes") {
				d.random(rt)
			}
			l := d.log(rt)
			open := l.Steps[len(l.Steps)-1]
			if err := SoFar(l, open); err != nil {
				rt.Fatalf("looking: %v", err)
			}
			told, counts := open.Changes(), open.Counts()
			if again := d.newest(rt); !again.Open() {
				rt.Fatalf("looking has closed the step")
			}
			d.end(rt)
			closed := d.newest(rt)
			if want := closed.Changes(); !reflect.DeepEqual(told, want) {
				rt.Fatalf("while it was open:\n%+v\nafterwards:\n%+v", told, want)
			}
			if want := closed.Counts(); counts != want {
				rt.Fatalf("counts: %+v, afterwards %+v", counts, want)
			}
		}
		d.close(rt)
	})
}

func (d *desk) log(t fataler) *Log {
	t.Helper()
	l, err := d.store.Read()
	if err != nil {
		t.Fatalf("reading: %v", err)
	}
	return l
}

func (d *desk) newest(t fataler) *steplog.Step {
	t.Helper()
	l := d.log(t)
	return l.Steps[len(l.Steps)-1]
}
