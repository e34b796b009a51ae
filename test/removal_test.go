//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// TestRepositoriesCanBeRemoved: what holds repositories can be removed in the run
// that made them and in the next, whole, and an undo brings it back.
func TestRepositoriesCanBeRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("git init -q old && cd old && git commit -q --allow-empty -m old && git config alias.mine '!id' && printf '#!/bin/sh\n' > .git/hooks/post-merge")
	make := "git clone -q . build/_deps/foo-src && git worktree add -q wt && mkdir scratch && git init -q scratch && git init -q --bare bare.git && git clone -q --mirror . mirror.git"
	remove := "rm -rf build scratch bare.git mirror.git && git worktree remove wt && git branch -qD wt"
	for range 2 {
		w.sh("set -e; "+make+" && "+remove, historyOn...)
		w.sh("set -e; "+make, historyOn...)
		w.sh("set -e; "+remove+" && git status --porcelain", historyOn...)
		w.sh("set -e; "+make, historyOn...)
		w.sh("set -e; git worktree remove wt; git branch -qD wt; git clean -qffdx -e old; ls -A", historyOn...)
		if left := w.outsideSh("ls -d build scratch wt *.git .git/worktrees/* 2>/dev/null; git worktree prune; true"); left != "" {
			t.Fatalf("left: %q", left)
		}
	}
	before := w.outsideSh("cd old; find . -type f | sort | xargs md5sum")
	w.sh("rm -rf old", historyOn...)
	if _, err := os.Lstat(w.project + "/old"); err == nil {
		t.Error("old is there")
	}
	if r := w.carrel("undo"); r.code != 0 {
		t.Errorf("undo: %s", r)
	}
	if after := w.outsideSh("cd old; find . -type f | sort | xargs md5sum"); after != before {
		t.Errorf("undone:\n%s\nbefore:\n%s", after, before)
	}
	// The canary: the project's own stays.
	w.run(append(historyOn, "--", "bash", "-c", "rm -rf .git/config .git/hooks; rm -rf .git/hooks/*")...)
	if out := w.outsideSh("ls -d .git/config .git/hooks; ls .git/hooks | wc -l"); !strings.HasPrefix(out, ".git/config\n.git/hooks\n") || strings.HasSuffix(out, "\n0\n") {
		t.Errorf("of the project's own: %q", out)
	}
}

// TestSubmodulesComeAndGo: a submodule is taken out and put back by git's own commands,
// in one run and in the next, and removed whole; what is gone is no warning.
func TestSubmodulesComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	lib := w.outside + "/lib"
	w.outsideSh("git init -q " + lib + " && cd " + lib + " && echo x > x && git add x && git commit -qm lib && cd " + w.project + " && git -c protocol.file.allow=always submodule --quiet add " + lib + " sm && git commit -qm sub")
	for range 2 {
		out := w.sh("set -e; git submodule --quiet deinit -f sm; ls sm; git config -f .git/modules/sm/config core.worktree || echo gone; git -c protocol.file.allow=always submodule --quiet update --init; cat sm/x; git config -f .git/modules/sm/config core.worktree", append(historyOn, "--read", lib)...)
		if out != "gone\nx\n../../../sm\n" {
			t.Fatalf("taken out and put back: %q", out)
		}
	}
	listed, born, r := w.listedAfter("git submodule --quiet deinit -f sm; git rm -q -f sm; rm -rf .git/modules/sm")
	if r.code != 0 || len(born) > 0 || strings.Join(listed, " ") != ".gitmodules" {
		t.Errorf("removed: named %q, warned of %q: %s", listed, born, r)
	}
	w.fine("undo")
	if out := w.outsideSh("cat sm/x; git -C sm status --porcelain; git submodule status | cut -c1"); out != "x\n \n" {
		t.Errorf("undone: %q", out)
	}
}
