//go:build linux

package e2e

import (
	"encoding/json"
	"strings"
	"testing"
)

// listedAfter runs a script in the project and gives what the end of the run
// names: made inside, and warnings.
func (w *world) listedAfter(script string, flags ...string) (listed, born []string, r result) {
	w.t.Helper()
	r = w.run(append(append(historyOn, append(flags, "--json")...), "--", "bash", "-c", script)...)
	var told struct {
		Listed []string `json:"listed"`
		Born   []string `json:"born_inside"`
	}
	for line := range strings.Lines(r.err) {
		if strings.HasPrefix(line, "{") {
			w.must(json.Unmarshal([]byte(line), &told))
		}
	}
	return told.Listed, told.Born, r
}

// TestRepositoriesBornInside: git's own commands work and are not told of; what
// makes a repository run code is refused, whatever the repository is called, and what
// leads to another is told of.
func TestRepositoriesBornInside(t *testing.T) {
	t.Parallel()
	hook := "printf '#!/bin/sh\\necho EVIL\\n' > %; chmod +x %\n"
	at := func(p string) string { return strings.ReplaceAll(hook, "%", p) }
	for _, c := range []struct{ name, script, want string }{
		{"init", "git init -q sub && git -C sub commit -q --allow-empty -m x && mkdir -p deep/er && git init -q deep/er", ""},
		{"init elsewhere", "git init -q --bare x.git && git init -q --separate-git-dir sep work", "work/.git"},
		{"worktree", "git worktree add -q tree && cd tree && echo x > x && git add x && git commit -qm x && cd .. && git worktree add -q other && git worktree remove other", "tree/.gitmodules"},
		{"submodule", "git clone -q $LIB deps/lib && git -C deps/lib remote set-url origin https://example.com/lib && git submodule --quiet add https://example.com/lib deps/lib && git commit -qm sub", ".gitmodules"},
		{"a removed clone", "git clone -q . copy && rm -rf copy", ""},
		{"configuration", "git init -q sub && ! git -C sub config core.fsmonitor ./evil", ""},
		{"configuration, then moved", "git init -q sub && ! git -C sub config core.fsmonitor ./evil && mkdir a && mv sub a/b && ! git -C a/b config core.fsmonitor ./evil", ""},
		{"configuration, exchanged", "git init -q one; git init -q two; ! git -C two config alias.x '!id'; " + python("L.renameat2(-100, b'one', -100, b'two', 2)") + "! git -C one config alias.x '!id'", ""},
		{"a hook in a bare repository", "git init -q --bare x.git; mkdir -p x.git/hooks; ! echo x > x.git/hooks/post-update", ""},
		{"hooks before there is a HEAD", "mkdir -p y/objects y/refs y/hooks; " + at("y/hooks/post-checkout") + "echo 'ref: refs/heads/main' > h; ! mv h y/HEAD", ""},
		{"a repository broken for a while", "mv fixture.git/HEAD h; " + at("fixture.git/hooks/post-update") + "! mv h fixture.git/HEAD", ""},
		{"linked together", "mkdir z; echo 'ref: x' > z/HEAD; ln -s ../.git/objects z/objects; ! ln -s ../.git/refs z/refs; echo '[core]' > z/cfg; echo ' fsmonitor = x' >> z/cfg; ln z/cfg z/config", ""},
		{"a pointer written over", "mkdir -p ev/objects ev/refs; echo 'ref: refs/heads/main' > ev/HEAD; echo 'gitdir: ../ev' > sm/.git", "sm/.git"},
		{"a pointer through a link", "ln -s / up; printf 'gitdir: ../up/../.git/modules/sm' > sm/.git", "sm/.git"},
		{"a submodule's own configuration", "mkdir -p .git/modules/ev/objects .git/modules/ev/refs; printf '[core]\\n\\tsshCommand = x\\n' > .git/modules/ev/config; echo x > .git/modules/ev/HEAD", ""},
		{"a link like the one that init tries", "mkdir -p .git/modules/ev; ! ln -s ../../../evil .git/modules/ev/tABCDEF; ! ln -s testing .git/modules/tABCDEF; ! ln -s testing .git/modules/ev/tABCDEF; mkdir .git/modules/ev/testing; ! mkdir -p .git/modules/ev/testing/hooks; ! mv .git/modules/ev/tABCDEF .git/modules/ev/hooks", ""},
		{"a worktree's pointer", "mkdir -p .git/worktrees/ev; echo ../../../x > .git/worktrees/ev/commondir", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.repository()
			lib := w.outside + "/lib"
			w.outsideSh("git init -q --bare fixture.git; git init -q " + lib + " && cd " + lib + " && git commit -q --allow-empty -m lib && cd " + w.project + " && git -c protocol.file.allow=always submodule --quiet add " + lib + " sm && git commit -qm sub")
			listed, born, r := w.listedAfter("set -e; LIB="+lib+"; "+c.script, "--read", lib)
			if got := strings.Join(listed, " "); r.code != 0 || got != c.want {
				t.Errorf("named %q, want %q: %s", got, c.want, r)
			}
			if c.want == "" && len(born) > 0 {
				t.Errorf("warned of %q", born)
			}
		})
	}
}

// TestRepositoriesThatWereThere: one that the project holds at the start keeps
// its configuration and hooks, whatever its directory is called.
func TestRepositoriesThatWereThere(t *testing.T) {
	t.Parallel()
	for _, script := range []string{
		"echo x >> fixture.git/config", "git -C fixture.git config alias.x '!id'", "echo x > fixture.git/hooks/update", "mv fixture.git/hooks fixture.git/h", "ln fixture.git/config c",
		"mkdir -p h; mv fixture.git/hooks x; mv h fixture.git/hooks", "echo '* x' > fixture.git/info/attributes", "echo x > fixture.git/commondir", "mv fixture.git f; echo x >> f/config",
		"ln -s ../file fixture.git/config.worktree", "mkdir b; rmdir b; mv fixture.git b; echo x >> b/config",
	} {
		w := newWorld(t, ordinary(t))
		w.repository()
		w.outsideSh("git init -q --bare fixture.git; mkdir -p fixture.git/hooks fixture.git/info")
		look := "cat */config; find . -path ./.git -prune -o -path '*/hooks*' -print -o -name attributes -print -o -name commondir -print -o -name config.worktree -print | sed 's,^./[a-z.]*,,' | sort"
		before := w.outsideSh(look)
		r := w.run(append(historyOn, "--", "bash", "-c", script)...)
		if after := w.outsideSh(look); after != before {
			t.Errorf("%s: %s\nbefore %s\nafter %s", script, r, before, after)
		}
	}
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("git init -q --bare fixture.git")
	if out := w.sh("git push -q fixture.git main && git -C fixture.git config user.name Ada && git -C fixture.git config user.name && git -C fixture.git gc -q && git -C fixture.git log --format=%s main && git clone -q fixture.git x && rm -rf x", historyOn...); out != "Ada\none\n" {
		t.Errorf("ordinary work in it: %q", out)
	}
}

// TestAskedIsNotMade: whoever asks whether something may be written has not
// made it.
func TestAskedIsNotMade(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.outsideSh("mkdir pkg; echo 'gitdir: ../elsewhere' | tee pkg/.git > .gitmodules")
	if listed, born, r := w.listedAfter("test -w pkg/.git; test -w .gitmodules; echo asked"); len(listed) != 0 || len(born) != 0 || r.out != "asked\n" {
		t.Errorf("named %q and %q: %s", listed, born, r)
	}
	if listed, _, r := w.listedAfter("echo x >> pkg/.git"); strings.Join(listed, " ") != "pkg/.git" {
		t.Errorf("named %q: %s", listed, r)
	}
}
