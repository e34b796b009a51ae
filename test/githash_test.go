//go:build linux

package e2e

import (
	"strings"
	"testing"
)

// twoWays is a program that writes an index with an entry for ../esc if it is read for
// names of objects of one length, and with harmless ones if read for the other length.
var twoWays = "cat > gen.py <<'P'\n" + program("githash/two_ways.py") + "P\nhead() { mkdir -p $1/objects $1/refs; echo 'ref: refs/heads/main' > $1/HEAD; }\n"

// otherHashes leave a repository in a working tree "sub" of which the index was looked at
// for names of objects of another length than git reads it for.
var otherHashes = []struct{ name, leave string }{
	{"the configuration removed", `git init -q --object-format=sha256 sub; python3 gen.py sub/.git sha1; rm sub/.git/config`},
	{"moved", `git init -q --object-format=sha256 sub; python3 gen.py sub/.git sha1; mv sub/.git/config sub/.git/c`},
	{"cut by an open for reading", `git init -q --object-format=sha256 sub; python3 gen.py sub/.git sha1; python3 -c 'import os; os.open("sub/.git/config", os.O_RDONLY | os.O_TRUNC)'`},
	{"one in a git directory, without a configuration", `git init -q --object-format=sha256 o; head o/.git/foo; python3 gen.py o/.git/foo sha1; mkdir sub; echo 'gitdir: ../o/.git/foo' > sub/.git`},
	{"one there, the index first", `git init -q --object-format=sha256 o; mkdir o/.git/foo; python3 gen.py o/.git/foo sha1; head o/.git/foo; mkdir sub; echo 'gitdir: ../o/.git/foo' > sub/.git`},
	{"where parts of worktrees are", `head .git/worktrees/x; printf '[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha256\n' > .git/worktrees/x/config; python3 gen.py .git/worktrees/x sha256; mkdir sub; echo 'gitdir: ../.git/worktrees/x' > sub/.git`},
	{"a worktree's part that is one no more", `git init -q --object-format=sha256 o; head o/.git/worktrees/x; echo ../.. > o/.git/worktrees/x/commondir; python3 gen.py o/.git/worktrees/x sha1; rm o/.git/worktrees/x/commondir; mkdir sub; echo 'gitdir: ../o/.git/worktrees/x' > sub/.git`},
}

// TestIndexesOfOtherHashes: git outside reads no index for names of objects of another
// length than it was judged by. Each is tried without walls first.
func TestIndexesOfOtherHashes(t *testing.T) {
	t.Parallel()
	for _, c := range otherHashes {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			escaped := func(dir string, inside bool) bool {
				w.outsideSh("mkdir -p " + dir + " && cd " + dir + " && git init -q -b main .")
				script := twoWays + c.leave + "\ntrue\n"
				if inside {
					t.Log(w.run(append(historyOn, "--", "bash", "-c", script)...))
				} else {
					w.outsideSh("cd " + dir + "\n" + script)
				}
				w.outsideSh("git -C " + dir + "/sub checkout -q -f .; true")
				return exists(dir + "/esc")
			}
			if !escaped(w.outside+"/free/a", false) {
				t.Fatal("without walls git writes nothing: it does no harm")
			}
			if escaped(w.project, true) {
				t.Error("git outside wrote a file outside of the working tree")
			}
		})
	}
}

// TestOtherHashesWork: repositories with long names of objects are made, copied and removed.
func TestOtherHashesWork(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.sh(program("githash/long_names.bash"), historyOn...)
}

// TestOtherHashesGo: such a repository is removed at once by a later run, whatever its index
// would say if it were read in another way, and comes back as it was.
func TestOtherHashesGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.repository()
	w.sh(`set -e
		for i in $(seq 12); do
			git init -q --object-format=sha256 r$i; cd r$i; git config index.version $((i % 3 + 2))
			for f in 1 2 3 4 5 6 7; do echo $i $f > $f; done; git add .; git commit -qm x; cd ..
		done`, historyOn...)
	r := w.run(append(historyOn, "--", "bash", "-c", "for i in r*; do rm $i/.git/config; done; rm -r r*; ls")...)
	if r.out != "file\n" || r.code != 0 || strings.Contains(r.err, "denied") {
		t.Errorf("removed: %s", r)
	}
	w.fine("undo")
	w.outsideSh("set -e; for i in r*; do git -C $i fsck --strict; git -C $i diff --exit-code HEAD; git -C $i status --porcelain; done 2>&1; " +
		"test $(ls -d r* | wc -l) = 12")
}
