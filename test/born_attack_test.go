//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
)

// bornAttacks make a repository "sub" whose configuration runs $PWN in a git status: e
// writes such a configuration, head what else a git directory needs at $1.
var bornAttacks = map[string]string{
	"git config":                           `git init -q sub; git -C sub config core.fsmonitor "touch $PWN; false"`,
	"git clone with a key":                 `git clone -q -c core.fsmonitor="touch $PWN; false" . sub`,
	"a template":                           `mkdir t; e > t/config; git init -q --template=t sub`,
	"appended":                             `git init -q sub; e >> sub/.git/config`,
	"written over":                         `git init -q sub; e > sub/.git/config`,
	"removed, and made":                    `git init -q sub; rm sub/.git/config; e > sub/.git/config`,
	"by sed":                               `git init -q sub; e > c; sed -i "r c" sub/.git/config`,
	"copied with its directory":            `head t; e > t/config; mkdir sub; cp -r t sub/.git`,
	"moved over":                           `git init -q sub; e > c; mv c sub/.git/config`,
	"moved to where nothing is":            `git init -q sub; rm sub/.git/config; e > c; mv c sub/.git/config`,
	"linked":                               `git init -q sub; rm sub/.git/config; e > c; ln c sub/.git/config`,
	"linked, and written later":            `git init -q sub; : > c; rm sub/.git/config; ln c sub/.git/config; e > c`,
	"a link to it":                         `git init -q sub; e > c; ln -sf ../../c sub/.git/config`,
	"a second name":                        `git init -q sub; ln sub/.git/config c; e > c`,
	"exchanged":                            `git init -q sub; e > c; ` + python("L.renameat2(-100, b'c', -100, b'sub/.git/config', 2)"),
	"moved with its directory":             `head t; e > t/config; mkdir sub; mv t sub/.git`,
	"moved in with another":                `mkdir -p s/x; head s/x; e > s/x/config; mv s/x s/.git; mv s sub`,
	"exchanged with its directory":         `git init -q sub; head t; e > t/config; ` + python("L.renameat2(-100, b't', -100, b'sub/.git', 2)"),
	"held open":                            `git init -q sub; exec 3>>sub/.git/config; e >&3; exec 3>&-`,
	"held open, and renamed":               `head t; exec 3>t/config; mkdir sub; mv t sub/.git; e >&3`,
	"opened before it had the name":        `git init -q sub; exec 3>c; mv c sub/.git/config; e >&3`,
	"opened again by its descriptor":       `git init -q sub; exec 3<sub/.git/config; e > /proc/self/fd/3`,
	"opened again for writing":             `git init -q sub; exec 3>>sub/.git/config; exec 4<>/proc/self/fd/3; exec 3>&-; sleep .2; e >&4`,
	"written by two":                       `git init -q sub; exec 3>>sub/.git/config 4>>sub/.git/config; echo >&3; exec 3>&-; e >&4`,
	"mapped":                               `git init -q sub; e > c; python3 -c 'import mmap, os; b = open("c", "rb").read(); f = os.open("sub/.git/config", os.O_RDWR); os.ftruncate(f, len(b)); m = mmap.mmap(f, len(b)); os.close(f); m[:] = b'`,
	"copied by the kernel":                 `git init -q sub; e > c; python3 -c 'import os; a = os.open("c", 0); b = os.open("sub/.git/config", os.O_WRONLY | os.O_TRUNC); os.sendfile(b, a, 0, 9999)'`,
	"a file without a name":                `git init -q sub; rm sub/.git/config; e > c; ` + python(`import os; f = os.open("sub/.git", os.O_TMPFILE | os.O_RDWR, 0o644); os.write(f, open("c", "rb").read()); L.linkat(-100, b"/proc/self/fd/%d" % f, -100, b"sub/.git/config", 0x400)`),
	"written past its end":                 `git init -q sub; e > c; python3 -c 'import os; f = os.open("sub/.git/config", os.O_WRONLY); os.pwrite(f, b"\n" + open("c", "rb").read(), os.fstat(f).st_size)'`,
	"included":                             `git init -q sub; e > c; printf '[include]\n\tpath = ../../c\n' >> sub/.git/config`,
	"included by a condition":              `git init -q sub; e > c; printf '[includeIf "gitdir:**"]\n\tpath = ../../c\n' >> sub/.git/config`,
	"of a worktree":                        `git init -q sub; git -C sub config extensions.worktreeConfig true; e > sub/.git/config.worktree`,
	"a filter":                             `git init -q sub; cd sub; echo x > f; git add f; git -c user.email=a -c user.name=a commit -qm x; echo '* filter=x' > .gitattributes; printf '[filter "x"]\n\tclean = "touch %s; cat"\n' $PWN >> .git/config; touch f; cd ..`,
	"a pointer, configuration first":       `mkdir b sub; e > b/config; head b; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, configuration last":        `mkdir b sub; head b; e > b/config; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, configuration held open":   `mkdir b sub; exec 3> b/config; head b; e >&3; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, configuration linked":      `mkdir b sub; : > c; ln c b/config; head b; e > c; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, configuration a link":      `mkdir b sub; e > c; ln -s ../c b/config; head b; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, moved in":                  `mkdir b c sub; head c; e > b/config; mv c/objects c/refs b; mv c/HEAD b; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, whole and then written":    `git init -q --bare b; mkdir sub; e >> b/config; git config -f b/config core.bare false; echo 'gitdir: ../b' > sub/.git`,
	"a pointer, broken and mended":         `git init -q --bare b; mkdir sub; mv b/HEAD h; sed -i /bare/d b/config; e >> b/config; mv h b/HEAD; echo 'gitdir: ../b' > sub/.git`,
	"a pointer into the own repository":    `mkdir -p .git/foo sub; e > .git/foo/config; head .git/foo; echo 'gitdir: ../.git/foo' > sub/.git`,
	"a pointer into a born one":            `git init -q o; mkdir -p o/.git/foo sub; e > o/.git/foo/config; head o/.git/foo; echo 'gitdir: ../o/.git/foo' > sub/.git`,
	"another common directory":             `git init -q sub; mkdir -p p/objects p/refs; e > p/config; echo ../../p > sub/.git/commondir`,
	"another common directory, a pointer":  `mkdir -p p/objects p/refs b sub; e > p/config; echo 'ref: refs/heads/main' > b/HEAD; echo ../p > b/commondir; echo 'gitdir: ../b' > sub/.git`,
	"a worktree's, broken and written":     `git clone -q --bare . x.git; git -C x.git worktree add -q -b y ../sub; mv x.git/HEAD x.git/h; sed -i /bare/d x.git/config; e >> x.git/config`,
	"a worktree of nothing":                `mkdir -p p/worktrees/w p/objects p/refs sub; e > p/config; echo 'ref: refs/heads/main' > p/worktrees/w/HEAD; echo ../.. > p/worktrees/w/commondir; echo 'gitdir: ../p/worktrees/w' > sub/.git`,
	"another in place of one that was":     `mv vendor v; cp -r v vendor; git -C vendor config core.fsmonitor "touch $PWN; false"; mv vendor sub`,
	"another, written by hand":             `mv vendor v; cp -r v vendor; e >> vendor/.git/config; mv vendor sub`,
	"a pointer to a private cache":         private + `mkdir -p $D/evil sub; head $D/evil; e > $D/evil/config; echo "gitdir: $C/evil" > sub/.git`,
	"a pointer there, relative":            private + `mkdir -p $D/evil sub; head $D/evil; e > $D/evil/config; echo "gitdir: $(realpath -m --relative-to=sub $C/evil)" > sub/.git`,
	"a pointer there, moved":               private + `mkdir -p $D/evil sub; head $D/evil; e > $D/evil/config; echo "gitdir: $C/evil" > g; mv g sub/.git`,
	"a pointer there, linked":              private + `mkdir -p $D/evil sub; head $D/evil; e > $D/evil/config; echo "gitdir: $C/evil" > g; ln g sub/.git`,
	"a pointer there, through a link":      private + `mkdir -p $D/evil sub; head $D/evil; e > $D/evil/config; ln -s $C/evil l; echo "gitdir: ../l" > sub/.git`,
	"a pointer there, through two links":   private + `mkdir -p $D/evil sub; head $D/evil; e > $D/evil/config; ln -s $(dirname $(dirname $(dirname $C))) l1; ln -s l1/$(realpath -m --relative-to=$(dirname $(dirname $(dirname $C))) $C) l2; echo "gitdir: ../l2/evil" > sub/.git`,
	"a pointer there, moved up":            private + `mkdir -p $D/evil a/b/c/d/e/f/g/h/sub; head $D/evil; e > $D/evil/config; echo "gitdir: $(realpath -m --relative-to=sub $C/evil)" > a/b/c/d/e/f/g/h/sub/.git; mv a/b/c/d/e/f/g/h/sub sub`,
	"a worktree's part moved":              `git init -q --bare X; mkdir -p X/worktrees/foo; echo ../.. > X/worktrees/foo/commondir; echo 'ref: refs/heads/main' > X/worktrees/foo/HEAD; mkdir -p Y/bar Y/objects Y/refs sub; e > Y/config; mv X/worktrees/foo Y/bar/foo; echo 'gitdir: ../Y/bar/foo' > sub/.git`,
	"a worktree's part exchanged":          `git init -q --bare X; mkdir -p X/worktrees/foo; echo ../.. > X/worktrees/foo/commondir; echo 'ref: refs/heads/main' > X/worktrees/foo/HEAD; mkdir -p Y/bar/foo Y/objects Y/refs sub; e > Y/config; ` + python("L.renameat2(-100, b'X/worktrees/foo', -100, b'Y/bar/foo', 2)") + `echo 'gitdir: ../Y/bar/foo' > sub/.git`,
	"all worktrees' parts moved":           `git init -q --bare X; mkdir -p X/worktrees/foo; echo ../.. > X/worktrees/foo/commondir; echo 'ref: refs/heads/main' > X/worktrees/foo/HEAD; mkdir -p Y/objects Y/refs sub; e > Y/config; mv X/worktrees Y/bar; echo 'gitdir: ../Y/bar/foo' > sub/.git`,
	"a worktree's part moved out of .git":  `git init -q o; mkdir -p o/.git/worktrees/foo; echo ../.. > o/.git/worktrees/foo/commondir; echo 'ref: refs/heads/main' > o/.git/worktrees/foo/HEAD; mkdir -p Y/bar Y/objects Y/refs sub; e > Y/config; mv o/.git/worktrees/foo Y/bar/foo; echo 'gitdir: ../Y/bar/foo' > sub/.git`,
	"a path too long to be looked at":      "python3 - <<'P'\n" + program("born_attack/a_path_too_long_to_be_looked_at.py") + "P\nmkdir sub; echo 'gitdir: ../evil' > sub/.git",
	"a directory that may not be searched": `mkdir -p P/x sub; (cd P/x; chmod 000 ..; mkdir objects refs; echo 'ref: refs/heads/main' > HEAD; e > config; chmod 755 ../../P || python3 -c 'import os; os.chmod("..", 0o755)'); chmod 755 P; echo 'gitdir: ../P/x' > sub/.git`,
	"a working tree that leads there":      private + `git init -q o; mkdir -p $D/y o/.git/modules/m sub; (cd $D/y; git init -q; git -c user.name=a -c user.email=a commit -q --allow-empty -m y; e > .git/config); H=$(git -C $D/y rev-parse HEAD); ln -s $(dirname $(dirname $C)) lnk; head o/.git/modules/m; printf '[core]\n\trepositoryformatversion = 0\n\tworktree = %s\n' ../../../../lnk/$(realpath -m --relative-to=$(dirname $(dirname $C)) $C) > o/.git/modules/m/config; GIT_DIR=o/.git/modules/m GIT_WORK_TREE=/tmp git update-index --add --cacheinfo 160000,$H,y; echo 'gitdir: ../o/.git/modules/m' > sub/.git`,
	"a common directory of a hash":         `git init -q sub; git -C sub -c user.name=a -c user.email=a commit -q --allow-empty -m x; H=$(git -C sub rev-parse HEAD); echo 'ref: commondir' > sub/.git/ORIG_HEAD; mkdir -p sub/.git/$H/objects sub/.git/$H/refs; cp -r sub/.git/objects sub/.git/refs sub/.git/$H; e > sub/.git/$H/config; git -C sub rev-parse HEAD > /dev/null; touch reset`,
	"a submodule's part":                   `mkdir -p .git/modules/sub sub; head .git/modules/sub; e > .git/modules/sub/config; echo 'gitdir: ../.git/modules/sub' > sub/.git`,
	"a mode that nobody may read":          `git init -q sub; rm sub/.git/config; (umask 777; e > sub/.git/config); chmod 644 sub/.git/config`,
}

// private gives a place that a program inside writes to without the broker, D, and what it
// is called on the host, C.
const private = `D=~/.cache/pip; mkdir -p $D; C=$(awk -v d="$D" '$5 == d {print $4}' /proc/self/mountinfo); C=${C:-$D}; export PWN; `

const bornPrelude = `
export PWN
e() { printf '[core]\n\trepositoryformatversion = 0\n\tfsmonitor = "touch %s; false"\n' "$PWN"; }
head() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; }
`

// TestBornRepositoriesRunNothing: whatever way a run makes a repository, git outside runs
// nothing of it, in it or in the project around it. Each attack is tried without walls
// first: git has to fall for it there.
func TestBornRepositoriesRunNothing(t *testing.T) {
	t.Parallel()
	begun := newWorld(t, ordinary(t)) // all begin with what is in its project
	begun.outsideSh(`git init -q && git config user.email a@b && git config user.name a && git commit -q --allow-empty -m one &&
		git init -q vendor && git -C vendor -c user.email=a -c user.name=a commit -q --allow-empty -m v`)
	for name, attack := range bornAttacks {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			ran := func(dir, how string) bool {
				pwn := w.base + "/pwn"
				w.must(os.RemoveAll(pwn))
				w.must(os.Mkdir(pwn, 0o777))
				w.must(os.Chmod(pwn, 0o777))
				w.outsideSh("mkdir -p " + dir + " && cp -a " + begun.project + "/. " + dir)
				script := "PWN=" + pwn + "/ran\n" + bornPrelude + attack + "\ngit update-index --add --cacheinfo 160000,$(git rev-parse HEAD),sub\nsleep .1\n"
				if how == "" {
					w.outsideSh("cd " + dir + "\n" + script)
				} else {
					w.outsideSh("rm -rf ~/.cache/pip/*") // of the try without walls
					r := w.run(append(historyOn, "--", "bash", "-c", script)...)
					t.Log(r)
				}
				w.outsideSh("cd " + dir + "; test -e reset && git -C sub reset -q --hard; git status; git -C sub status; git diff; git -C sub diff; git submodule--helper status; true")
				entries, err := os.ReadDir(pwn)
				w.must(err)
				return len(entries) > 0
			}
			if !ran(w.outside+"/free", "") {
				t.Fatal("without walls git runs nothing: the attack is none")
			}
			if ran(w.project, "inside") {
				t.Error("git outside ran what the run has left")
			}
		})
	}
}

// TestBornConfigurationIsWritten: what is harmless can be written by any program, and is
// there as soon as the file is closed; copies are whole, and undo knows all of it.
func TestBornConfigurationIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	for _, c := range []struct{ name, script, want string }{
		{"read back at once", `git init -q sub; for i in $(seq 300); do printf '[user]\n\tname = n%s\n' $i > sub/.git/config; test "$(git -C sub config user.name)" = n$i || echo lost $i; done`, ""},
		{"appended and read back", `git init -q app; for i in $(seq 100); do printf '[user]\n\tname = n%s\n' $i >> app/.git/config; test "$(tail -n 1 app/.git/config)" = "$(printf '\tname = n%s' $i)" || echo lost $i; done; git -C app config --local --get-all user.name | wc -l`, "100\n"},
		{"copied", `git init -q one; git -C one config user.name Ada; touch -d @1000000000 one/.git/config; chmod 640 one/.git/config; cp -a one two; cmp one/.git/config two/.git/config; stat -c '%a %Y' two/.git/config; git -C two config user.name; cp -r one/.git three.git; git -C three.git config user.name`, "640 1000000000\nAda\nAda\n"},
		{"copied, with a configuration that is newer than the index", `git init -q nw; touch nw/a; git -C nw add a; git -C nw config user.name Ada
			for i in 1 2 3; do cp -a nw nw$i; git -C nw$i config user.name; done`, "Ada\nAda\nAda\n"},
		{"a bare one copied", `git init -q --bare x.git; cp -r x.git y.git; cmp x.git/config y.git/config && git -C y.git config core.bare; git clone -q --bare . z.git; git -C z.git log --format=%s`, "true\none\n"},
		{"two at once", `git init -q duo; exec 3>>duo/.git/config 4>>duo/.git/config; printf '[gc]\n' >&3; printf '\tauto = 7\n' >&4; exec 3>&-; git -C duo config gc.auto; exec 4>&-; git -C duo config gc.auto`, "7\n"},
		{"read and written", `git init -q rw; python3 -c 'f = open("rw/.git/config", "r+"); old = f.read(); f.write("[user]\n\tname = Ada\n"); f.seek(0); print(f.read() == old + "[user]\n\tname = Ada\n")'; git -C rw config user.name`, "True\nAda\n"},
		{"a clone of a path", `git clone -q . copy && git -C copy fetch -q && git -C copy log --format=%s && git -C copy config remote.origin.fetch`, "one\n+refs/heads/*:refs/remotes/origin/*\n"},
		{"a part of a clone, which fetches when it is looked at", `git clone -q --filter=blob:none --no-checkout "file://$PWD" part 2>/dev/null || echo refused`, "refused\n"},
		{"renamed remotes", `git clone -q . ren && git -C ren remote rename origin up && git -C ren config branch.main.remote`, "up\n"},
		{"away and back", `git init -q aw && mv aw/.git aw/g && mv aw/g aw/.git && git -C aw status --porcelain && echo ok`, "ok\n"},
		{"times of a copy", `git init -q tm && touch -d @1000000000 tm/.git/config && python3 -c 'import shutil; shutil.copytree("tm", "tm2")' && stat -c %Y tm2/.git/config; rsync -a tm/ tm3 && stat -c '%Y' tm3/.git/config && ls tm3/.git/hooks | diff - <(ls tm/.git/hooks)`, "1000000000\n1000000000\n"},
		{"sizes and renames at once", `git init -q sz; for i in $(seq 100); do echo "# $i" > sz/.git/config; echo "# x $i" > c; mv c sz/.git/config || echo failed; echo "# $i$i" > sz/.git/config; mv sz/.git/config d; mv d sz/.git/config || echo back; done; for i in $(seq 50); do git worktree add -q wt$i && git worktree remove wt$i || echo $i; done; git branch | wc -l`, "51\n"},
		{"by the order of libraries", `git clone -q --bare . lb.git; for i in $(seq 50); do mkdir -p lb.git/worktrees/w$i; echo ../.. > lb.git/worktrees/w$i/commondir; echo ref: refs/heads/main > lb.git/worktrees/w$i/HEAD; done; ls lb.git/worktrees/*/HEAD | wc -l`, "50\n"},
	} {
		if out := w.sh(c.script, historyOn...); out != c.want {
			t.Errorf("%s: %q, want %q", c.name, out, c.want)
		}
	}
	before := w.outsideSh("find . -name config | sort | xargs sha256sum")
	w.fine("undo", "3")
	w.fine("redo", "3")
	if after := w.outsideSh("find . -name config | sort | xargs sha256sum"); after != before {
		t.Errorf("after undo and redo\n%s\nbefore\n%s", after, before)
	}
	r := w.run(append(historyOn, "--", "bash", "-c", "git init -q last; printf '[core]\\n\\tfsmonitor = ./x\\n' >> last/.git/config; ! git -C last config core.fsmonitor && test -s last/.git/config")...)
	if r.code != 0 || !strings.Contains(r.err, `"core.fsmonitor"`) || !strings.Contains(r.err, "last/.git/config") {
		t.Errorf("what was refused is not told: %s", r)
	}
}

// TestBornConfigurationHeldOpen: who looks at a file that is being written does not wait
// for the writer, and sees what was there before.
func TestBornConfigurationHeldOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	out := w.sh(`git init -q sub; exec 3>>sub/.git/config; printf '[core]\n\tfsmonitor = ./x\n' >&3; for i in 1 2 3; do timeout 5 git -C sub config core.bare; timeout 5 cat sub/.git/config | grep -c fsmonitor; done; timeout 5 cp -r sub copy; timeout 5 mv sub/.git/config sub/c; timeout 5 cat sub/c > /dev/null && echo done`, historyOn...)
	if want := strings.Repeat("false\n0\n", 3) + "done\n"; out != want {
		t.Errorf("%q, want %q", out, want)
	}
	if out := w.outsideSh("grep -s fsmonitor sub/.git/config sub/c copy/.git/config || echo none"); out != "none\n" {
		t.Errorf("afterwards: %s", out)
	}
}

// TestBornByTwoRuns: of two runs in one project one makes the HEAD and the other the
// configuration of the same directories.
func TestBornByTwoRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // one run is still there when the other has ended
	w.repository()
	const count = 300
	// In an order of its own each, so that the slower one is not always second; and both begin when
	// both are there. On a busy machine one may still be done before the other one has a turn.
	heads := program("born_attack/heads.py")
	configs := program("born_attack/configs.py")
	together := func(own, other, text string) result {
		barrier := "import os, time\nopen('" + own + "', 'w').close()\nwhile not os.path.exists('" + other + "'): time.sleep(0.001)\n"
		return w.run(append(historyOn, "--", "timeout", "60", "python3", "-c", barrier+text)...)
	}
	for try := range 5 {
		w.outsideSh(`rm -rf Z a b go c*; mkdir Z; for i in $(seq 300); do mkdir -p Z/$i/objects Z/$i/refs; done`)
		done := make(chan result)
		go func() { done <- together("a", "b", heads) }()
		r := together("b", "a", configs)
		if other := <-done; r.code != 0 || other.code != 0 {
			t.Fatalf("%s%s", r, other)
		}
		out := w.outsideSh(`cd Z; for i in *; do test -e $i/HEAD && echo head; test -e $i/config && echo config; ` +
			`test -e $i/HEAD && test -e $i/config && echo both; true; done | sort | uniq -c`)
		mixed := strings.Contains(out, "head") && strings.Contains(out, "config")
		if strings.Contains(out, "both") || !mixed && try == 4 {
			t.Errorf("of %d: %s", count, out)
		}
		if mixed {
			break
		}
	}
}

// TestBornByUndo: an undo of a step in between, or of a part, makes no git directory
// that runs code.
func TestBornByUndo(t *testing.T) {
	t.Parallel()
	for _, undo := range [][]string{{"--step", "2"}, {"--step", "2", "--skip-conflicts"}, {"--step", "2", "--keep-both"}, {"--step", "2", "--force"}, {"--step", "2", "--path", "Z/config"}} {
		w := newWorld(t, ordinary(t))
		w.sh("mkdir -p Z/objects Z/refs; printf '[core]\n\tfsmonitor = x\n' > Z/config", historyOn...)
		w.sh("rm Z/config; echo 'ref: refs/heads/main' > Z/HEAD", historyOn...)
		w.sh("echo 'ref: refs/heads/other' > Z/HEAD", historyOn...)
		r := w.carrel(append([]string{"undo"}, undo...)...)
		if out := w.outsideSh("test -e Z/HEAD && cat Z/config* 2>/dev/null; true"); strings.Contains(out, "fsmonitor") {
			t.Errorf("%q: %s%s", undo, r, out)
		}
		w.carrel("undo", "3") // back to what there was is no matter
	}
	// The canary, and what has to work: what was there comes back, with its hooks.
	w := newWorld(t, ordinary(t))
	w.outsideSh("git init -q --bare own.git; git -C own.git config core.fsmonitor x; mkdir -p own.git/hooks; echo x > own.git/hooks/update")
	before := w.outsideSh("cd own.git; find . -type f | sort | xargs md5sum")
	w.sh("rm -rf own.git", historyOn...)
	w.fine("undo")
	if after := w.outsideSh("cd own.git; find . -type f | sort | xargs md5sum"); after != before {
		t.Errorf("undone:\n%s\nbefore:\n%s", after, before)
	}
}

// TestGitWaitsForNobody: what git would wait for is not made where it looks.
func TestGitWaitsForNobody(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.sh("mkfifo p; git init -q sub; rm sub/.git/HEAD; for f in .gitignore .gitattributes .git/index sub/.git sub/.git/HEAD sub/.git/config .git/MERGE_MSG sub/.gitignore; do ! mkfifo $f && ! mv p $f && ! ln p $f; done 2>/dev/null; mv sub/.git/HEAD h 2>/dev/null; test -p p", historyOn...)
	if out := w.outsideSh("find . -name p -o -type p -print; timeout 10 git status --porcelain > /dev/null && echo done"); out != "done\n" {
		t.Errorf("%q", out)
	}
}

// TestGitAsksNobodyInside: no socket is made where git outside asks what has changed.
func TestGitAsksNobodyInside(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	r := w.run(append(historyOn, "--", "python3", "-u", "-c", program("born_attack/git_asks_nobody_inside.py"))...)
	if r.out != "own made\n.git/fsmonitor--daemon.ipc Permission denied\n.git/x Permission denied\nsub/.git Permission denied\nPermission denied\nPermission denied\nSTATUS\n" {
		t.Errorf("%s", r)
	}
	if out := w.outsideSh("find .git sub -type s"); out != "" {
		t.Errorf("left: %s", out)
	}
	w.outsideSh("git config core.fsmonitor true")
	if out := w.fine("run", "--", "git", "status", "--porcelain", "-uno"); out != "" {
		t.Errorf("where the repository wants a daemon: %q", out)
	}
}

// TestBornWorkingTree: a repository made inside has no working tree elsewhere.
func TestBornWorkingTree(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.sh("git init -q sub; ln -s / link; cd sub; for to in ../../link/tmp /tmp ../../../.. ../..; do ! git config core.worktree $to; done 2>/dev/null; cd ..; mkdir -p .git/modules/m; ! git config -f .git/modules/m/config core.worktree ../../../link/tmp; git config -f .git/modules/m/config core.worktree ../../../m && ! mv .git/modules/m m2", historyOn...)
}

// TestBornConfigurationIsReadWhole: of two harmless configurations that take turns no program
// outside reads half of one and half of the other, which would say something else.
func TestBornConfigurationIsReadWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	script := "git init -q sub; python3 - <<'P'\n" + program("born_attack/born_configuration_is_read_whole.py") + "P"
	done := make(chan result)
	go func() { done <- w.run(append(historyOn, "--", "bash", "-c", script)...) }()
	looked := w.outsideSh(`for i in $(seq 500); do test -e go && break; sleep .01; done; n=0; for i in $(seq 400); do git config -f sub/.git/config core.fsmonitor && echo EVIL; n=$((n+1)); done; cat sub/.git/config | grep -c fsmonitor; echo $n`)
	if r := <-done; r.code != 0 || strings.Contains(looked, "EVIL") || !strings.HasSuffix(looked, "\n400\n") {
		t.Errorf("%q: %s", looked, r)
	}
}

// TestBornByUndoOfHooks: an undo of one step brings no hook and no link into what has
// become a git directory since.
func TestBornByUndoOfHooks(t *testing.T) {
	t.Parallel()
	for _, undo := range [][]string{{"--step", "2"}, {"--path", "X/hooks"}, {"--path", "X/logs"}} {
		w := newWorld(t, ordinary(t))
		w.repository()
		w.sh(`mkdir -p X/hooks X/logs; printf '#!/bin/sh\ntouch PWN\n' > X/hooks/pre-commit; chmod +x X/hooks/pre-commit; ln -s /tmp/elsewhere X/logs/HEAD`, historyOn...)
		w.sh(`rm -r X/hooks X/logs`, historyOn...)
		w.sh(`git init -q --bare Y; cp -r Y/HEAD Y/objects Y/refs Y/config X/`, historyOn...)
		r := w.carrel(append([]string{"undo"}, undo...)...)
		if out := w.outsideSh("test -e X/HEAD && ls X/hooks/pre-commit X/logs/HEAD 2>/dev/null; find X -type l; true"); out != "" {
			t.Errorf("%q: %s%s", undo, out, r)
		}
	}
}

// TestBornInAnotherRun: what one run has made a repository of is looked at again when it
// has been changed by another one meanwhile.
func TestBornInAnotherRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true // one run is still there when the other has ended
	w.repository()
	done := make(chan result)
	go func() {
		done <- w.run(append(historyOn, "--", "bash", "-c", `git init -q X; mv X/.git X/g; rm X/g/HEAD; git init -q Z; mv Z/.git Z/g; touch one; for i in $(seq 300); do test -e two && break; sleep .02; done; echo 'ref: refs/heads/main' > X/g/HEAD; mv Z/g Z/.git; touch three`)...)
	}()
	r := w.run(append(historyOn, "--", "bash", "-c", `for i in $(seq 300); do test -e one && break; sleep .02; done; printf '[core]\n\tfsmonitor = x\n' > X/g/config; echo x > X/g/hooks/pre-commit; rm -rf Z/g; mkdir -p Z/g/objects Z/g/refs; printf '[core]\n\tfsmonitor = x\n' > Z/g/config; touch two`)...)
	other := <-done
	if out := w.outsideSh("ls two three; test -e X/g/HEAD && grep -s fsmonitor X/g/config; test -d Z/.git && cat Z/.git/config; true"); out != "three\ntwo\n" {
		t.Errorf("%s%s%s", out, r, other)
	}
}
