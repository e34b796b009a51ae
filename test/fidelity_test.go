//go:build linux

package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// fidelity is one thing that people do with real tools. It is done twice in a
// directory of the same name, on the bare machine and behind walls; what it
// prints and what it leaves have to be the same.
type fidelity struct {
	name   string
	needs  []string
	script string
	// prepare adds to the world around the project.
	prepare func(w *world)
	// ignore matches lines of the tree whose content is never the same twice.
	ignore string
}

// fixed makes git's commits the same every time.
const fixed = `export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=A GIT_COMMITTER_EMAIL=a@example.com
export GIT_AUTHOR_DATE='2001-01-01T00:00:00Z' GIT_COMMITTER_DATE='2001-01-01T00:00:00Z' GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null TZ=UTC
`

// TestFidelity: real tools do not notice the walls.
func TestFidelity(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, f := range slices.Concat(gitFidelity, fileFidelity, programFidelity) {
			t.Run(f.name, func(t *testing.T) {
				t.Parallel()
				f.check(t, newWorld(t, p))
			})
		}
	})
}

// check does it twice.
func (f fidelity) check(t *testing.T, w *world) {
	if f.prepare != nil {
		f.prepare(w)
	}
	w.need(f.needs...)
	script := "set -e; exec 2>&1; mkdir f; cd f\n" + fixed + f.script
	args := []string{"bash", "-c", script}
	if w.who.uid == 0 { // behind walls root has no capabilities
		args = append([]string{"setpriv", "--bounding-set=-all", "--inh-caps=-all"}, args...)
	}
	var outs, trees []string
	for _, inside := range []bool{false, true} {
		var r result
		if inside {
			r = w.run(slices.Concat(historyOn, []string{"--", "bash", "-c", script})...)
		} else {
			r = w.plain(args[0], args[1:]...)
		}
		if r.code != 0 {
			t.Fatalf("inside %v: %s", inside, r)
		}
		outs, trees = append(outs, r.out), append(trees, f.tree(w))
		w.must(os.RemoveAll(w.project + "/f"))
	}
	if len(outs[0]) == 0 {
		t.Fatal("it prints nothing, so nothing was compared")
	}
	firstDifference(t, "line of output", strings.Split(outs[0], "\n"), strings.Split(outs[1], "\n"))
	firstDifference(t, "entry", strings.Split(trees[0], "\n"), strings.Split(trees[1], "\n"))
}

// tree describes what was left, with metadata.
func (f fidelity) tree(w *world) string {
	out, err := exec.Command(difftool(w.t), "tree", w.project+"/f").Output()
	w.must(err)
	if f.ignore == "" {
		return string(out)
	}
	ignore := regexp.MustCompile(f.ignore)
	var kept []string
	for line := range strings.Lines(string(out)) {
		if !ignore.MatchString(line) {
			kept = append(kept, strings.TrimSuffix(line, "\n"))
		}
	}
	return strings.Join(kept, "\n")
}

// gitFidelity compares histories and working trees; what git keeps of times and
// inodes, and how it packs, is its own.
var gitFidelity = []fidelity{
	{name: "git session", needs: []string{"git"}, ignore: `/\.git[/"]`, script: program("fidelity/git_session.bash")},
	{name: "git worktrees and clones", needs: []string{"git"}, ignore: `/\.git[/"]|/w/\.git"|bare`, script: `
git init -q -b main r; cd r; for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm $i; done
git worktree add -q ../w -b side; cd ../w; echo w > w; git add w; git commit -qm w; git worktree list | wc -l; cd ../r; git merge -q side; git worktree remove ../w; git worktree prune; git branch -qd side
cd ..; git clone -q --local r local; git clone -q --no-local r far; git clone -q --bare r bare.git; cd local; git remote; git log --format='%h %s'; echo p > p; git add p; git commit -qm p; git push -q origin HEAD:refs/heads/pushed
cd ../r; git branch --format='%(refname:short) %(objectname:short)'; git -C ../bare.git log --format=%h -1; git fsck; find ../local/.git/objects -links 2 -type f | wc -l`},
	{name: "git submodules", needs: []string{"git"}, ignore: `/\.git[/"]`, script: `
git init -q -b main lib; (cd lib; echo x > x; git add x; git commit -qm lib)
git init -q -b main top; cd top; git -c protocol.file.allow=always submodule --quiet add ../lib deps/lib; git commit -qm sub; git submodule status
cd deps/lib; echo y > y; git add y; git commit -qm inner; cd ../..; git add deps/lib; git commit -qm moved; git -C deps/lib log --format=%h; git log --format=%h
git submodule --quiet deinit -f deps/lib; ls -A deps/lib; git submodule --quiet update --init 2>/dev/null || echo refused; git status --porcelain; cat .gitmodules`},
}

// fileFidelity are the tools that copy, move, edit and delete.
var fileFidelity = []fidelity{
	{name: "copies", script: `
mkdir -p a/b/c; echo one > a/1; ln a/1 a/b/1; ln -s ../1 a/b/l; ln -s /nowhere a/dangling; mkfifo a/p; printf x > a/x; chmod 4644 a/x 2>/dev/null || true; chmod 644 a/x; chmod 2755 a/b/c; chmod 600 a/1
truncate -s 1M a/sparse; touch -d 2001-01-01 a/1 a/b; touch -h -d 2001-02-02 a/b/l
cp -a a a1; cp --reflink=auto -r a/b a2; cp -al a a3; cp -rs "$PWD/a" a4; mv a3 a5; cp --sparse=always a/sparse s; install -D -m 750 a/x i/j/x; du --apparent-size -s a/sparse; stat -c '%h %a %s %F' a1/1 a1/b/l a1/p a5/1 | sort
dd if=/dev/zero of=z bs=4k count=3 conv=fsync,notrunc status=none; ln -sfn a2 cur; ln -sfn a1 cur; readlink cur; rm -rf a; ls`},
	{name: "archives", needs: []string{"tar"}, script: `
mkdir -p t/d; echo 1 > t/1; echo 2 > t/d/2; ln t/1 t/d/h; ln -s 1 t/s; touch -d 2001-01-01 t/1 t/d/2 t/d
python3 -c "import os; os.setxattr('t/1', 'user.note', b'hello')" || true
chmod 700 t/d; chmod 640 t/1; tar --xattrs --sort=name -cf a.tar t; mkdir o; tar --xattrs -xpf a.tar -C o; tar --compare -f a.tar -C o; tar -tvf a.tar | awk '{print $1, $3, $6}'
python3 -c "import os; print(os.listxattr('o/t/1'))"; gzip -k a.tar; gunzip -kf a.tar.gz; cmp a.tar a.tar && echo same; rm a.tar.gz; tar -rf a.tar o; rm a.tar`},
	{name: "rsync", needs: []string{"rsync"}, script: `
mkdir -p a/b; echo 1 > a/1; ln a/1 a/b/1; ln -s 1 a/s; touch -d 2001-01-01 a/1 a/b a; chmod 640 a/1
rsync -aHX a/ b/; rsync -aHXi a/ b/; echo 2 > a/2; rm a/s; rsync -ai --delete a/ b/ | sort; rsync -a --inplace a/ b/; rsync -a --link-dest=../b a/ c/; stat -c %h c/2`},
	{name: "editing", needs: []string{"patch", "make"}, script: `
for i in $(seq 100); do echo "line $i" > f$i.txt; done; sed -i s/line/LINE/ *.txt; cat *.txt | md5sum; sed -i.bak 's/1/one/' f1.txt; perl -pi -e 's/2/two/' f2.txt
cp f3.txt orig; echo changed >> f3.txt; diff -u orig f3.txt > p || true; sed -i 's/^\(---\|+++\) \([^\t]*\).*/\1 \2/' p; cp orig f3.txt; patch f3.txt < p; patch -b -R f3.txt < p
find . -name 'f[5-9]*.txt' -delete; find . -type f | sort | head -50; printf 'all: out\nout: f1.txt\n\tcat $< > $@\n' > Makefile; make -s; make; touch -d 2001-01-01 out; make -s; cat out`},
	{name: "umasks and rights", script: `
umask 077; mkdir a; echo x > a/x; umask 002; mkdir b; echo x > b/x; umask 0; mkdir c; echo > c/x; umask 777; echo x > d || true; umask 022
mkdir g; chmod g+s g; mkdir g/s; echo > g/f; chmod 1777 c; chmod u-w a/x; (echo y > a/x) || true; chmod 500 a; rm -f a/x || true; (echo > a/y) || true; chmod 000 b; ls b || true; chmod 755 b; stat -c '%a %n' a b b/x c c/x d g g/s g/f
test -w a && echo w || echo no; test -w g && echo w; [ -x g/f ] || echo nx; chmod -R u+rwX .; echo fine`},
	{name: "default ACLs", needs: []string{"setfacl"}, script: `
mkdir a; setfacl -d -m u::rwx,g::rwx,o::- a; umask 077; echo x > a/x; mkdir a/d; echo y > a/d/y; stat -c '%a %n' a/x a/d a/d/y; getfacl -cp a/d a/d/y`},
	{name: "vim", needs: []string{"vim"}, script: `
printf 'one\ntwo\n' > t; vim -Nu NONE -es -c 'set backup backupext=.bak backupdir=. directory=. writebackup' -c '%s/one/ONE/' -c wq t; cat t; cat t.bak; ls -A
vim -Nu NONE -es -c 'set directory=. swapfile backupcopy=no' -c 'normal Gothree' -c 'w' -c '!ls -A' -c 'q' t || true; cat t; ls -A; ln -s t l; vim -Nu NONE -es -c 'set backupcopy=auto' -c '1d' -c 'x' l; cat t; stat -c %F l; vim -Nu NONE -es -c 'set undofile undodir=.' -c 'normal dd' -c 'wq' t; ls -A`, ignore: `\.un~`},
}
