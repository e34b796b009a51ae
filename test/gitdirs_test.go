//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

const (
	bareRepository = "git init -q --bare bare.git; git -C bare.git config "
	separate       = "git init -q --separate-git-dir=$PWD/sepdir sepw; echo one > sepw/file; git -C sepw add file; git -C sepw commit -qm one; git -C sepw config "
	push           = "echo x >> file; git commit -qam more; git push -q ./bare.git main; "
	evilConfig     = "printf '[core]\\n\\tfsmonitor = \"touch ~/PWN; false\"\\n\\tsshCommand = \"touch ~/PWN; false\"\\n[alias]\\n\\tx = !touch ~/PWN\\n' > "
)

// gitDirs are repositories in the project of which the git directory is not called .git.
var gitDirs = []gitNamed{
	{"bare: hooks", bareRepository + "core.hooksPath bh", hookIn("bare.git/bh/pre-receive"), push, "core.hookspath"},
	{"bare: hooks moved there", bareRepository + "core.hooksPath bh/deep", hookIn("other/deep/pre-receive") + "mv other bare.git/bh", push, "core.hookspath"},
	{"bare: hooks, the repository moved meanwhile", bareRepository + "core.hooksPath bh", "mv bare.git b; " + hookIn("b/bh/pre-receive") + "mv b bare.git", push, "core.hookspath"},
	{"bare: hooks beside it", bareRepository + "core.hooksPath ../bh", hookIn("bh/pre-receive"), push, "core.hookspath"},
	{"bare: an included file", bareRepository + "include.path inc", evilConfig + "bare.git/inc", "git -C bare.git x", "include.path"},
	{"bare: an included file beside it", bareRepository + "include.path ../inc", evilConfig + "inc", "git -C bare.git x", "include.path"},
	{"bare: ssh", bareRepository + "core.sshCommand ./ssh; git -C bare.git remote add o ssh://localhost/x", hookIn("bare.git/ssh"), "timeout 5 git -C bare.git fetch o", "core.sshcommand"},
	{"bare: a pager", bareRepository + "core.pager ./pg; git push -q ./bare.git main", hookIn("bare.git/pg"), "script -qec 'git -C bare.git log' /dev/null", "core.pager"},
	{"bare: an alias", bareRepository + "alias.x '!./al'", hookIn("bare.git/al"), "git -C bare.git x", "alias.x"},
	{"bare: an alias of the user's", bareRepository + "core.logAllRefUpdates true; git config --global alias.x '!./tools/al'", hookIn("bare.git/tools/al"), "git -C bare.git x", "alias.x"},
	{"bare: a pager of the user's, below it", bareRepository + "core.logAllRefUpdates true; git push -q ./bare.git main; git config --global core.pager ./pg", hookIn("bare.git/info/pg"), "cd bare.git/info; script -qec 'git log' /dev/null", "core.pager"},
	{".git: an alias of the user's, below it", "git config --global alias.x '!sh al'", hookIn(".git/info/al"), "cd .git/info; git x", "alias.x"},
	{".git: an alias of the user's, where logs are", "git config --global alias.x '!sh al'",
		hookIn(".git/logs/al"), "cd .git/logs; git x", "alias.x"},
	{".git: an alias of the user's, in a directory of logs", "git config --global alias.x '!sh tools/al'",
		hookIn("d/al") + "mkdir -p .git/logs/tools; cp d/al .git/logs/tools/al", "cd .git/logs; git x", "alias.x"},
	{"bare: hooks of a worktree", bareRepository + "core.hooksPath hk; git push -q ./bare.git main; git -C bare.git worktree add -q $PWD/wt main", hookIn("wt/hk/pre-commit"), "git -C wt commit -q --allow-empty -m x", "core.hookspath"},
	{"separate: a monitor", separate + "core.fsmonitor ./fs", hookIn("sepw/fs"), "git -C sepw status", "core.fsmonitor"},
	{"separate: hooks", separate + "core.hooksPath hk", hookIn("sepw/hk/pre-commit"), "git -C sepw commit -q --allow-empty -m x", "core.hookspath"},
	{"separate: an included file", separate + "include.path inc", evilConfig + "sepdir/inc", "git -C sepw status", "include.path"},
	{"separate: ssh", separate + "core.sshCommand ./ssh; git -C sepw remote add o ssh://localhost/x", hookIn("sepw/ssh"), "timeout 5 git -C sepw fetch o", "core.sshcommand"},
	{"separate: a pager", separate + "core.pager ./pg", hookIn("sepw/pg"), "script -qec 'git -C sepw log' /dev/null", "core.pager"},
	{"separate: hooks outside of both", separate + "core.hooksPath ../tools/hk", hookIn("tools/hk/pre-commit"), "git -C sepw commit -q --allow-empty -m x", "core.hookspath"},
	{"separate: the working tree moved meanwhile", separate + "core.hooksPath hk", "mv sepw w; " + hookIn("w/hk/pre-commit") + "mv w sepw", "git -C sepw commit -q --allow-empty -m x", "core.hookspath"},
}

// TestWhatOtherGitDirectoriesName: what a git directory of another name names is as
// protected as what .git names. Written outside it runs: the canary.
func TestWhatOtherGitDirectoriesName(t *testing.T) {
	t.Parallel()
	for _, n := range gitDirs {
		t.Run(n.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true // the mark
			w.repository()
			w.outsideSh(n.setup)
			r := w.run(append(historyOn, "--json", "--", "bash", "-c", n.inside+"\necho fine > fine")...)
			if got := w.read(w.project + "/fine"); got != "fine\n" {
				t.Errorf("other files: %q, %s", got, r)
			}
			w.plain("bash", "-c", n.outside)
			if w.mark() {
				t.Errorf("git ran it: %s", r)
			}
			if !strings.Contains(r.err, n.key+" in ") || !strings.Contains(r.err, ", line ") {
				t.Errorf("no denial names %s: %s", n.key, r)
			}
			w.plain("bash", "-c", n.inside)
			w.plain("bash", "-c", n.outside)
			if !w.mark() {
				t.Error("canary: outside it does not run either")
			}
		})
	}
}

// TestOtherGitDirectoriesGoAndCome: while a repository is away its working tree is none.
// What was put there meanwhile is not run when it is back, and not in another tree.
func TestOtherGitDirectoriesGoAndCome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, inside, outside string }{
		{"the git directory", "mv sepdir away; " + hookIn("sepw/hk/pre-commit") + "mv away sepdir", "sepw"},
		{"what is around it", "mkdir d; mv sepdir d; mv d e; " + hookIn("sepw/hk/pre-commit") + "mv e/sepdir .", "sepw"},
		{"the file", "mv sepw/.git sepw/away; " + hookIn("sepw/hk/pre-commit") + "mv sepw/away sepw/.git", "sepw"},
		{"the file, written", "cp sepw/.git g; rm sepw/.git; " + hookIn("sepw/hk/pre-commit") + "cat g > sepw/.git", "sepw"},
		{"another tree", "mkdir w; " + hookIn("w/hk/pre-commit") + "cp sepw/.git w/.git", "w"},
		{"another tree, the file first", "mkdir w; touch w/x; cp sepw/.git w/.git; " + hookIn("w/hk/pre-commit"), "w"},
		{"another tree, moved to where the file leads", "mkdir -p d/w; echo 'gitdir: ../sepdir' > d/w/.git; " + hookIn("d/w/hk/pre-commit") + "mv d/w w", "w"},
		{"another tree, around it moved", "mkdir -p d/e/w; echo 'gitdir: ../../sepdir' > d/e/w/.git; " + hookIn("d/e/w/hk/pre-commit") + "mv d/e e", "e/w"},
		{"files exchanged", "mkdir w; echo > w/.git; cp sepw/.git g; " + hookIn("w/hk/pre-commit") + "mv -T --exchange g w/.git || python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100,b\"g\",-100,b\"w/.git\",2)'", "w"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.repository()
			w.outsideSh(separate + "core.hooksPath hk")
			r := w.run(append(historyOn, "--", "bash", "-c", c.inside)...)
			w.plain("bash", "-c", "cd "+c.outside+" && git commit -q --allow-empty -m x")
			if w.mark() {
				t.Errorf("git ran it: %s", r)
			}
		})
	}
}

// TestOtherGitDirectoriesWork: everyday work goes on in them, also where their
// configuration names something, and they can be removed.
func TestOtherGitDirectoriesWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh(bareRepository + "core.hooksPath bh; mkdir bare.git/bh; printf '#!/bin/sh\\n' > bare.git/bh/update; " + separate + "core.hooksPath hk; mkdir sepw/hk; echo x > sepw/hk/x")
	w.sh(program("gitdirs/everyday_work.bash"), historyOn...)
	if _, err := os.Lstat(w.project + "/bare.git"); err == nil {
		t.Error("bare.git is there")
	}
}

// TestReferencesAreNoPrograms: a branch may have the name of a program that the user's
// configuration names, and is one by no text that it gets.
func TestReferencesAreNoPrograms(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.repository()
	w.outsideSh("git config --global alias.x '!sh al'; git config --global alias.main '!git log main'")
	out := w.sh("git switch -q -c al; git commit -q --allow-empty -m on; git switch -q main; git commit -q --allow-empty -m main\n"+
		"git log --format=%s -1 al\n"+hookIn(".git/refs/heads/al")+"true", historyOn...)
	w.plain("bash", "-c", "cd .git/refs/heads && git x")
	if w.mark() || out != "on\n" {
		t.Errorf("git ran it, or is kept from its work: %q", out)
	}
	w.plain("bash", "-c", hookIn(".git/refs/heads/al"))
	w.plain("bash", "-c", "cd .git/refs/heads && git x")
	if !w.mark() {
		t.Error("canary: outside it does not run either")
	}
}

// TestWhatWaitsForARepository: what git would run by a relative name of the user's own
// configuration is not there before the repository is.
func TestWhatWaitsForARepository(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, inside, outside string }{
		{"a repository", "mkdir b; " + hookIn("b/al") + "git init -q b", "b"},
		{"a bare one", "mkdir b; " + hookIn("b/al") + "git init -q --bare b", "b"},
		{"a bare one, below it", "mkdir b; " + hookIn("b/info/al") + "git init -q --bare b", "b/info"},
		{"moved", "git init -q z; mkdir b; " + hookIn("b/al") + "mv z/.git b", "b"},
		{"by a file", "git init -q z; mkdir b; " + hookIn("b/al") + "echo gitdir: ../z/.git > b/.git", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.litter = true
			w.repository()
			w.outsideSh("git config --global alias.x '!sh al'")
			r := w.run(append(historyOn, "--", "bash", "-c", c.inside)...)
			w.plain("bash", "-c", "cd "+c.outside+" && git x")
			if w.mark() {
				t.Errorf("git ran it: %s", r)
			}
			w.plain("bash", "-c", "rm -rf b z; "+c.inside)
			w.plain("bash", "-c", "cd "+c.outside+" && git x")
			if !w.mark() {
				t.Error("canary: outside it does not run either")
			}
		})
	}
}
