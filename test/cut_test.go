//go:build linux

package e2e

import (
	"os"
	"slices"
	"strconv"
	"testing"
)

// TestNothingIsCutByAChangedPath: a program that could write a file once holds it by a bare
// descriptor, on a mount that can be written. The history keeps the file when a later step
// removes it, and no call that is let go cuts what is kept.
func TestNothingIsCutByAChangedPath(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("python3")
	w.write(w.project+"/kept", "kept\n")
	w.write(w.project+"/cutting.py", program("cut/cutting.py"))
	// The attack works where nothing is in its way.
	if r := w.plain("bash", "-c", `touch told; echo kept > other; python3 cutting.py other said told own; cat said; rm -f told other said own`); r.out != "it has 0 bytes\n4" {
		t.Fatalf("without walls: %s", r)
	}
	r := w.run(slices.Concat(historyOn, []string{"--", "bash", "-c", inSteps + `
m begin; python3 cutting.py kept /tmp/said /tmp/told /tmp/own & until test -s /tmp/said; do sleep 0.02; done; m end
m begin; rm kept; m end; touch /tmp/told; wait; cat /tmp/said`})...)
	if r.code != 0 || r.out != "it has 5 bytes\n4" {
		t.Errorf("inside: %s", r)
	}
	for _, s := range w.steps() {
		if slices.Contains(w.pathsOf(s.Step), "kept") {
			w.fine("undo", "--step", strconv.FormatUint(s.Step, 10))
		}
	}
	if got, err := os.ReadFile(w.project + "/kept"); string(got) != "kept\n" {
		t.Errorf("the file is back with %q, %v", got, err)
	}
}
