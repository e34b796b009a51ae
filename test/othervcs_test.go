//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// hooked is a Mercurial configuration that leaves the mark, in a directory.
func hooked(dir string) string {
	return "mkdir -p " + dir + "; printf '[hooks]\\npre-status.x = touch ~/PWN\\n' > " + dir + "/hgrc; "
}

// TestMercurialIsLedNowhere: the hg that a person uses outside takes its configuration from
// where it took it before. Each way is tried without walls first.
func TestMercurialIsLedNowhere(t *testing.T) {
	t.Parallel()
	const leads = "cp -r .hg/store .hg/requires evil; echo shared >> .hg/requires; "
	for name, leave := range map[string]string{
		"configuration": hooked(".hg"),
		"shared":        hooked("evil") + leads + "printf $PWD/evil > .hg/sharedpath",
		"moved":         hooked("evil") + leads + "printf $PWD/evil > s; mv s .hg/sharedpath",
		"linked":        hooked("evil") + leads + "printf $PWD/evil > s; ln s .hg/sharedpath",
		"a link":        hooked("evil") + leads + "printf $PWD/evil > s; ln -s ../s .hg/sharedpath",
		"another .hg":   hooked("evil") + leads + "cp -r .hg new; printf $PWD/evil > new/sharedpath; mv .hg old; mv new .hg",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("hg")
			w.litter = true
			w.outsideSh("hg init .; echo x > f; hg add -q f; hg commit -q -u me -m x; cp -r . ../free")
			r := w.run(append(historyOn, "--", "bash", "-c", leave)...)
			w.outsideSh("hg status; true")
			if w.mark() {
				t.Errorf("hg ran it: %s", r)
			}
			w.outsideSh("cd ../free\n" + leave + "\nhg status; true")
			if !w.mark() {
				t.Error("canary: without walls it does not run either")
			}
		})
	}
}

// TestMercurialBelow: hg works in repositories of the project, and with lists of what it was
// about to change, when a person uses it outside in the one around them.
func TestMercurialBelow(t *testing.T) {
	t.Parallel()
	const settings = `printf '[extensions]\nx = %s\n' $PWD/x.py`
	const backups = `: > .hg/store/journal; printf '[hooks]\npre-status.x = touch ~/PWN\n' > .hg/new; ` +
		`list() { printf '2\n%s\0%s\0%s\0000\n' "$@"; }; `
	for name, leave := range map[string]string{
		"settings of one below":          settings + " > sub/.hg/hgrc",
		"moved there":                    settings + " > h; mv h sub/.hg/hgrc",
		"linked there":                   settings + " > h; ln h sub/.hg/hgrc",
		"by a link":                      settings + " > h; ln -s ../../h sub/.hg/hgrc",
		"after what looks like a remark": `printf '[paths]\n# x\r[extensions]\nx = %s\n' $PWD/x.py > sub/.hg/hgrc`,
		"in a section with a rest":       `printf '[paths]\n[extensions]y = z\nx = %s\n' $PWD/x.py > sub/.hg/hgrc`,
		"a list of backups":              backups + "list plain hgrc new > .hg/store/journal.backupfiles",
		"one with a way around":          backups + "list plain ../.hg/hgrc new > .hg/store/journal.backupfiles",
		"one that is moved there":        backups + "list plain hgrc new > b; mv b .hg/store/journal.backupfiles",
		"one with its directory":         backups + "mv .hg/store s; list plain hgrc new > s/journal.backupfiles; mv s .hg/store",
		"one through a link":             backups + "ln -s . .hg/to; list plain to/hgrc new > .hg/store/journal.backupfiles",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("hg")
			w.litter = true
			w.outsideSh("hg init .; hg init sub; cd sub; echo x > f; hg add -q f; hg commit -q -u me -m x; cd ..; echo sub = sub > .hgsub; " +
				"echo 'import os; os.system(\"touch ~/PWN\")' > x.py; hg add -q .hgsub; hg commit -q -u me -m x; cp -r . ../free")
			const use = "\nhg recover; hg summary; hg status; true"
			r := w.run(append(historyOn, "--", "bash", "-c", leave)...)
			w.outsideSh(use)
			if w.mark() {
				t.Errorf("hg ran it: %s", r)
			}
			w.outsideSh("cd ../free\n" + leave + use)
			if !w.mark() {
				t.Error("canary: without walls it does not run either")
			}
		})
	}
}

// TestMercurialCutsNothing: by a journal that a run leaves, "hg recover" removes files of the
// store only.
func TestMercurialCutsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("hg")
	w.outsideSh("hg init .; echo x > f; hg add -q f; hg commit -q -u me -m x; echo x > ../kept; cp -r . ../free")
	const leave, use = `printf '%s\0000\n' ~/src/kept > .hg/store/journal`, "\nhg recover 2>&1; test -e ../kept && echo kept"
	r := w.run(append(historyOn, "--", "bash", "-c", leave)...)
	if out := w.outsideSh(use); !strings.HasSuffix(out, "kept\n") {
		t.Errorf("it is gone: %s", r)
	}
	if out := w.outsideSh("cd ../free\n" + leave + use + "; true"); strings.HasSuffix(out, "kept\n") {
		t.Error("canary: without walls hg leaves it, too")
	}
}

// TestMercurialWorks: everyday work, and repositories that a run makes.
func TestMercurialWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.need("hg")
	w.outsideSh("hg init .; echo x > f; hg add -q f; hg commit -q -u me -m x")
	out := w.sh("set -e; export HGUSER=me; echo y > f; hg commit -m y; hg branch -q b; hg commit -m b; hg update -q 0; hg init n; cd n; echo 1 > a; "+
		"hg commit -q -A -m a; cd ..; hg --config extensions.share= share -q n m; hg -R m log -T '{desc} '; hg log -T '{desc} '", historyOn...)
	if out != "a b y x " {
		t.Errorf("got %q", out)
	}
	const clones = "set -e; export HGUSER=me; rm -rf c*; hg clone -q n c; cd c; hg pull -q; date +%N > a; hg commit -q -m c; hg push -q -f; " +
		"hg tag t; hg --config ui.rollback=true rollback -q; hg revert -q -a; hg recover -q || true; cd ..; " +
		"cp -a c c2; hg clone -q c2 c3; hg -R c3 log -l 1 -T '{desc} '; hg -R c3 paths"
	const killed = "hg init k; cd k; echo 1 > a; timeout -s KILL 1 hg --config hooks.pretxncommit='sleep 9' commit -q -A -m a -u me; " +
		"hg recover -q; hg commit -q -A -m b -u me; hg log -T '{desc}'"
	if r := w.run(append(historyOn, "--", "bash", "-c", killed)...); r.out != "b" || strings.Contains(r.err, "denied") {
		t.Errorf("after a process was killed: %s", r)
	}
	for range 2 {
		if out := w.sh(clones, historyOn...); out != "c default = "+w.project+"/c2\n" {
			t.Errorf("clones: %q", out)
		}
	}
}

// TestJujutsuIsLedNowhere: a repository of Jujutsu stays where it is, and its store names no
// git directory that the run could have made what it likes.
func TestJujutsuIsLedNowhere(t *testing.T) {
	t.Parallel()
	const at = ".jj/repo/store/git_target"
	for _, c := range []struct{ name, script, file, wants string }{
		{"a file for the repository", "mkdir evil; mv .jj/repo r; echo ../evil > .jj/repo", ".jj/repo", ""},
		{"moved", "mkdir evil; mv .jj/repo r; echo ../evil > x; mv x .jj/repo", ".jj/repo", ""},
		{"linked", "mkdir evil; mv .jj/repo r; echo ../evil > x; ln x .jj/repo", ".jj/repo", ""},
		{"a link", "mkdir evil; mv .jj/repo r; ln -s ../evil .jj/repo", ".jj/repo", ""},
		{"a directory", "mkdir evil; echo x > evil/config.toml; mv .jj/repo r; mv evil .jj/repo", ".jj/repo/config.toml", ""},
		{"another git directory", "echo /tmp/evil > " + at, at, "../../../.git"},
		{"its name moved there", "echo /tmp/evil > x; mv x " + at, at, "../../../.git"},
		{"linked there", "echo /tmp/evil > x; rm " + at + "; ln x " + at, at, ""},
		{"by a second name", "ln " + at + " x; echo /tmp/evil > x", at, "../../../.git"},
		{"with its directory", "mkdir s; echo /tmp/evil > s/git_target; mv .jj/repo/store r; mv s .jj/repo/store", at, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.repository()
			w.write(w.project+"/"+at, "../../../.git")
			r := w.run(append(historyOn, "--", "bash", "-c", c.script)...)
			text, err := os.ReadFile(w.project + "/" + c.file)
			if err != nil && c.wants != "" || string(text) != c.wants || !strings.Contains(r.err, "refused") {
				t.Errorf("%q, %v: %s", text, err, r)
			}
		})
	}
}

// TestJujutsuWorks: what its commands write, in a project that is a repository and below it.
func TestJujutsuWorks(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.sh(`set -e
		mkdir -p .jj/repo/store; printf ../../../.git > .jj/repo/store/git_target; printf git > .jj/repo/store/type
		mkdir -p a/.jj/repo/store; git init -q --bare a/.jj/repo/store/git; printf git > a/.jj/repo/store/git_target
		mkdir -p b/.jj; printf ../../a/.jj/repo > b/.jj/repo; mv b c; cp -r a d; rm -r a c d .jj`, historyOn...)
}
