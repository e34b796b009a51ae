//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// disputed makes a run in the furnished project and then, outside, changes what
// the run left: edited, replaced, removed, made where it removed, put into what
// it made. It gives the trees before the run and now.
func (w *world) disputed() (before, now scene) {
	w.t.Helper()
	w.furnish()
	before = w.scene()
	w.sh("sed -i s/int/long/ src/f1[0-9].c; rm src/f20.c src/f21.c; mv src/f22.c src/moved; mkdir made; echo x > made/x; chmod 600 src/f23.c; echo late > late")
	w.outsideSh(`echo mine > src/f10.c; rm src/f11.c; ln -sf /etc src/f12.c; rm src/f13.c; mkdir src/f13.c; echo mine > src/f20.c
echo mine > made/mine; echo mine >> src/moved; chmod 640 src/f23.c; echo mine > new-of-mine`)
	return before, w.scene()
}

var disputedPaths = []string{"src/f10.c", "src/f11.c", "src/f12.c", "src/f13.c", "src/f20.c", "src/f23.c"}

// undisputed are paths that only the run changed, of the tree before it.
var undisputed = []string{"/src/f14.c", "/src/f19.c", "/src/f21.c", "/late"}

// TestHistoryConflicts: what somebody else changed after a run is listed and not
// touched, or dealt with as it was said; and a redo gives the tree before that.
func TestHistoryConflicts(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		t.Run("refused", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p)
			w.disputed()
			w.askedWrongly(append([]string{"--keep-both", "--skip-conflicts", "--force", fmt.Sprintf("%d paths are not as the steps left them", len(disputedPaths))}, disputedPaths...), "undo")
			if out := w.carrel("undo", "--dry-run"); out.code != 125 || out.out != "" || strings.Count(out.err, "conflict: ") != len(disputedPaths) {
				t.Errorf("a dry run: %s", out)
			}
			before := w.scene()
			w.fine("undo", "--path", "src/f14.c", "--path", "src/f21.c")
			if after := w.scene(); after["/src/f10.c"] != before["/src/f10.c"] || after["/src/f21.c"] == "" || after["/src/f14.c"] == before["/src/f14.c"] {
				t.Errorf("only paths without a conflict: %s", after.differences(before))
			}
		})
		t.Run("skip", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p)
			before, now := w.disputed()
			if out := w.fine("undo", "--skip-conflicts"); !strings.Contains(out, "left alone  made: ") {
				t.Errorf("the directory with a file of the user is not told: %s", out)
			}
			after := w.scene()
			for _, path := range undisputed {
				if after[path] != before[path] {
					t.Errorf("%s is %q, and was %q", path, after[path], before[path])
				}
			}
			for _, path := range disputedPaths {
				if after["/"+path] != now["/"+path] {
					t.Errorf("%s was %q when it was to be left alone, and is %q", path, now["/"+path], after["/"+path])
				}
			}
			if after["/new-of-mine"] != now["/new-of-mine"] || after["/made/mine"] != now["/made/mine"] {
				t.Error("what the run never touched was changed")
			}
			if text := w.read(w.project + "/src/f22.c"); !strings.HasSuffix(text, "mine\n") {
				t.Errorf("a file that the run only renamed has lost the edit: %q", text)
			}
		})
		t.Run("force", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p)
			before, now := w.disputed()
			w.fine("undo", "--force")
			for path, was := range before {
				if got := w.scene()[path]; got != was && path != "" && path != "/src/f22.c" { // the directory has new-of-mine in it
					t.Errorf("%s is %q, and was %q", path, got, was)
				}
			}
			w.fine("redo")
			w.isAgain("a forced undo is taken back", now)
		})
		t.Run("keep both", func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, p)
			before, now := w.disputed()
			would := regexp.MustCompile("(?m)^would be (kept .*)$").FindAllStringSubmatch(w.fine("undo", "--keep-both", "--dry-run"), -1)
			did := w.fine("undo", "--keep-both")
			after := w.scene()
			for _, line := range would {
				_, name, _ := strings.Cut(line[1], " as ")
				if after["/"+name] == "" || !strings.Contains(did, line[1]+"\n") {
					t.Errorf("%q: said before; and then:\n%s", line[1], did)
				}
			}
			if len(would) < 4 {
				t.Errorf("said to be kept: %q", would)
			}
			for path, was := range before {
				if got := after[path]; got != was && !strings.HasSuffix(path, "src") && path != "" && path != "/src/f22.c" && path != "/src/f23.c" { // the user's mode stays
					t.Errorf("%s is %q, and was %q", path, got, was)
				}
			}
			for _, path := range []string{"src/f10.c", "src/f12.c", "src/f13.c", "src/f20.c"} {
				if after["/"+path+".undo-conflict"] != now["/"+path] {
					t.Errorf("%s.undo-conflict is %q, want %q", path, after["/"+path+".undo-conflict"], now["/"+path])
				}
			}
			if out := w.outsideSh("cat made/mine* new-of-mine; tail -1 src/f22.c"); out != "mine\nmine\nmine\n" {
				t.Errorf("a file beside those of the run, and one that it only renamed: %q", out)
			}
		})
	})
}

// TestHistoryExternalEdits: what people do between two runs is nobody's step and
// is not lost, whichever step is taken back.
func TestHistoryExternalEdits(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.furnish()
		w.sh("echo run one > file")
		w.outsideSh("echo by hand > file")
		byHand := w.scene()
		w.sh("echo run two > file; rm src/f1.c")
		w.askedWrongly([]string{"file: it was changed between the steps"}, "undo", "2")
		w.fine("undo")
		w.isAgain("the step after the edit", byHand)
		w.askedWrongly([]string{"file"}, "undo")
		w.fine("undo", "--force")
		if got := w.read(w.project + "/file"); got != "one\nthree\n" {
			t.Errorf("forced: %q", got)
		}
		w.fine("redo")
		w.isAgain("the edit comes back", byHand)
		// What the run had left, put back byte for byte, is in nobody's way; other
		// bytes are, also where there are as many, and the time says nothing.
		left := w.scene()
		w.sh("echo same > src/f3.c")
		w.outsideSh("x=$(cat src/f3.c); echo other > src/f3.c; echo $x > src/f3.c")
		w.fine("undo")
		w.isAgain("an edit and back", left)
		w.sh("echo same > src/f3.c")
		w.outsideSh("t=$(stat -c %y src/f3.c); echo SAME > src/f3.c; touch -d \"$t\" src/f3.c")
		w.askedWrongly([]string{"src/f3.c"}, "undo")
	})
}

// TestHistoryOfTwoRuns: two runs at once in one project have steps of their own,
// and each is taken back without the other.
func TestHistoryOfTwoRuns(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.furnish()
		w.litter = true // sockets of the runs come and go
		before := w.scene()
		busy := func(name, until string) *exec.Cmd {
			return w.startInside("echo " + name + " > src/" + name + "; echo ready; for i in $(seq 50); do echo $i >> src/" + name + "; mkdir " + name + "$i; done; sed -i s/1/" + name + "/ src/f" + until + ".c; while [ ! -e end-" + name + " ]; do sleep 0.02; done; echo " + name + " >> Makefile; rm end-" + name)
		}
		a, b := busy("a", "10"), busy("b", "11")
		if r := w.carrel("undo", "--step", "1"); r.code != 125 || !strings.Contains(r.err, "running: `carrel ps` lists it, `carrel stop` ends it") && !strings.Contains(r.err, "step 1 is not over") {
			t.Errorf("undo while both run: %s", r)
		}
		if out := w.fine("history"); strings.Count(out, "running") != 2 {
			t.Errorf("history of two runs: %s", out)
		}
		end := func(name string) { // it is there at once, its owner's: the run removes it as soon as it sees it
			w.must(os.Rename(w.write(w.home+"/end", ""), w.project+"/end-"+name))
		}
		end("a")
		w.must(a.Wait())
		if r := w.carrel("undo"); r.code != 125 || !strings.Contains(r.err, "running: `carrel ps` lists it, `carrel stop` ends it") {
			t.Errorf("undo while one of them runs: %s", r)
		}
		end("b")
		w.must(b.Wait())
		list := w.steps()
		if len(list) != 2 || list[0].Run == list[1].Run || list[0].Added != 51 || list[1].Added != 51 {
			t.Fatalf("steps: %+v", list)
		}
		both := w.scene()
		one := fmt.Sprint(list[0].Step)
		w.askedWrongly([]string{"Makefile: step"}, "undo", "--step", one)
		w.fine("undo", "--step", one, "--path", "src", "--path", "a1")
		after := w.scene()
		if after["/src/f10.c"] != before["/src/f10.c"] || after["/src/f11.c"] != both["/src/f11.c"] || after["/a1"] != "" || after["/b1"] == "" || after["/src/a"] != "" {
			t.Errorf("one of two: %s", after.differences(both))
		}
		w.fine("redo")
		again := w.scene()
		again[""] = both[""] // its time, as only some paths were taken back
		if diff := again.differences(both); diff != "" {
			t.Errorf("both again: %s", diff)
		}
		w.fine("undo", "2", "--force") // who wrote last to the Makefile is not who began last
		got := w.scene()
		for path, was := range before {
			if got[path] != was && path != "" {
				t.Errorf("%s is %q, and was %q", path, got[path], was)
			}
		}
	})
}

// TestUndoOfGitConfig: the configuration comes back as far as a program inside could
// have changed it, and no further: not what makes git run something.
func TestUndoOfGitConfig(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("git")
		w.furnish()
		const hook = "git config core.fsmonitor /tmp/mine"
		w.outsideSh(hook)
		w.sh("git config user.name Inside")
		first := w.read(w.project + "/.git/config")
		w.outsideSh("git config --unset core.fsmonitor")
		for _, flags := range [][]string{{"--dry-run", "--force"}, {"--force"}} {
			w.askedWrongly([]string{`core.fsmonitor`, "--write", ".git/config"}, append([]string{"undo"}, flags...)...)
		}
		w.outsideSh(hook)
		if now := w.read(w.project + "/.git/config"); now != first {
			t.Fatalf("the test has to make the same configuration again: %q, %q", now, first)
		}
		w.fine("undo")
		if now := w.read(w.project + "/.git/config"); strings.Contains(now, "Inside") || !strings.Contains(now, "/tmp/mine") {
			t.Errorf("after the undo: %s", now)
		}
	})
}

// TestUndoAfterPartsAndAll: a step that was taken back in parts, and then as a whole, is
// taken back by what made it again last. What --force took away comes back with it.
func TestUndoAfterPartsAndAll(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir d; echo first > d/f")
	w.sh("rm -rf d")
	w.fine("undo", "--path", "d/f")
	w.fine("redo")
	w.fine("undo")
	w.outsideSh("echo own >> d/f")
	w.fine("redo", "--force")
	w.fine("undo")
	if got := w.read(w.project + "/d/f"); got != "first\nown\n" {
		t.Errorf("after the last undo d/f holds %q", got)
	}
}

// TestUndoInAnUnreadableDirectory: a step took the owner's right to read a directory. In
// the next run it is hidden, as there could be secrets in it; its undo gives all back.
func TestUndoInAnUnreadableDirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir -p d/e; echo x > d/e/f")
	w.sh("mv d/e/f d/f; chmod 0 d")
	if r := w.run("--", "ls", "d"); r.code == 0 {
		t.Errorf("the directory is not hidden: %s", r)
	}
	w.fine("undo")
	if got := w.read(w.project + "/d/e/f"); got != "x\n" {
		t.Errorf("after the undo the file holds %q", got)
	}
}

// TestRefusedAfterTheFirstSteps: a redo of several that stops in the middle takes back also
// what it did to a file of which no name is known.
func TestRefusedAfterTheFirstSteps(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir d1 d3; : > d3/f4; echo text > f5; ln f5 d3/h0")
	w.sh("ln d3/f4 e; chmod 444 d3/h0")
	w.sh("mkdir a")
	w.sh("ln e a/e")
	w.fine("undo", "2")
	w.fine("undo")
	w.sh("mv d3 n; rm -rf n")
	w.sh("mv d1 b")
	w.fine("undo", "2")
	const look = "stat -c '%n %a %h' f5 d3/h0 d3/f4; find . | sort"
	before := w.outsideSh(look)
	if r := w.carrel("redo", "5"); r.code == 125 && w.outsideSh(look) != before {
		t.Errorf("refused, and changed from\n%sto\n%s%s", before, w.outsideSh(look), r)
	}
}
