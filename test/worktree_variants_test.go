//go:build linux

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// shaped gives a world whose project is a linked worktree of a repository in this shape,
// and the words that say where the parts of it are.
func shaped(t *testing.T, shape string) (w *world, where string) {
	w = newWorld(t, ordinary(t))
	w.litter = true
	w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n"+
		"[init]\n\tdefaultBranch = main\n")
	w.write(w.outside+"/look.py", program("variants/linked_look.py"))
	where = w.outsideSh("rmdir " + w.project + "; SHAPE=" + shape + " OUT=" + w.outside + " P=" + w.project + "\n" +
		program("variants/linked_world.bash"))
	where = "export " + strings.TrimSpace(where) + "; cd $P\n"
	w.outsideSh(where + "python3 $OUT/look.py $OUT/before")
	return w, where
}

// TestVariantsOfLinkedWorktrees: a run in a linked worktree changes nothing that the main
// checkout or another worktree stands on. In each shape but the first some are tried, all
// with CARREL_SOAK=1.
func TestVariantsOfLinkedWorktrees(t *testing.T) {
	t.Parallel()
	all := sample(t, ordinary(t), variants(t, "linked.bash"))
	const most = 40 // in one run
	shapes := []string{"plain", "bare", "inmain", "home", "submodule", "wtconfig", "relative", "locked", "detached",
		"packed", "sha256", "link", "separate"}
	if inBoxes(t) && !soaking {
		shapes = shapes[:2]
	}
	for s, shape := range shapes {
		t.Run(shape, func(t *testing.T) {
			t.Parallel()
			w, where := shaped(t, shape)
			var scripts []string
			n := 0
			for i, v := range all {
				if s > 0 && i%6 != s%6 && !soaking {
					continue
				}
				if n++; n%most == 1 {
					scripts = append(scripts, "export WALLS=1\n"+where+program("variants/linked_prelude.bash"))
				}
				scripts[len(scripts)-1] += fmt.Sprintf("(%s\n) < /dev/null > /dev/null 2>&1\nbetween %q\n", v.inside, v.name)
			}
			for _, script := range scripts {
				r := w.run("--read", w.outside, "--", "bash", "-c", script+"\nexit 0\n")
				if r.code != 0 || r.out != "" {
					t.Errorf("inside, status %d: %s", r.code, r.out)
				}
			}
			if after := w.outsideSh(where + "python3 $OUT/look.py $OUT/before compare"); after != "" {
				t.Errorf("outside: %s", after)
			}
		})
	}
}

// TestVariantsOfLinkedWorktreesAreSome: without walls each of them changes something; a
// fourth of them is tried, all with CARREL_SOAK=1.
func TestVariantsOfLinkedWorktreesAreSome(t *testing.T) {
	t.Parallel()
	w, where := shaped(t, "plain")
	w.outsideSh("cp -a " + w.outside + " " + w.home + "/outside.was; cp -a " + w.project + " " + w.home + "/project.was")
	all := variants(t, "linked.bash")
	if !soaking {
		all = eachOf(all, 4)
	}
	for part := range slices.Chunk(all, 20) {
		script := where
		for _, v := range part {
			script += "cd /; rm -rf $OUT/* $P; cp -a ~/outside.was/. $OUT; cp -a ~/project.was $P; cd $P\n" +
				"(" + v.inside + "\n) < /dev/null > /dev/null 2>&1\n" +
				"other() { test -n \"$(python3 $OUT/look.py $OUT/before compare $1 2>&1)\"; }\n" +
				"other quick || other || echo \"" + v.name + "\"\n"
		}
		if out := w.outsideSh(script); out != "" {
			t.Errorf("without walls these change nothing:\n%s", out)
		}
	}
}

// eachOf gives one of n, in turn.
func eachOf(all []variant, n int) (some []variant) {
	for part := range slices.Chunk(all, n) {
		some = append(some, part[0])
	}
	return some
}
