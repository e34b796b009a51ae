//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// evil is a program that leaves a mark where it is started.
const evil = `printf '#!/bin/sh\ntouch "$MARK"\n'`

// otherWays lead to what runs later by another name than its own: make is done outside,
// leave inside, and then act outside.
var otherWays = []struct{ name, make, leave, act string }{
	{"a hook that is a link", `mkdir s; printf '#!/bin/sh\n' > s/pc; chmod +x s/pc; ln -s ../../s/pc .git/hooks/pre-commit`, evil + ` > s/pc || { ` + evil + ` > x; chmod +x x; mv -f x s/pc; } || { mv s t; mkdir s; ` + evil + ` > s/pc; chmod +x s/pc; }`, commits},
	{"a hook with a second name", `mkdir s; printf '#!/bin/sh\n' > s/pc; chmod +x s/pc; ln s/pc .git/hooks/pre-commit`, evil + ` > s/pc`, commits},
	{"a link in a directory of hooks", `mkdir s .husky; printf '#!/bin/sh\n' > s/pc; chmod +x s/pc; ln -s ../s/pc .husky/pre-commit; git config core.hooksPath .husky`, evil + ` > s/pc`, commits},
	{"a link outside", `mkdir s "$HOME/gh"; printf '#!/bin/sh\n' > s/pc; chmod +x s/pc; ln -sf "$PWD/s/pc" "$HOME/gh/post-commit"; git config core.hooksPath "$HOME/gh"`, evil + ` > s/pc`, commits},
	{"a hook that leads nowhere", `ln -s ../../s/pc .git/hooks/pre-commit`, `mkdir s; ` + evil + ` > s/pc; chmod +x s/pc`, commits},
	{"one by a directory moved there", `ln -s ../../s/pc .git/hooks/pre-commit`, `mkdir t; ` + evil + ` > t/pc; chmod +x t/pc; mv t s`, commits},
	{"one by a link there", `ln -s ../../s/pc .git/hooks/pre-commit`, `mkdir t; ` + evil + ` > t/pc; chmod +x t/pc; ln -s t s`, commits},
	{"all hooks by a link", `rm -rf .git/hooks; mkdir h; ln -s ../h .git/hooks`, evil + ` > h/pre-commit; chmod +x h/pre-commit`, commits},
	{"a configuration with a second name", `mkdir s; ln .git/config s/c`, `printf '[core]\n\tfsmonitor = touch "$MARK"; false\n' >> s/c`, `git status`},
	{"a program of a filter with a second name", `mkdir s tools; printf '#!/bin/sh\ncat\n' > tools/c; chmod +x tools/c; ln tools/c s/c; git config filter.x.clean tools/c; echo '*.txt filter=x' > .gitattributes`, evil + ` > s/c; echo cat >> s/c`, `echo x > a.txt; git add a.txt`},
	{"a socket for a directory of a repository", ``, `mkdir d; cd d; echo 'ref: refs/heads/main' > HEAD; mkdir objects; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ..\n\tfsmonitor = touch "$MARK"; false\n' > config; ` + python("import socket; socket.socket(socket.AF_UNIX).bind('refs')"), `cd d; git status`},
	{"hooks of a new worktree", `git config core.hooksPath tools/hooks`, `git worktree add -q -b new wt; mkdir -p wt/tools/hooks; ` + evil + ` > wt/tools/hooks/post-commit; chmod +x wt/tools/hooks/post-commit`, `cd wt; ` + commits},
	{"hooks before a new worktree", `git config core.hooksPath tools/hooks`, `mkdir -p sub/tools/hooks; ` + evil + ` > sub/tools/hooks/post-commit; chmod +x sub/tools/hooks/post-commit; echo 'gitdir: ../.git' > sub/.git`, `cd sub; ` + commits},
	{"hooks moved into a new worktree", `git config core.hooksPath tools/hooks`, `git worktree add -q -b new wt; mkdir -p x/tools/hooks; ` + evil + ` > x/tools/hooks/post-commit; chmod +x x/tools/hooks/post-commit; mv x/tools wt/tools`, `cd wt; ` + commits},
	{"a repository that is moved to its hooks", nested, `mkdir -p x/y/z x/y/hooks; ` + evil + ` > x/y/hooks/post-commit; chmod +x x/y/hooks/post-commit; mv a/b/c x/y/z/c`, `cd x/y/z/c; ` + commits},
	{"one in a directory that is moved", nested, `mkdir -p x/y/hooks; ` + evil + ` > x/y/hooks/post-commit; chmod +x x/y/hooks/post-commit; mkdir x/y/z; mv a/b x/y/z/b; mv x/y/z/b/c x/y/z/c`, `cd x/y/z/c; ` + commits},
	{"hooks beside a repository", nested, evil + ` > a/hooks/post-commit; chmod +x a/hooks/post-commit`, `cd a/b/c; ` + commits},
	{"hooks beside one, with their directory", nested + `; rmdir a/hooks`, `mkdir x; ` + evil + ` > x/post-commit; chmod +x x/post-commit; mv x a/hooks`, `cd a/b/c; ` + commits},
	{"a program that a repository below names", nested + `; printf '#!/bin/sh\ncat\n' > tool; chmod +x tool; cd a/b/c; git config filter.x.clean "../../../tool"; echo '*.txt filter=x' > .gitattributes`, evil + ` > x; echo cat >> x; chmod +x x; mv -f x tool`, `cd a/b/c; echo x > a.txt; git add a.txt`},
	{"an index into a git directory elsewhere", `rm -rf .git; git init -q -b main --separate-git-dir=store .; git config user.email a@b; git config user.name a; echo store > .gitignore; git add .gitignore; git commit -qm one`, `b=$(` + evil + ` | git hash-object -w --stdin); git update-index --add --cacheinfo 100755,$b,store/hooks/post-checkout`, `git checkout -q .; git checkout -q HEAD`},
	{"an index into a bare repository", `git init -q --bare fix.git; echo fix.git > .gitignore; git add .gitignore; git commit -qm i`, `b=$(` + evil + ` | git hash-object -w --stdin); git update-index --add --cacheinfo 100755,$b,fix.git/hooks/reference-transaction`, `git checkout -q .; git push -q fix.git main`},
	{"a piece of a repository in an index", ``, `mkdir -p e/objects e/refs; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch %s; false"\n' "$MARK" > e/config; b=$(echo 'ref: refs/heads/main' | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$b,e/HEAD`, `git checkout -q .; cd e; git status`},
	{"all pieces of a repository in an index", ``, `mkdir e; a() { git update-index --add --cacheinfo 100644,$(git hash-object -w --stdin),e/$1; }; printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch %s; false"\n' "$MARK" | a config; echo 'ref: refs/heads/main' | a HEAD; : | a objects/x; : | a refs/x`, `git checkout -q .; cd e; git status`},
	{"a tracked repository with another configuration", tracked, `b=$(printf '[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n\tfsmonitor = "touch %s; false"\n' "$MARK" | git hash-object -w --stdin); git update-index --cacheinfo 100644,$b,testdata/repo.git/config`, `git checkout -q .; cd testdata/repo.git; git status`},
	{"a strategy", conflict + `git rebase main`, evilStrategy + `echo x/evil > .git/rebase-merge/strategy`, `echo r > f; git add f; GIT_EDITOR=true git rebase --continue`},
	{"a strategy in a directory", conflict + `git rebase main`, evilStrategy + `cp -r .git/rebase-merge .git/x; echo x/evil > .git/x/strategy; rm -rf .git/rebase-merge; mv .git/x .git/rebase-merge`, `echo r > f; git add f; GIT_EDITOR=true git rebase --continue`},
	{"a strategy of a cherry-pick", conflict + `git switch -q main; git cherry-pick side~1 side`, evilStrategy + `printf '[options]\n\tstrategy = x/evil\n' > .git/sequencer/opts`, `echo r > f; git add f; GIT_EDITOR=true git cherry-pick --continue`},
}

// nested has a repository below, with hooks beside it.
const nested = `mkdir -p a/b/c a/hooks; cd a/b/c; git init -q; git config user.email a@b; git config user.name a; git config core.hooksPath ../../hooks; cd ../../..`

// tracked has a bare repository for its tests.
const tracked = `git init -q --bare x; mkdir testdata; mv x testdata/repo.git; touch testdata/repo.git/objects/.k testdata/repo.git/refs/.k; head -c 3000000 /dev/zero > testdata/repo.git/objects/big; git add -f .; git commit -qm fixture`

// conflict leaves two commits of side that do not go onto main.
const conflict = `echo 1 > f; git add f; git commit -qm 1; git switch -qc side; echo 2 > f; git commit -qam 2; echo 3 > g; git add g; git commit -qm 3; git switch -q main; echo 9 > f; git commit -qam 9; git switch -q side; `

// TestOptionsOfAm: of the options that a run leaves for "git am --skip" none has git write
// to a file of their choice.
func TestOptionsOfAm(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]string{
		"written":            `printf " '--build-fake-ancestor=$HOME/PWN'" > .git/rebase-apply/apply-opt`,
		"moved there":        `printf " '--build-fake-ancestor=$HOME/PWN'" > o; mv o .git/rebase-apply/apply-opt`,
		"with its directory": `mv .git/rebase-apply r; printf " '--build-fake-ancestor=$HOME/PWN'" > r/apply-opt; mv r .git/rebase-apply`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && touch f && git add f && git commit -qm x\n" +
				"git checkout -qb o && echo 1 > f && git commit -qam 1 && echo 2 > g && git add g && git commit -qm 2\n" +
				"git format-patch -q -o ../p main && git checkout -q main && echo 3 > f && git commit -qam 3\ngit am -q ../p/*; cp -r . ../free")
			r := w.run(append(historyOn, "--", "bash", "-c", leave)...)
			w.outsideSh("git am --skip; true")
			if w.mark() {
				t.Errorf("git wrote there: %s", r)
			}
			w.outsideSh("cd ../free\n" + leave + "\ngit am --skip; true")
			if !w.mark() {
				t.Error("canary: without walls it does not write there either")
			}
		})
	}
}

const evilStrategy = `mkdir git-merge-x; ` + evil + ` > git-merge-x/evil; chmod +x git-merge-x/evil; `

// TestOtherWays: nothing that a run writes is started outside, by whatever name it has it.
// Each is tried without walls first.
func TestOtherWays(t *testing.T) {
	t.Parallel()
	for _, c := range otherWays {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			ran := func(dir string, inside bool) bool {
				mark := dir + "/mark"
				w.outsideSh("mkdir -p " + dir + " && cd " + dir + " && git init -q -b main . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one\n" + c.make + "\ntrue")
				script := "MARK=" + mark + "\n" + strings.ReplaceAll(c.leave, `"$MARK"`, mark) + "\n"
				if inside {
					t.Log(w.plain(w.bin, append(append([]string{"run"}, historyOn...), "--", "bash", "-c", script)...))
				} else {
					w.outsideSh("cd " + dir + "\n" + script + "\ntrue")
				}
				_ = os.Remove(mark)
				w.outsideSh("cd " + dir + "; " + c.act + "; true")
				return exists(mark)
			}
			if !ran(w.outside+"/free", false) {
				t.Fatal("without walls nothing is started: it does no harm")
			}
			if ran(w.project, true) {
				t.Error("something that a run has left was started outside")
			}
		})
	}
}

// TestWorktreeWithHooks: git checks out hooks that the project has, and takes them away.
func TestWorktreeWithHooks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && mkdir -p tools/hooks && echo '#!/bin/sh' > tools/hooks/post-checkout && chmod +x tools/hooks/post-checkout && git add . && git commit -qm one && git config core.hooksPath tools/hooks")
	for _, job := range []string{"git worktree add -q -b new wt && cd wt && git status --short && test -x tools/hooks/post-checkout && echo x > f && git add f && git commit -qm two && cd .. && git worktree remove wt && git branch -qD new", "git worktree add -q -b new wt", "git worktree remove --force wt"} {
		if r := w.run(append(historyOn, "--", "bash", "-c", job)...); r.code != 0 || strings.Contains(r.err, "denied") {
			t.Errorf("%s: %s", job, r)
		}
	}
}

// TestExecIsTold: a line that a rebase of the person's would run is told at once, also where
// it comes into a list that was there.
func TestExecIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a\n" + conflict + "git rebase main; test -e .git/rebase-merge/git-rebase-todo")
	r := w.run(append(historyOn, "--", "sh", "-c", "echo 'exec touch x' >> .git/rebase-merge/git-rebase-todo")...)
	if !strings.Contains(r.err, "git-rebase-todo can make programs outside run code") {
		t.Error(r)
	}
}

// TestReplacementsOfAWorktree: in a linked worktree no object is replaced for all others, and
// what the main checkout bisects stays as it is.
func TestReplacementsOfAWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	main := w.outside + "/main"
	w.outsideSh("mkdir -p " + main + " && cd " + main + " && git init -q -b main . && git config user.email a@b && git config user.name a && echo good > f && git add f && git commit -qm one && rm -rf " + w.project + " && git worktree add -q " + w.project + " -b side")
	r := w.run(append(historyOn, "--", "bash", "-c", `G=$(git rev-parse --git-common-dir); git replace $(git rev-parse HEAD:f) $(echo evil | git hash-object -w --stdin)
		for d in bisect worktree rewritten replace; do mkdir -p $G/refs/$d; cp $G/refs/heads/side $G/refs/$d/x; done; ls $G/refs`)...)
	if got := w.outsideSh("cd " + main + " && rm f && git checkout -q f && cat f && ls .git/refs && git for-each-ref --format='%(refname)'"); got != "good\nheads\ntags\nrefs/heads/main\nrefs/heads/side\n" {
		t.Errorf("%q\n%s", got, r)
	}
}

// TestUndoOfSparseCheckout: a whole step is taken back, whatever of the configuration goes
// with it.
func TestUndoOfSparseCheckout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && mkdir d && echo 1 > d/f && echo 2 > f && git add . && git commit -qm one")
	before := w.outsideSh("cat .git/config; ls -R")
	for _, job := range []string{"git sparse-checkout set --cone x", "git config extensions.worktreeConfig true && git config --worktree user.name b", "rm -rf d; mkdir d; git config extensions.worktreeConfig true; rm -rf .git/objects"} {
		if r := w.run(append(historyOn, "--", "bash", "-c", job)...); r.code != 0 {
			t.Fatal(r)
		}
		if r := w.plain(w.bin, "undo"); r.code != 0 {
			t.Fatalf("%s: %s", job, r)
		}
		if after := w.outsideSh("cat .git/config; ls -R"); after != before {
			t.Errorf("%s: %s", job, after)
		}
	}
}

// TestMovedRebaseIsTold: a line that a rebase would run is told of again when its list comes
// to where git looks for one, in a later run too.
func TestMovedRebaseIsTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a\n" + conflict + "git rebase main; test -e .git/rebase-merge/git-rebase-todo")
	if listed, _, r := w.listedAfter("mkdir .git/q; mv .git/rebase-merge .git/q/rebase-merge; echo 'exec touch x' >> .git/q/rebase-merge/git-rebase-todo"); len(listed) != 1 {
		t.Errorf("%q: %s", listed, r)
	}
	if listed, _, r := w.listedAfter("mv .git/q/rebase-merge .git/rebase-merge"); len(listed) != 1 || listed[0] != ".git/rebase-merge/git-rebase-todo" {
		t.Errorf("%q: %s", listed, r)
	}
}

// TestRepairOfAWorktree: git outside makes no file outside of the project where a worktree
// says that it is.
func TestRepairOfAWorktree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	other := w.outside + "/other"
	w.outsideSh("mkdir " + other + " && git init -q -b main . && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one")
	leave := "git worktree add -q wt; rm -rf wt; ln -s " + other + " l; echo $PWD/l/.git > .git/worktrees/wt/gitdir"
	t.Log(w.run(append(historyOn, "--", "bash", "-c", leave)...))
	w.outsideSh("git worktree repair; true")
	if exists(other + "/.git") {
		t.Error("git outside wrote a file outside of the project")
	}
	w.outsideSh("git worktree prune; rm -f l; " + leave + "; git worktree repair; true")
	if !exists(other + "/.git") {
		t.Error("without walls nothing is written either")
	}
}

// TestSparseCheckoutTwice: a configuration of the worktree that is there is replaced, too.
func TestSparseCheckoutTwice(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a && mkdir d && echo 1 > d/f && git add . && git commit -qm one")
	for range 2 {
		if r := w.run(append(historyOn, "--", "bash", "-c", "git sparse-checkout set d && git sparse-checkout disable")...); r.code != 0 {
			t.Error(r)
		}
	}
}

// TestTrackedRepository: a project that has a bare repository in it, for its tests, is worked
// with as any other.
func TestTrackedRepository(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.outsideSh("git init -q -b main . && git config user.email a@b && git config user.name a; " + tracked)
	for _, job := range []string{
		"echo x > f && git add f && git commit -qm two",
		"echo '# x' >> testdata/repo.git/description && git add -f . && git commit -qm three",
		"git worktree add -q -b w wt && git -C wt status --short && git worktree remove wt",
		"git clone -q . copy && git -C copy status --short && rm -rf copy",
		"git checkout -q -b other && git rm -qr testdata && git commit -qm rm && git checkout -q main && git status --short",
		"rm .git/index && git reset -q && git status --short",
		"git update-index --split-index && echo y > g && git add g && git update-index --no-split-index && git commit -qm four",
		"git stash -q -u; echo z > f; git stash -q; git stash pop -q && git checkout -q f",
	} {
		r := w.run(append(historyOn, "--", "bash", "-c", job)...)
		if r.code != 0 || r.out != "" || strings.Contains(r.err, "denied") {
			t.Errorf("%s: %s", job, r)
		}
	}
}
