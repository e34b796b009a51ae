//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// layered is a project whose changes are reviewed, beside a copy that the same command changes
// directly.
type layered struct {
	*world
	tree, tell string
}

func newLayered(t *testing.T, p person) *layered {
	w := newWorld(t, p)
	w.need("python3")
	// Programs lie where the workspace sees them, and outside of what is reviewed.
	return &layered{w, program("layers/tree.py"), program("layers/tell.py")}
}

// bare is the copy.
func (l *layered) bare() string { return l.home + "/bare" }

// begin makes both trees, the same.
func (l *layered) begin(seed int) string {
	l.t.Helper()
	l.outsideSh(fmt.Sprintf("chmod -R u+rwx %q %q; rm -rf %[1]q %[2]q", l.project, l.bare()))
	l.project = fmt.Sprintf("%s/p%d", l.home, seed) // each has a history of its own
	l.mkdir(l.project, 0o755)
	l.mustPlain(l.project, l.tree, fmt.Sprint(seed))
	l.outsideSh(fmt.Sprintf("cp -a %q %q", l.project, l.bare()))
	return l.told(l.project)
}

// mustPlain runs a program of Python in a directory, without walls.
func (l *layered) mustPlain(dir, text string, args ...string) string {
	l.t.Helper()
	cmd := l.command("python3", append([]string{"-c", text}, args...)...)
	cmd.Dir = dir
	r := l.finish(cmd)
	if r.code != 0 {
		l.t.Fatalf("in %s: %s", dir, r)
	}
	return r.out
}

func (l *layered) told(dir string) string { return l.mustPlain(dir, l.tell) }

// must runs carrel and wants it to succeed.
func (l *layered) mustCarrel(args ...string) result {
	l.t.Helper()
	r := l.carrel(args...)
	if r.code != 0 {
		l.t.Fatalf("carrel %s: %s", strings.Join(args, " "), r)
	}
	return r
}

// differ names the lines of two trees that are not in both.
func differ(a, b string) string {
	in := func(text string) map[string]bool {
		all := make(map[string]bool)
		for line := range strings.SplitSeq(text, "\n") {
			all[line] = true
		}
		return all
	}
	var out strings.Builder
	x, y := in(a), in(b)
	for line := range strings.SplitSeq(a, "\n") {
		if !y[line] {
			fmt.Fprintf(&out, "-%s\n", line)
		}
	}
	for line := range strings.SplitSeq(b, "\n") {
		if !x[line] {
			fmt.Fprintf(&out, "+%s\n", line)
		}
	}
	return out.String()
}

// TestLayersApplyExactly: a random change of a random tree leaves the project as it was, and once
// it is applied the tree that the same change makes directly. An undo brings the first one back.
func TestLayersApplyExactly(t *testing.T) {
	first, each := someSeed(t)*1000, often(6, 50)
	eachPerson(t, func(t *testing.T, p person) {
		for part := range 4 {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				l := newLayered(t, p)
				for seed := first + part*each; seed < first+(part+1)*each; seed++ {
					l.exact(seed)
				}
			})
		}
	})
}

func (l *layered) exact(seed int) {
	l.t.Helper()
	before := l.begin(seed)
	l.mustPlain(l.bare(), l.tree, fmt.Sprint(seed), "change")
	want := l.told(l.bare())
	r := l.run("--review", "--", "python3", "-c", l.tree, fmt.Sprint(seed), "change")
	if r.code != 0 {
		l.t.Fatalf("seed %d: %s", seed, r)
	}
	if now := l.told(l.project); now != before {
		l.t.Fatalf("seed %d: the run has changed the project itself:\n%s", seed, differ(before, now))
	}
	if strings.Contains(r.err, "nothing to review") {
		if d := differ(before, want); d != "" {
			l.t.Fatalf("seed %d: nothing to review, and directly:\n%s", seed, d)
		}
		return
	}
	diff := l.mustCarrel("review", "diff", "--stat")
	applied := l.carrel("review", "apply")
	if d := differ(want, l.told(l.project)); d != "" || applied.code != 0 {
		l.t.Fatalf("seed %d: directly (-), and as it was applied (+):\n%s%s\n%s", seed, d, applied, diff.out)
	}
	if list := l.mustCarrel("review", "list"); !strings.Contains(list.out, "there is no layer") {
		l.t.Fatalf("seed %d: something is left: %s\n%s", seed, list, l.mustCarrel("review", "diff", "--stat").out)
	}
	if !strings.Contains(applied.out, "as step") { // times of directories alone
		return
	}
	if r := l.carrel("undo"); r.code != 0 {
		l.t.Fatalf("seed %d: %s\n%s\n%s", seed, r, l.mustCarrel("history").out, diff.out)
	}
	if d := differ(before, l.told(l.project)); d != "" {
		l.t.Fatalf("seed %d: before (-), and after the undo (+):\n%s", seed, d)
	}
}
