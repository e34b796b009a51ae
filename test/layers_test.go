//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// layered is a project whose changes are reviewed, beside a copy that the same command changes
// directly.
type layered struct {
	*world
	tree, tell string
}

func newLayered(t *testing.T, p person) *layered {
	w := newWorld(t, p)
	w.need("python3")
	// Programs lie where the workspace sees them, and outside of what is reviewed.
	return &layered{w, program("layers/tree.py"), program("layers/tell.py")}
}

// bare is the copy.
func (l *layered) bare() string { return l.home + "/bare" }

// begin makes both trees, the same.
func (l *layered) begin(seed int) string {
	l.t.Helper()
	l.outsideSh(fmt.Sprintf("chmod -R u+rwx %q %q; rm -rf %[1]q %[2]q", l.project, l.bare()))
	l.project = fmt.Sprintf("%s/p%d", l.home, seed) // each has a history of its own
	l.mkdir(l.project, 0o755)
	l.mustPlain(l.project, l.tree, fmt.Sprint(seed))
	l.outsideSh(fmt.Sprintf("cp -a %q %q", l.project, l.bare()))
	return l.told(l.project)
}

// mustPlain runs a program of Python in a directory, without walls.
func (l *layered) mustPlain(dir, text string, args ...string) string {
	l.t.Helper()
	cmd := l.command("python3", append([]string{"-c", text}, args...)...)
	cmd.Dir = dir
	r := l.finish(cmd)
	if r.code != 0 {
		l.t.Fatalf("in %s: %s", dir, r)
	}
	return r.out
}

func (l *layered) told(dir string) string { return l.mustPlain(dir, l.tell) }

// must runs carrel and wants it to succeed.
func (l *layered) mustCarrel(args ...string) result {
	l.t.Helper()
	r := l.carrel(args...)
	if r.code != 0 {
		l.t.Fatalf("carrel %s: %s", strings.Join(args, " "), r)
	}
	return r
}

// differ names the lines of two trees that are not in both.
func differ(a, b string) string {
	in := func(text string) map[string]bool {
		all := make(map[string]bool)
		for line := range strings.SplitSeq(text, "\n") {
			all[line] = true
		}
		return all
	}
	var out strings.Builder
	x, y := in(a), in(b)
	for line := range strings.SplitSeq(a, "\n") {
		if !y[line] {
			fmt.Fprintf(&out, "-%s\n", line)
		}
	}
	for line := range strings.SplitSeq(b, "\n") {
		if !x[line] {
			fmt.Fprintf(&out, "+%s\n", line)
		}
	}
	return out.String()
}

// TestLayersApplyExactly: a random change of a random tree leaves the project as it was, and once
// it is applied the tree that the same change makes directly. An undo brings the first one back.
func TestLayersApplyExactly(t *testing.T) {
	first, each := someSeed(t)*1000, often(6, 50)
	eachPerson(t, func(t *testing.T, p person) {
		for part := range 4 {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				l := newLayered(t, p)
				for seed := first + part*each; seed < first+(part+1)*each; seed++ {
					l.exact(seed)
				}
			})
		}
	})
}

func (l *layered) exact(seed int) {
	l.t.Helper()
	before := l.begin(seed)
	l.mustPlain(l.bare(), l.tree, fmt.Sprint(seed), "change")
	want := l.told(l.bare())
	r := l.run("--review", "--", "python3", "-c", l.tree, fmt.Sprint(seed), "change")
	if r.code != 0 {
		l.t.Fatalf("seed %d: %s", seed, r)
	}
	if now := l.told(l.project); now != before {
		l.t.Fatalf("seed %d: the run has changed the project itself:\n%s", seed, differ(before, now))
	}
	if strings.Contains(r.err, "nothing to review") {
		if d := differ(before, want); d != "" {
			l.t.Fatalf("seed %d: nothing to review, and directly:\n%s", seed, d)
		}
		return
	}
	diff := l.mustCarrel("review", "diff", "--stat")
	applied := l.carrel("review", "apply")
	if d := differ(want, l.told(l.project)); d != "" || applied.code != 0 {
		l.t.Fatalf("seed %d: directly (-), and as it was applied (+):\n%s%s\n%s", seed, d, applied, diff.out)
	}
	if list := l.mustCarrel("review", "list"); !strings.Contains(list.out, "there is no layer") {
		l.t.Fatalf("seed %d: something is left: %s\n%s", seed, list, l.mustCarrel("review", "diff", "--stat").out)
	}
	if !strings.Contains(applied.out, "as step") { // times of directories alone
		return
	}
	if r := l.carrel("undo"); r.code != 0 {
		l.t.Fatalf("seed %d: %s\n%s\n%s", seed, r, l.mustCarrel("history").out, diff.out)
	}
	if d := differ(before, l.told(l.project)); d != "" {
		l.t.Fatalf("seed %d: before (-), and after the undo (+):\n%s", seed, d)
	}
}

// plainLayers is a project for tests whose command is a shell script.
func plainLayers(t *testing.T, p person) *world {
	w := newWorld(t, p)
	w.need("git")
	return w
}

// review runs carrel review, and wants a status.
func (w *world) review(status int, args ...string) string {
	w.t.Helper()
	r := w.carrel(append([]string{"review"}, args...)...)
	if r.code != status {
		w.t.Fatalf("carrel review %s: want status %d: %s", strings.Join(args, " "), status, r)
	}
	return r.out
}

// TestLayerOfGit: commits in a layer are none outside until it is applied; then the repository is
// whole, and one undo takes them back.
func TestLayerOfGit(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.outsideSh(`git init -q && git config user.name n && git config user.email e &&
			seq 100 > a && mkdir d && echo x > d/x && git add -A && git commit -qm one`)
		head := w.outsideSh("git rev-parse HEAD")
		w.sh(`set -e; git checkout -qb side; echo two >> a; git rm -q d/x; git add -A; git commit -qm two
			git checkout -q -; git merge -q side; git gc -q; git tag t`, "--review")
		if now := w.outsideSh("git rev-parse HEAD; git status --short; git tag"); now != head {
			t.Fatalf("the project itself has changed: %q", now)
		}
		if out := w.review(0, "apply"); !strings.Contains(out, "as step") || !strings.Contains(out, "is forgotten") {
			t.Errorf("%s", out)
		}
		w.outsideSh(`set -e; git fsck --strict; test "$(git log --oneline | wc -l)" = 2; test -z "$(git status --short)"; test "$(git tag)" = t
			test ! -e d; tail -1 a | grep -q two`)
		if r := w.carrel("undo"); r.code != 0 {
			t.Fatalf("%s", r)
		}
		w.outsideSh(`set -e; git fsck --strict; test -z "$(git status --short)"; test "$(cat d/x)" = x`)
		if now := w.outsideSh("git rev-parse HEAD"); now != head {
			t.Errorf("after the undo: %s", now)
		}
	})
}

// TestLayerProtects: what is hidden stays hidden in a layer, and what a run may not leave in the
// project is refused when it is applied. The canary is the same without walls.
func TestLayerProtects(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.outsideSh(`git init -q; git config user.name n; echo SECRET=abc > .env; echo 1 > fine; mkdir out`)
		attack := `cat .env; mkdir -p .vscode .husky; echo '{}' > .vscode/tasks.json; echo x > .husky/pre-commit
			mkdir -p .git/hooks; printf 'x' > .git/hooks/pre-commit; git config core.fsmonitor /bin/false
			echo 2 > fine; ln -s ../../outside out/link; echo 1 > "$1/fine"; true`
		if r := w.plain("bash", "-c", "cp -r . $HOME/bare && cd $HOME/bare && { "+attack+"; }", "x", w.outside); !strings.Contains(r.out,
			"abc") || !exists(w.home+"/bare/.vscode/tasks.json") || !exists(w.home+"/bare/.git/hooks/pre-commit") {
			t.Fatalf("the canary: %s", r)
		}
		w.outsideSh("rm -rf $HOME/bare " + w.outside + "/fine")
		r := w.run("--review", "--", "bash", "-c", attack, "x", w.outside)
		if strings.Contains(r.out, "abc") {
			t.Errorf("the secret is read: %s", r)
		}
		for _, at := range []string{w.project + "/.vscode", w.project + "/.husky", w.outside + "/fine"} {
			if exists(at) {
				t.Errorf("%s is there before anything is applied", at)
			}
		}
		out := w.review(1, "apply")
		for _, at := range []string{w.project + "/.vscode", w.project + "/.git/hooks/pre-commit", w.outside + "/fine"} {
			if exists(at) {
				t.Errorf("%s is applied: %s", at, out)
			}
		}
		if !strings.Contains(out, "not applied: .vscode: the project's policy refuses it") || w.read(w.project+"/fine") != "2\n" {
			t.Errorf("%s", out)
		}
		if config := w.read(w.project + "/.git/config"); strings.Contains(config, "fsmonitor") {
			t.Errorf("%s", config)
		}
	})
}

// TestLayerConflicts: nothing at all is applied where another program has changed one of the paths,
// until a person says what becomes of it.
func TestLayerConflicts(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.outsideSh(`echo 1 > a; echo 1 > b; echo 1 > c; mkdir d; echo 1 > d/x`)
		w.sh(`echo 2 > a; echo 2 > b; rm c; rm -r d; echo 2 > n`, "--review")
		w.outsideSh(`echo mine > a; rm b; echo mine > d/new; echo mine > n`)
		before := w.outsideSh("grep -r . . | sort")
		out := w.review(1, "apply")
		for _, want := range []string{"conflict: a: it was changed meanwhile", "conflict: b: it was removed meanwhile",
			"conflict: d/new: it was made meanwhile", "conflict: n: it was made meanwhile", "nothing was applied: 4 conflicts"} {
			if !strings.Contains(out, want) {
				t.Errorf("%q is not said: %s", want, out)
			}
		}
		if now := w.outsideSh("grep -r . . | sort"); now != before {
			t.Fatalf("something is applied: %s", now)
		}
		w.review(1, "apply", "--skip-conflicts")
		if now := w.outsideSh("grep -r . . | sort"); now != "./a:mine\n./d/new:mine\n./n:mine\n" {
			t.Errorf("%s", now)
		}
		w.review(0, "apply", "--force", "a", "n")
		if now := w.outsideSh("cat a n"); now != "2\n2\n" {
			t.Errorf("%s", now)
		}
		if r := w.carrel("undo"); r.code != 0 || w.outsideSh("cat a n") != "mine\nmine\n" {
			t.Errorf("%s", r)
		}
	})
}

// TestLayerSurvivesAKill: where carrel is killed, what was changed until then is there to review.
func TestLayerSurvivesAKill(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.litter = true // what a running workspace is found by
		w.outsideSh("echo 1 > a")
		cmd := w.command(w.bin, "run", "--review", "--", "bash", "-c", "echo 2 > a; echo 2 > ready; sleep 600")
		w.must(w.start(cmd))
		eventually(t, "a layer with a change", func() bool {
			list := w.review(0, "list")
			return strings.Contains(list, "running") && strings.Contains(w.outsideSh("find "+w.home+"/.local/state/carrel -name ready; "+
				"true"), "upper/ready")
		})
		if r := w.carrel("review", "apply"); r.code != 125 || !strings.Contains(r.err, "in use") {
			t.Errorf("while the command runs: %s", r)
		}
		w.must(cmd.Process.Kill())
		_ = cmd.Wait()
		eventually(t, "the end of the layer's use", func() bool { return strings.Contains(w.review(0, "list"), "cut short") })
		if w.read(w.project+"/a") != "1\n" || exists(w.project+"/ready") {
			t.Error("the project itself has changed")
		}
		w.review(0, "apply")
		if w.read(w.project+"/a") != "2\n" || w.read(w.project+"/ready") != "2\n" {
			t.Error("it is not applied")
		}
	})
}

// TestLayerPaths: some of a layer is applied, the rest later or never.
func TestLayerPaths(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.outsideSh("mkdir d e; echo 1 > d/a; echo 1 > e/b")
		w.sh("echo 2 > d/a; echo 2 > e/b; echo 2 > d/new; mkdir -p f/g; echo 2 > f/g/h", "--review")
		diff := w.review(0, "diff", "d")
		if !strings.Contains(diff, "--- d/a\n+++ d/a\n@@ -1 +1 @@\n-1\n+2\n") || strings.Contains(diff, "e/b") {
			t.Errorf("%s", diff)
		}
		w.review(0, "apply", "d", "f/g")
		if now := w.outsideSh("cat d/a d/new e/b f/g/h"); now != "2\n2\n1\n2\n" {
			t.Errorf("%s", now)
		}
		if left := w.review(0, "diff", "--stat"); left != "modified  e/b\n" {
			t.Errorf("%q", left)
		}
		if r := w.carrel("review", "apply", "nothing"); r.code != 125 {
			t.Errorf("%s", r)
		}
		id := strings.Fields(strings.Split(w.review(0, "list"), "\n")[1])[0]
		w.review(0, "drop", id)
		if w.read(w.project+"/e/b") != "1\n" || !strings.Contains(w.review(0, "list"), "there is no layer") {
			t.Error("dropped, and something is there")
		}
	})
}

// TestLayerOutsideTheProject: what else is opened for writing has a layer too, and nothing passes by.
func TestLayerOutsideTheProject(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.litter = true
		other := w.home + "/other"
		w.mkdir(other, 0o755)
		w.write(other+"/x", "1")
		w.outsideSh("mkdir -p closed/open; echo 1 > closed/open/f")
		w.sh(`echo 2 > "$HOME/other/x"; echo 2 > closed/open/f; echo 2 > "$HOME/other/y"`, "--review", "--write", other, "--read",
			"./closed", "--write", "./closed/open")
		if w.read(other+"/x") != "1" || exists(other+"/y") || w.read(w.project+"/closed/open/f") != "1\n" {
			t.Fatal("a change has passed by the layer")
		}
		w.review(0, "apply")
		if w.read(other+"/x") != "2\n" || w.read(other+"/y") != "2\n" || w.read(w.project+"/closed/open/f") != "2\n" {
			t.Error("not applied")
		}
	})
}

// TestLayerRefused: where no layer can hold what is asked for nothing starts, and the reason is told.
func TestLayerRefused(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := plainLayers(t, p)
		w.litter = true
		w.write(w.outside+"/file", "1")
		for _, tt := range []struct {
			args []string
			want string
		}{
			{[]string{"run", "--review", "--history", "on", "--", "touch", "x"}, "two ways"},
			{[]string{"run", "--review", "--backend", "none", "--", "touch", "x"}, "draft"},
			{[]string{"run", "--review", "--engine", "landlock", "--", "touch", "x"}, "draft"},
			{[]string{"run", "--review", "--write", w.outside + "/file", "--", "touch", "x"}, "a layer lies over directories"},
			{[]string{"run", "--review", "--write", w.home + "/.local", "--", "touch", "x"}, "layer would lie in"},
			{[]string{"start", "desk", "--history", "draft"}, "carrel run --review"},
			{[]string{"review", "apply"}, "has no layer to review"},
			{[]string{"review", "diff", "abcdef"}, "has no layer"},
			{[]string{"review", "drop"}, "which layer?"},
		} {
			if r := w.carrel(tt.args...); r.code != 125 || !strings.Contains(r.err, tt.want) {
				t.Errorf("%q: want %q: %s", tt.args, tt.want, r)
			}
		}
		if exists(w.project + "/x") {
			t.Error("it has run")
		}
		if list := w.review(0, "list"); !strings.Contains(list, "there is no layer") {
			t.Errorf("%s", list)
		}
	})
}
