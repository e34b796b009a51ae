package history

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestEditsDuringAStepAreKept: whatever a step does while a person writes to files, also
// under names that the step has removed, in directories that it has made, and where it has
// something of another kind, no text of the person's is lost.
func TestEditsDuringAStepAreKept(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.opens = true
		d.fill(t)
		d.begin(rt)
		var written []string
		for i := range rapid.IntRange(5, 40).Draw(rt, "changes") {
			if rapid.IntRange(0, 2).Draw(rt, "who") > 0 {
				d.random(rt)
				for _, text := range written {
					if !d.holds(text) {
						rt.Fatalf("%q is lost", text)
					}
				}
				continue
			}
			d.quiet(t)
			if text := fmt.Sprintf("by the user, %d;", i); d.edit(rt, text) != "" {
				// What is written over by another edit is the user's own doing.
				written = slices.DeleteFunc(written, func(w string) bool { return !d.holds(w) })
				written = append(written, text)
			}
		}
		d.end(rt)
		d.close(rt)
		if faults := d.verified(rt); len(faults) > 0 {
			rt.Fatalf("%+v", faults)
		}
		for _, text := range written {
			if !d.holds(text) {
				rt.Fatalf("after the step: %q is lost", text)
			}
		}
	})
}
