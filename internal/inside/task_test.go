package inside

import (
	"strings"
	"testing"
)

// TestTaskIsBounded: what is longer than the supervisor takes is refused before it is sent, and
// outside of a workspace no supervisor answers.
func TestTaskIsBounded(t *testing.T) {
	if _, err := Task(make([]byte, MaxTask+1)); err == nil || !strings.Contains(err.Error(), "at most") {
		t.Errorf("%v", err)
	}
	if _, err := Task([]byte("{}")); err == nil {
		t.Error("somebody has answered")
	}
	for _, op := range []string{OpStepBegin, OpStepEnd, OpStepNote} {
		if err := Step(op, Mark{}); err == nil {
			t.Errorf("%s: somebody has answered", op)
		}
	}
}
