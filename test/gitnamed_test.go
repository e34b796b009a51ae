//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// gitNamed is a way in which git's configuration names something in the project.
type gitNamed struct {
	name    string
	setup   string // outside, before the run
	inside  string // what an attacker writes; HOOK is a script that leaves a mark
	outside string // what a person does after the run
	key     string // that the denial names
}

// hookIn writes the attacker's program to a path.
func hookIn(at string) string {
	return "mkdir -p $(dirname " + at + "); printf '#!/bin/sh\\ntouch ~/PWN\\ncat 2>/dev/null\\nexit 0\\n' > " + at + "; chmod +x " + at + "; "
}

// pythonIn is the same for an interpreter.
func pythonIn(at string) string {
	return "mkdir -p $(dirname " + at + "); printf 'import os,sys\\nopen(os.path.expanduser(\"~/PWN\"),\"w\")\\nsys.stdout.write(sys.stdin.read())\\n' > " + at + "; "
}

const (
	dirty  = "echo more >> file; "
	status = dirty + "git status; "
	commit = dirty + "git commit -qam two; "
	filter = "echo 'file filter=x diff=x merge=x' > .gitattributes; git add .gitattributes; git commit -qm attributes; "
)

var nameds = []gitNamed{
	{"hooks in a directory that is missing", "git config core.hooksPath build/hooks", hookIn("build/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks moved there", "git config core.hooksPath build/hooks", hookIn("other/hooks/pre-commit") + "mv other build", commit, "core.hookspath"},
	{"hooks behind a new link", "git config core.hooksPath build/hooks", hookIn("other/hooks/pre-commit") + "ln -s other build", commit, "core.hookspath"},
	{"hooks behind a link that was there", "mkdir a b; ln -s a build; git config core.hooksPath build/hooks", hookIn("build/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks behind a link that is turned", "mkdir -p a/hooks; ln -s a build; git config core.hooksPath build/hooks", hookIn("b/hooks/pre-commit") + "ln -sfn b build", commit, "core.hookspath"},
	{"hooks, exchanged", "mkdir build; git config core.hooksPath build/hooks", hookIn("other/hooks/pre-commit") + "mv -T --exchange other build || python3 -c 'import ctypes; ctypes.CDLL(None).renameat2(-100,b\"other\",-100,b\"build\",2)'", commit, "core.hookspath"},
	{"hooks with a trailing comment", "mkdir -p tools/hooks; printf '[core]\\n\\thooksPath = tools/hooks ; shared\\n' >> .git/config", hookIn("tools/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks below home", "git config core.hooksPath '~/src/desk/tools/hooks'", hookIn("tools/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks of a continued line", "printf '[core]\\n\\thooks\\x50ath = \"to\\\\\\nols\"/hooks\\n' >> .git/config", hookIn("tools/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks of an included file", "git config include.path shared.inc; git config -f .git/shared.inc core.hooksPath tools/hooks", hookIn("tools/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks of config.worktree", "git config extensions.worktreeConfig true; git config --worktree core.hooksPath tools/hooks", hookIn("tools/hooks/pre-commit"), commit, "core.hookspath"},
	{"hooks of the user's, relative", "git config --global core.hooksPath .myhooks", hookIn(".myhooks/pre-commit"), commit, "core.hookspath"},
	{"hooks of the user's that exist", "git config --global core.hooksPath .myhooks; mkdir .myhooks", hookIn(".myhooks/pre-commit"), commit, "core.hookspath"},
	{"hooks of the user's in a repository below", "git config --global core.hooksPath .myhooks; git init -q sub", hookIn("sub/.myhooks/pre-commit"), "cd sub; git commit -q --allow-empty -m x", "core.hookspath"},
	{"hooks of a repository below", "git init -q sub; git -C sub config core.hooksPath h", hookIn("sub/h/pre-commit"), "cd sub; git commit -q --allow-empty -m x", "core.hookspath"},
	{"an included file that is missing", "git config include.path ../.gitconfig.local", "printf '[core]\\n\\tfsmonitor = \"touch ~/PWN; false\"\\n' > .gitconfig.local", status, "include.path"},
	{"a nested include", "git config include.path ../a.inc; git config -f a.inc include.path deep/b.inc; mkdir deep; touch deep/b.inc", "printf '[core]\\n\\tfsmonitor = \"touch ~/PWN; false\"\\n' > deep/b.inc", status, "include.path"},
	{"an include of the user's", "git config --global include.path '~/src/desk/user.inc'", "printf '[core]\\n\\tfsmonitor = \"touch ~/PWN; false\"\\n' > user.inc", status, "include.path"},
	{"an include of a branch that is not checked out", "git config includeIf.onbranch:topic.path ../topic.inc", "printf '[core]\\n\\tfsmonitor = \"touch ~/PWN; false\"\\n' > topic.inc", "git checkout -q -b topic; git status", "includeif.onbranch:topic.path"},
	{"an include by directory", "git config --global 'includeIf.gitdir:~/src/.path' '~/src/desk/x.inc'", "printf '[core]\\n\\tfsmonitor = \"touch ~/PWN; false\"\\n' > x.inc", status, "includeif.gitdir:~/src/.path"},
	{"a filter", filter + "git config filter.x.clean ./tools/f.sh", hookIn("tools/f.sh"), dirty + "git add file", "filter.x.clean"},
	{"a filter with arguments", filter + "git config filter.x.clean 'python3 tools/f.py %f'", pythonIn("tools/f.py"), dirty + "git add file", "filter.x.clean"},
	{"a filter by a module", filter + "git config filter.x.clean 'python3 -m tools.f'", pythonIn("tools/f.py"), dirty + "git add file", "filter.x.clean"},
	{"a process", filter + "git config filter.x.process 'sh tools/p'", hookIn("tools/p"), dirty + "git add file", "filter.x.process"},
	{"text for diff", filter + "git config diff.x.textconv 'sh tools/t'", hookIn("tools/t"), dirty + "git diff", "diff.x.textconv"},
	{"a diff", "git config diff.external tools/d", hookIn("tools/d"), dirty + "git diff", "diff.external"},
	{"a pager", "git config core.pager ./tools/x", hookIn("tools/x"), "script -qec 'git log' /dev/null", "core.pager"},
	{"an alias", "git config alias.x '!./tools/x now'", hookIn("tools/x"), "git x", "alias.x"},
	{"an alias by the top", "git config alias.x '!$(git rev-parse --show-toplevel)/tools/x'", hookIn("tools/x"), "git x", "alias.x"},
	{"a monitor with an argument", "git config core.fsmonitor 'sh tools/x'", hookIn("tools/x"), status, "core.fsmonitor"},
	{"a bare name for a shell", "git config core.fsmonitor 'sh mon'", hookIn("mon"), status, "core.fsmonitor"},
	{"an editor in quotes", "git config core.editor \"sh -c './tools/e \\\"\\$@\\\"' --\"", hookIn("tools/e"), dirty + "git commit -a", "core.editor"},
	{"a command that signs", "git config commit.gpgSign true; git config gpg.program ./tools/gpg", hookIn("tools/gpg"), commit, "gpg.program"},
	{"attributes", "git config filter.x.clean 'touch ~/PWN; cat'; git config core.attributesFile attrs", "echo 'file filter=x' > attrs", dirty + "git add file", "core.attributesfile"},
}

// mark takes the attacker's mark away and says whether it was there.
func (w *world) mark() bool {
	return os.Remove(w.home+"/PWN") == nil
}

// TestWhatGitNamesIsProtected: for each spelling the attacker's file is refused
// with a denial that names key, file and line, and real git outside runs nothing.
// Written outside the same file runs: the canary.
func TestWhatGitNamesIsProtected(t *testing.T) {
	t.Parallel()
	for _, n := range nameds {
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
			r = w.plain("bash", "-c", n.outside)
			if !w.mark() {
				t.Errorf("canary: outside it does not run either: %s", r)
			}
		})
	}
}

// TestWhatGitNamesByMounts: without a broker, mounts hold what is there, and what
// is new is named at the end.
func TestWhatGitNamesByMounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.repository()
	w.outsideSh("mkdir -p tools/hooks; git config core.hooksPath tools/hooks; git config core.fsmonitor 'sh mon'")
	r := w.run("--history", "off", "--json", "--", "bash", "-c", hookIn("tools/hooks/pre-commit")+hookIn("mon"))
	if _, err := os.Lstat(w.project + "/tools/hooks/pre-commit"); err == nil {
		t.Errorf("a hook was written: %s", r)
	}
	if !strings.Contains(r.err, `"mon"`) {
		t.Errorf("what is new is not named: %s", r)
	}
}

// TestGitWorksBesideWhatItNames: everyday work goes on in a repository whose
// configuration names programs.
func TestGitWorksBesideWhatItNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("mkdir -p tools src; echo x > src/x; printf '#!/bin/sh\\necho ran\\n' > tools/x; chmod +x tools/x; git add .; git commit -qm tools; git config core.hooksPath build/hooks; git config alias.x '!./tools/x'; " +
		"git config alias.l '!ls src'; git config alias.m '!git log origin/main..main --format=%s | grep -v \"a\\|main\"'; git config --global alias.co checkout; git config --global core.pager 'less -FRX'")
	out := w.sh(program("gitnamed/everyday_work.bash"), historyOn...)
	if !strings.HasPrefix(out, "ran\n") || !strings.Contains(out, "tools/other") {
		t.Errorf("got %q", out)
	}
}
