package historyop

import (
	"slices"
	"testing"

	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// TestRollbackSteps: a rollback takes back the operation's step and the later ones of the
// same run, in the same segment, and none of another run.
func TestRollbackSteps(t *testing.T) {
	step := func(n uint64, segment, run, kind string, open bool) *steplog.Step {
		s := &steplog.Step{Number: n, Segment: segment, Begin: journal.Begin{Run: run, Kind: kind}}
		if !open {
			s.End = &journal.End{}
		}
		return s
	}
	log := []*steplog.Step{
		step(1, "a", "r1", journal.StepRun, false),
		step(2, "b", "r1", journal.StepRun, true), // left open by a start that was killed
		step(3, "c", "r1", journal.StepRun, true),
		step(4, "c", "r1", journal.StepJob, true),
		step(5, "d", "r2", journal.StepRun, true),
		step(6, "c", "r1", journal.StepRun, false),
	}
	for _, tt := range []struct {
		name    string
		number  uint64
		run     string
		segment string
		first   uint64
		taken   []uint64
	}{
		{"the newest open step of the run", 0, "r1", "c", 3, []uint64{6, 4, 3}},
		{"the step of a job, by its number", 4, "r1", "c", 4, []uint64{6, 4}},
		{"another run", 0, "r2", "d", 5, []uint64{5}},
		{"a run without a step", 0, "r3", "", 0, nil},
		{"a number that is not there", 9, "r1", "", 0, nil},
	} {
		segment, first := stepOf(log, tt.number, tt.run)
		taken := stepsFrom(log, tt.run, segment, first)
		if segment != tt.segment || first != tt.first || !slices.Equal(taken, tt.taken) {
			t.Errorf("%s: %q, %d, %v", tt.name, segment, first, taken)
		}
	}
}
