//go:build linux

package e2e

import (
	"strings"
	"testing"
	"time"
)

// TestBrokerRacesAreRecorded: while processes and threads swap paths, links,
// directories, roots and mounts under each other's calls, nothing outside the
// project changes, no protected name gets content, and every difference in the
// project follows from the record.
func TestBrokerRacesAreRecorded(t *testing.T) {
	seconds := often("5", "45")
	after := `for f in race*/.git/hooks/pre-commit q*/conf/* .vscode/EVIL* .git/hooks/EVIL*; do if test -e "$f"; then echo EVIL "$f"; fi; done`
	setup := `mkdir -p r/d1/e r/d2/e r/d1/k r/d2/k; for d in 1 2; do for i in 1 2 3; do echo $d$i > r/d$d/k/$i; done; done; echo f > r/f; mkdir -p x/hooks; printf '#!/bin/sh\necho EVIL\n' > x/hooks/pre-commit; chmod +x x/hooks/pre-commit; echo y > y; mkdir hl; for i in 1 2 3 4; do echo $i > hl/$i; done`
	eachPerson(t, func(t *testing.T, p person) {
		for _, nested := range []string{"userns", "full"} {
			t.Run(nested, func(t *testing.T) {
				a := hostile{name: "adversary", want: "raced", limit: 5 * time.Minute, setup: setup, after: after,
					flags: []string{"--nested", nested, "--protect", "**/conf/*"}, body: strings.ReplaceAll(adversary, "SECONDS", seconds)}
				w := a.prepare(t, p)
				before := w.besides()
				a.run(t, w, "--deny", "keys")
				for _, c := range changes(before, w.besides()) {
					t.Errorf("changed outside the project: %q", c)
				}
			})
		}
	})
}

// besides describes what of a world is not the project's, nor written by carrel
// itself.
func (w *world) besides() map[string]string {
	all := w.lie(w.base)
	for p := range all {
		for _, own := range []string{w.project, w.home + "/.local", w.home + "/.cache", w.runtime} {
			if p == own || strings.HasPrefix(p, own+"/") {
				delete(all, p)
			}
		}
	}
	return all
}

// adversary runs one function in each process, several threads of some.
var adversary = program("broker_soak/adversary.py")
