//go:build linux

package e2e

import (
	"slices"
	"strings"
	"testing"
)

// TestStepsByMarksInBoxes: programs in a container, in a machine of Lima and in gVisor mark where steps
// begin and end, each undone by itself; carrel is nothing else there.
func TestStepsByMarksInBoxes(t *testing.T) {
	eachBox(t, func(t *testing.T, w *pageWorld) {
		w.set("network: closed\n")
		w.marksSteps()
		for _, words := range []string{"step sideways", "undo"} {
			if r := w.run("--", "sh", "-c", "carrel "+words); r.code != 125 && w.name != containerColumn || r.code == 0 {
				t.Errorf("carrel %s inside: %s", words, r)
			}
		}
	})
}

// marksSteps has commands of a run and of a workspace that stays mark a step.
func (w *world) marksSteps() {
	w.t.Helper()
	w.sh("echo 1 > before; carrel step begin --label first; echo 1 > in; carrel step end; echo 1 > after")
	var labels []string
	for _, s := range w.steps() {
		labels = append(labels, s.Label)
	}
	if got := strings.Join(labels, "|"); got != "|first|" {
		w.t.Fatalf("steps: %q", got)
	}
	w.fine("undo", "--step", "2")
	if exists(w.project+"/in") || !exists(w.project+"/before") || !exists(w.project+"/after") {
		w.t.Error("the step that was marked is not taken back alone")
	}
	s := w.stays("marks")
	s.fine("launch", "--name", "one", "--", "sh", "-c", "echo 1 > n1; carrel step begin --label named; echo 1 > n2; carrel step end; echo 1 > n3")
	s.fine("wait", "one")
	s.fine("stop")
	named := slices.DeleteFunc(w.steps(), func(s toldStep) bool { return s.Label != "named" })
	if len(named) != 1 || named[0].Added != 1 || !exists(w.project+"/n3") {
		w.t.Errorf("steps of a command in a workspace that stays: %+v", w.steps())
	}
}
