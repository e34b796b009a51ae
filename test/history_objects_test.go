//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// TestUndoOfCollectedObjects: git removes directories of loose objects, and makes them anew.
// An undo brings back what was removed, beside what has come, which stays.
func TestUndoOfCollectedObjects(t *testing.T) {
	t.Parallel()
	many := "mkdir -p f && for i in $(seq 600); do echo $i $RANDOM > f/$i; done && git add f && git commit -qm f"
	for name, steps := range map[string][]string{
		"in one step":  {"git gc -q && " + many},
		"in two":       {"git gc -q", many},
		"and again":    {"git gc -q && " + many + " && git gc -q && rm -rf f && " + many},
		"by hand":      {"rm -rf .git/objects/?? && mkdir .git/objects/00 && echo x | git hash-object -w --stdin"},
		"moved before": {"touch z; for d in .git/objects/??; do mv $d .git/objects/x; mkdir $d; mv .git/objects/x/* $d; rmdir .git/objects/x; done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && for i in $(seq 300); do echo $i > g$i; done && git add . && git commit -qm one")
			state := "git rev-parse HEAD && git --no-optional-locks status --short && ls && find .git/objects -type f -name '??????????????????????????????????????' | sort"
			before := w.outsideSh(state)
			for _, step := range steps {
				if r := w.run(append(historyOn, "--", "bash", "-c", step)...); r.code != 0 {
					t.Fatal(r)
				}
			}
			for range steps {
				if r := w.plain(w.bin, "undo"); r.code != 0 {
					t.Fatal(r)
				}
			}
			after := w.outsideSh(state)
			for line := range strings.Lines(before) {
				if !strings.Contains(after, line) {
					t.Errorf("not there after the undo: %s", line)
				}
			}
			if out := w.outsideSh("git fsck --strict --no-dangling 2>&1"); out != "" {
				t.Errorf("git fsck: %s", out)
			}
			for range steps {
				if r := w.plain(w.bin, "redo"); r.code != 0 {
					t.Fatal(r)
				}
			}
			if out := w.outsideSh("git fsck --strict --no-dangling 2>&1"); out != "" {
				t.Errorf("git fsck after the redo: %s", out)
			}
		})
	}
}

// TestUndoOfRepositories: a repository that a step removed, or made, comes back and goes as
// often as one likes. So does that of an older step alone.
func TestUndoOfRepositories(t *testing.T) {
	t.Parallel()
	made := "git init -q --object-format=%s in && git -C in commit -q --allow-empty -m one && " +
		"echo a > in/a && git -C in add a && git -C in worktree add -q ../wt"
	for name, c := range map[string]struct{ before, step, later, undo string }{
		"removed":              {strings.ReplaceAll(made, "%s", "sha1"), "rm -rf in wt", "true", "undo"},
		"removed, SHA-256":     {strings.ReplaceAll(made, "%s", "sha256"), "rm -rf in wt", "true", "undo"},
		"removed by the older": {strings.ReplaceAll(made, "%s", "sha1"), "rm -rf in wt", "echo x > x", "undo --step 1"},
		"made by the older":    {"true", strings.ReplaceAll(made, "%s", "sha1"), "echo x > x", "undo --step 1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.outsideSh("git config --global user.email a@b; git config --global user.name a; " + c.before)
			state := "find in wt ! -path '*/objects*' 2>&1; [ ! -e in ] || (cd in; git --no-optional-locks status --short; git fsck 2>&1)"
			before := w.outsideSh(state)
			for _, line := range []string{c.step, c.later} {
				if r := w.run(append(historyOn, "--", "bash", "-c", line)...); r.code != 0 {
					t.Fatal(r)
				}
			}
			after := w.outsideSh(state)
			for _, again := range []string{"first", "second", "third"} {
				if r := w.plain(w.bin, strings.Fields(c.undo)...); r.code != 0 {
					t.Fatal(again, r)
				}
				if got := w.outsideSh(state); got != before {
					t.Errorf("%s undo: %s", again, got)
				}
				if r := w.plain(w.bin, "redo"); r.code != 0 {
					t.Fatal(again, r)
				}
				if got := w.outsideSh(state); got != after {
					t.Errorf("%s redo: %s", again, got)
				}
			}
		})
	}
}

// TestUndoOfRepositoryMadeAnew: a step removes all that is in a repository, and makes another one
// in its place. What was there comes back beside the objects of the new one, which stay, also
// where somebody has committed to that meanwhile: 7 and 36 have names in the same directory.
func TestUndoOfRepositoryMadeAnew(t *testing.T) {
	t.Parallel()
	for _, flag := range []string{"", "--skip-conflicts", "--keep-both", "--force"} {
		t.Run(flag, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			commit := "git add -A && git -c user.email=a@b -c user.name=a commit -qm "
			w.outsideSh("git init -q -b main . && echo 1 > f && " + commit + "one && git gc -q && echo 7 > g && " + commit + "two")
			fsck := "git fsck --strict --no-dangling 2>&1"
			log := "git log --format=%s main; find .git -name '*.undo-conflict*'; ls"
			before := w.outsideSh(log)
			step := "rm -rf .git g; git init -q -b main . && " + commit + "anew && git gc -q"
			if r := w.run(append(historyOn, "--write", w.project+"/.git", "--", "bash", "-c", step)...); r.code != 0 {
				t.Fatal(r)
			}
			args := strings.Fields("undo " + flag)
			if flag != "" {
				w.outsideSh("echo 36 > h && " + commit + "mine")
			}
			after := w.outsideSh(log)
			for range 2 {
				if r := w.plain(w.bin, args...); r.code != 0 {
					t.Fatal(r)
				}
				if got := w.outsideSh(log); flag == "" && got != before {
					t.Errorf("undo: %s", got)
				}
				if out := w.outsideSh(fsck); out != "" {
					t.Errorf("git fsck: %s", out)
				}
				if r := w.plain(w.bin, "redo"); r.code != 0 {
					t.Fatal(r)
				}
				if got := w.outsideSh(log); got != after {
					t.Errorf("redo: %s", got)
				}
				if out := w.outsideSh(fsck); out != "" {
					t.Errorf("git fsck after the redo: %s", out)
				}
			}
		})
	}
}
