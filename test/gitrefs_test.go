//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// symbolicReferences have git write to a file of its own that is no reference: each is left
// inside and then followed by a git command of the person's. That makes .git/commondir, by
// which git then takes another repository for this one. S is "ref: commondir".
var symbolicReferences = []struct{ name, leave, act string }{
	{"a branch", `echo "$S" > .git/refs/heads/main`, commits},
	{"by git", `git symbolic-ref refs/heads/main commondir`, commits},
	{"without a space", `printf ref:commondir > .git/refs/heads/main`, commits},
	{"with more", `printf 'ref: \t commondir \n\n' > .git/refs/heads/main`, commits},
	{"appended", `: > .git/refs/heads/main; printf ref: >> .git/refs/heads/main; echo commondir >> .git/refs/heads/main`, commits},
	{"a branch that leads to it", `git symbolic-ref refs/heads/main refs/heads/other; echo "$S" > .git/refs/heads/other`, commits},
	{"a new branch", `echo "$S" > .git/refs/heads/new; git symbolic-ref HEAD refs/heads/new`, commits},
	{"ORIG_HEAD", `echo "$S" > .git/ORIG_HEAD`, resets},
	{"moved there", `echo "$S" > x; mv x .git/ORIG_HEAD`, resets},
	{"moved from its lock", `echo "$S" > .git/ORIG_HEAD.lock; mv .git/ORIG_HEAD.lock .git/ORIG_HEAD`, resets},
	{"linked there", `echo "$S" > x; rm -f .git/ORIG_HEAD; ln x .git/ORIG_HEAD`, resets},
	{"by a second name", `ln .git/refs/heads/main x; echo "$S" > x`, commits},
	{"by a second name from before", `echo > x; rm -f .git/ORIG_HEAD; ln x .git/ORIG_HEAD; echo "$S" > x`, resets},
	{"by a descriptor from before", `exec 3> x; mv x .git/ORIG_HEAD; echo "$S" >&3; exec 3>&-`, resets},
	{"by a descriptor kept", `exec 3>> .git/ORIG_HEAD; echo "$S" >&3; exec 3>&-`, resets},
	{"exchanged", `echo "$S" > x; git update-ref ORIG_HEAD HEAD; ` + python("L.renameat2(-100, b'x', -100, b'.git/ORIG_HEAD', 2)"), resets},
	{"in a directory", `mkdir d; echo "$S" > d/main; rm -rf .git/refs/heads; mv d .git/refs/heads`, commits},
	{"in a directory of the repository", `mkdir .git/d; echo "$S" > .git/d/main; rm -rf .git/refs/heads; mv .git/d .git/refs/heads`, commits},
	{"in one deeper", `mkdir -p .git/d/heads; echo "$S" > .git/d/heads/main; rm -rf .git/refs; mv .git/d .git/refs`, commits},
	{"in one exchanged", `mkdir .git/d; echo "$S" > .git/d/main; ` + python("L.renameat2(-100, b'.git/d', -100, b'.git/refs/heads', 2)"), commits},
	{"of a worktree called logs", `git worktree add -q --detach logs; echo "$S" > .git/worktrees/logs/ORIG_HEAD`, `cd logs; git reset -q --hard HEAD~1; cd ..; test -e .git/worktrees/logs/commondir && ! grep -qs '^\.\.' .git/worktrees/logs/commondir && cp .git/worktrees/logs/commondir .git/`},
	{"by a map of it", python("import mmap; f = open('.git/ORIG_HEAD', 'w+b'); f.truncate(15); m = mmap.mmap(f.fileno(), 15); m[:] = b'ref: commondir\\n'; m.close(); f.close()"), resets},
}

const (
	commits = `git commit -q --allow-empty -m message`
	resets  = `git reset -q --hard HEAD~1`
)

// TestSymbolicReferences: the git that a person uses outside writes to no file of its own
// that a run has called a reference. Each is tried without walls first.
func TestSymbolicReferences(t *testing.T) {
	t.Parallel()
	for _, c := range symbolicReferences {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			written := func(dir string, inside bool) bool {
				w.outsideSh("mkdir -p " + dir + " && cd " + dir + " && git init -q -b main . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one && git commit -q --allow-empty -m two")
				script := "S='ref: commondir'\n" + c.leave + "\n"
				if inside {
					t.Log(w.run(append(historyOn, "--", "bash", "-c", script)...))
				} else {
					w.outsideSh("cd " + dir + "\n" + script + "\ntrue")
				}
				w.outsideSh("cd " + dir + "; " + c.act + "; true")
				return exists(dir + "/.git/commondir")
			}
			if !written(w.outside+"/free", false) {
				t.Fatal("without walls git writes nothing there: the reference does no harm")
			}
			if written(w.project, true) {
				t.Error("git outside wrote to where a reference of the run's leads")
			}
		})
	}
}

// TestSymbolicReferencesOfAWorktree: in a linked worktree no reference of the run's moves
// the branch of another.
func TestSymbolicReferencesOfAWorktree(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, leave string }{
		{"its branch", `git symbolic-ref refs/heads/side refs/heads/main`},
		{"its head", `git symbolic-ref HEAD refs/heads/main`},
		{"its head, by hand", `echo 'ref: refs/heads/main' > "$(git rev-parse --git-dir)/HEAD"`},
		{"a branch that it makes", `git symbolic-ref refs/heads/new refs/heads/main; git symbolic-ref HEAD refs/heads/new`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			moved := func(main, dir string, inside bool) bool {
				w.outsideSh("mkdir -p " + main + " && cd " + main + " && git init -q -b main . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one && rm -rf " + dir + " && git worktree add -q " + dir + " -b side")
				was := w.outsideSh("git -C " + main + " rev-parse main")
				if inside {
					t.Log(w.run(append(historyOn, "--", "bash", "-c", c.leave)...))
				} else {
					w.outsideSh("cd " + dir + "\n" + c.leave)
				}
				w.outsideSh("cd " + dir + "; " + commits + "; true")
				return w.outsideSh("git -C "+main+" rev-parse main") != was
			}
			if !moved(w.outside+"/free", w.outside+"/freeside", false) {
				t.Fatal("without walls nothing is moved: the reference does no harm")
			}
			if moved(w.outside+"/main", w.project, true) {
				t.Error("a commit in the worktree moved the main checkout's branch")
			}
		})
	}
}

// TestOrdinaryReferences: what git's own commands do with references works inside.
func TestOrdinaryReferences(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && echo 0 > f && git add f && git commit -qm one && git commit -q --allow-empty -m two && git remote add here .")
	for _, job := range []string{
		"git symbolic-ref refs/heads/alias refs/heads/main && git symbolic-ref -d refs/heads/alias",
		"git reset -q --hard HEAD~1 && git reset -q --hard ORIG_HEAD",
		"git switch -q -c topic && echo a > a && git add a && git commit -qm a && git switch -q main && git cherry-pick topic && git revert --no-edit HEAD",
		"git checkout -q --detach && git checkout -q main && git branch -m topic other && git branch -D other",
		"git notes add -m x && git stash list && echo 1 > f && git stash -q && git stash pop -q && git checkout -q .",
		"git bisect start -q HEAD HEAD~2 && git bisect reset",
		"git tag v1 && git pack-refs --all && git tag -d v1",
		"git fetch -q here && git remote set-head here main && git symbolic-ref refs/remotes/here/HEAD",
	} {
		if r := w.run(append(historyOn, "--", "bash", "-c", "set -e; "+job)...); r.code != 0 || strings.Contains(r.err, "denied") {
			t.Errorf("%s: %s", job, r)
		}
	}
	if out := w.outsideSh("git fsck --strict --no-dangling 2>&1 && git status --short && git rev-parse --abbrev-ref HEAD"); out != "main\n" {
		t.Errorf("afterwards: %q", out)
	}
}
