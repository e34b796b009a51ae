//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// python writes a program outside the project and gives the flags and the command
// that run it inside.
func (w *world) python(name, text string, args ...string) []string {
	w.t.Helper()
	w.need("python3")
	body := w.script(w.base+"/tool/"+name, text)
	return append([]string{"--read", body, "--", "python3", body}, args...)
}

// races are threads that change a dozen names at once in all ways, some of them
// two names of one file, until the time is up.
var races = program("history_hostile/races.py")

// TestUndoOfRaces: whatever many threads did to the same names at once comes back
// exactly, and is made again exactly.
func TestUndoOfRaces(t *testing.T) {
	times, length := often(3, 20), often("1.0", "5")
	eachPerson(t, func(t *testing.T, p person) {
		for _, how := range []string{"plain", "held"} {
			for seed := range times {
				w := newWorld(t, p)
				w.outsideSh("mkdir d; for i in 0 1 2 3 4 5; do echo orig$i > a$i; echo other$i > d/a$i; done; ln a0 h0; ln a1 d/h1; ln -f a2 d/a2; touch -d 2001-02-03 *")
				before := w.scene()
				if r := w.run(w.python("races.py", races, length, fmt.Sprint(seed), how)...); r.code != 0 {
					t.Fatalf("inside: %s", r)
				}
				after := w.scene()
				what := fmt.Sprintf("%s %d", how, seed)
				w.fine("undo")
				w.isAgain("undone: "+what, before)
				w.fine("redo")
				w.isAgain("made again: "+what, after)
				if t.Failed() {
					return
				}
				w.leaveNow()
			}
		}
	})
}

// TestUndoOfHeldLinks: a descriptor that outlives a step writes on after the name
// that it was opened by is gone; the file has another name, which nobody touched.
func TestUndoOfHeldLinks(t *testing.T) {
	const mark = "/run/carrel/bin/carrel step "
	for name, gone := range map[string]string{
		"removed":  "rm h1",
		"replaced": "echo other > x; mv x h1",
		"renamed":  "mv h1 d/h3; rm d/h3",
		"linked":   "ln h1 h3; rm h1 h3",
	} {
		t.Run(name, func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh("mkdir -p d/e; echo before > h1; ln h1 d/e/h2; touch -d 2001-02-03 h1 d d/e")
				first := w.scene()
				w.sh("set -e; " + mark + "begin --label one; exec 5>> h1; " + gone + "; " + mark + "end; " +
					mark + "begin --label two; echo after >&5; echo x > seen; " + mark + "end; " + mark + "begin --label three; echo late >&5; " + mark + "end")
				var labels []string
				for _, s := range w.steps() {
					labels = append(labels, s.Label)
				}
				if got := strings.Join(labels, "|"); got != "one|two|three" {
					t.Fatalf("steps: %q", got)
				}
				last := w.scene()
				for _, want := range []string{"before\nafter\n", "before\n"} {
					w.fine("undo")
					if got := w.read(w.project + "/d/e/h2"); got != want {
						t.Errorf("after undo the other name holds %q, want %q", got, want)
					}
				}
				w.fine("undo")
				w.isAgain("undone", first)
				w.fine("redo", "3")
				w.isAgain("made again", last)
				w.fine("undo", "3")
				w.isAgain("undone at once", first)
			})
		})
	}
}
