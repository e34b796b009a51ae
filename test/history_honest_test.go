//go:build linux

package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// TestUndoSaysWhatItCannotRestore shows that a path that does not come back makes the
// exit status 1, is named, and is not counted as done.
func TestUndoSaysWhatItCannotRestore(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.sh(": > f")
		w.sh("echo data > f")
		w.sh("ln f g")
		w.fine("undo", "2")
		out := w.carrel("redo", "2")
		var done struct {
			Done         bool
			Unrestorable []struct{ Path string }
		}
		if _, err := os.Lstat(filepath.Join(w.project, "g")); err == nil {
			if out.code != 0 {
				t.Errorf("all was made again: %s", out)
			}
			return
		}
		if out.code != 1 || !strings.Contains(out.out, "NOT restored  g: ") {
			t.Errorf("g is missing after a redo: %s", out)
		}
		w.fine("undo", "--force")
		out = w.carrel("redo", "--force", "--json")
		if err := json.Unmarshal([]byte(out.out), &done); err != nil || done.Done != (out.code == 0) || done.Done == (len(done.Unrestorable) > 0) {
			t.Errorf("%v %+v: %s", err, done, out)
		}
	})
}

// TestUndoKeepsAnEditOfAnEmptyFile shows that what a person writes to an empty file, by
// one of its names, survives the undo of a step that only removed another name, in the
// project or out of it.
func TestUndoKeepsAnEditOfAnEmptyFile(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.outsideSh(": > e; ln e y; : > alone; ln alone ../log")
		w.sh("rm y alone")
		w.outsideSh("echo mine >> e; echo mine >> ../log")
		w.fine("undo")
		for _, name := range []string{"e", "y", "alone", "../log"} {
			if got, err := os.ReadFile(filepath.Join(w.project, name)); err != nil || string(got) != "mine\n" {
				t.Errorf("%s holds %q, %v", name, got, err)
			}
		}
	})
}

// TestDryRunEndsAsTheUndo shows that a dry run has the exit status of the undo and names
// the same paths, also where that restores everything but files of which the copy is torn.
func TestDryRunEndsAsTheUndo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("echo first > f; echo first > g")
	w.sh("echo more >> f; rm g")
	w.outsideSh("for f in $(find ~/.local/state/carrel -path '*/objects/*' -links 1 -type f); do truncate -s 2 $f; done")
	for _, mode := range []string{"", "--skip-conflicts", "--keep-both", "--force"} {
		want := 1
		if mode == "" {
			want = 125
		}
		for _, dry := range []string{"--dry-run", ""} {
			out := w.carrel(strings.Fields("undo " + mode + " " + dry)...)
			said := out.out + out.err
			if out.code != want || !strings.Contains(said, "f: its content in the history is missing") || !strings.Contains(said, "g: its content in the history is missing") {
				t.Errorf("undo %s %s: %s", mode, dry, out)
			}
			if got := w.read(w.project + "/f"); got != "first\nmore\n" {
				t.Errorf("after undo %s %s: %q", mode, dry, got)
			}
		}
	}
}

// TestUndoNamesWhatHasNoDirectory shows that a path is named with a reason, and the exit
// status is 1, where the user has removed the directory that something belongs in, or
// where the step had moved it.
func TestUndoNamesWhatHasNoDirectory(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, before, step, after, mode, want string }{
		{"replaced", "mkdir -p d/e; echo one > d/e/f", "echo two > d/e/f; chmod 600 d/e/f", "rm -r d; echo x > d", "--force", "NOT restored  d/e/f: the directory that it was in is not there"},
		{"moved", "echo keep > old", "mkdir d; mv old d/new", "rm -r d", "--keep-both", "NOT restored  old: it was removed outside of the steps, and no copy of it was kept"},
		{"moved among others", "echo keep > old", "mkdir d; echo 1 > d/f; mv old d/new", "rm -r d; mkdir d; echo 2 > d/f", "--keep-both", "NOT restored  old: "},
		{"removed", "mkdir d; echo keep > d/f; echo keep > d/g", "echo two > d/f; rm d/g", "rm -r d", "--keep-both", "NOT restored  d/g: the directory that it was in is not there"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.outsideSh(c.before)
			w.sh(c.step)
			w.outsideSh(c.after)
			before := w.scene()
			for _, dry := range []string{" --dry-run", ""} {
				if out := w.carrel(strings.Fields("undo " + c.mode + dry)...); out.code != 1 || !strings.Contains(out.out, c.want) {
					t.Errorf("undo %s: %s", c.mode+dry, out)
				}
			}
			w.isAgain("nothing can come back", before)
		})
	}
}

// TestUndoKeepsBothOfWhatTheUserRemoved shows that what the step had moved and written
// to comes back although the user removed the directory that the step had made.
func TestUndoKeepsBothOfWhatTheUserRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("echo keep > old")
	w.sh("mkdir d; mv old d/new; echo more >> d/new")
	w.outsideSh("rm -r d")
	w.fine("undo", "--keep-both")
	if got := w.read(w.project + "/old"); got != "keep\n" {
		t.Errorf("old holds %q", got)
	}
}

// TestUndoThatLostIdentityIsNotDone shows that a second undo names the files that came
// back as files of their own, and does not count as done.
func TestUndoThatLostIdentityIsNotDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mount("tmpfs", w.base+"/other", "size=64m,mode=0700")
	defer w.unmountAll()
	w.configured("history: {dir: " + w.base + "/other/kept}")
	w.outsideSh("echo one > f; ln f g; ln f ../h")
	w.sh("rm f g")
	for _, args := range []string{"undo --json --dry-run", "undo --json", "undo --json --dry-run", "undo --json", "undo --json --keep-both"} {
		out := w.carrel(strings.Fields(args)...)
		var told struct {
			Done         bool
			Unrestorable []struct{ Path string }
		}
		if err := json.Unmarshal([]byte(out.out), &told); err != nil || out.code != 1 || told.Done || len(told.Unrestorable) != 2 {
			t.Errorf("%s: %v: %s", args, err, out)
		}
		if args != "undo --json" {
			continue
		}
		if got := w.read(w.project + "/f"); got != "one\n" {
			t.Errorf("f holds %q", got)
		}
	}
}

// TestRedoThatLostIdentityIsNotDone shows that a redo does not pass a copy off as the file
// that lives on beside the project, and that the next undo takes the copy away.
func TestRedoThatLostIdentityIsNotDone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mount("tmpfs", w.base+"/other", "size=64m,mode=0700")
	defer w.unmountAll()
	w.configured("history: {dir: " + w.base + "/other/kept}")
	w.outsideSh("mkdir d; echo one > d/f; ln d/f ../f")
	w.sh("ln d/f e; echo two > g")
	w.outsideSh("rm -r d; ln g ../g")
	w.fine("undo")
	if out := w.carrel("redo"); out.code != 1 || strings.Count(out.out, "NOT restored") != 2 || !strings.Contains(out.out, "a file of its own") {
		t.Errorf("redo: %s", out)
	}
	if got := w.outsideSh("cat e g; stat -c %h e g ../f ../g"); got != "one\ntwo\n1\n1\n1\n1\n" {
		t.Errorf("after the redo: %q", got)
	}
	w.fine("undo")
	if got := w.outsideSh("ls; cat ../f ../g"); got != "one\ntwo\n" {
		t.Errorf("after the undo: %q", got)
	}
}

// TestUndoLeavesARepositoryWithOtherWorkWhole shows that a repository that a step made
// stays usable if a person has committed, tagged or staged something in it, and goes if
// not, also in an undo of several steps.
func TestUndoLeavesARepositoryWithOtherWorkWhole(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, after, undo string }{
		{"commit", "echo b > b; git add b; git commit -qm two", "undo 2 --keep-both"},
		{"commit, skipped", "echo b > b; git add b; git commit -qm two", "undo 2 --skip-conflicts"},
		{"tag", "git tag v1", "undo 2"},
		{"none", "", "undo 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.need("git")
			w.sh("git init -q .; git config user.email a@b; git config user.name n")
			w.sh("echo a > a; git add a; git commit -qm one")
			w.outsideSh(c.after)
			log := w.outsideSh("git log --oneline --all")
			would := w.fine(strings.Fields(c.undo + " --dry-run")...)
			did := w.fine(strings.Fields(c.undo)...)
			if strings.ReplaceAll(would, "would be ", "") != did {
				t.Errorf("the dry run said\n%sand the undo\n%s", would, did)
			}
			if c.after == "" {
				if left := w.outsideSh("ls -A"); left != "" {
					t.Errorf("left: %s", left)
				}
				return
			}
			if !strings.Contains(did, "left alone  .git: ") {
				t.Errorf("the repository is not named: %s", did)
			}
			if got := w.outsideSh("git fsck --strict && git log --oneline --all"); got != log {
				t.Errorf("the log was\n%sand is\n%s", log, got)
			}
		})
	}
}

// TestUndoOfStepsThatOnlyPassedAFile shows that an undo of several steps does what its dry
// run says where a step in the middle changed something that was not there before the first
// step, and is gone or was never kept.
func TestUndoOfStepsThatOnlyPassedAFile(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ last, outside string }{
		"removed by the user": {"chmod 600 d/new", "rm d/new"},
		"content not kept":    {"chmod 0 d/new; touch -r d/new ../time; printf x 1<> d/new; touch -r ../time d/new", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.outsideSh("mkdir d; echo kept > f")
			before := w.outsideSh("find . -type f -exec cat {} + -printf '%p %m\n'")
			w.sh("mv f g")
			w.sh("echo new > d/new")
			w.sh(c.last)
			w.outsideSh(c.outside)
			would := w.fine("undo", "3", "--dry-run")
			did := w.fine("undo", "3")
			if strings.ReplaceAll(would, "would be ", "") != did {
				t.Errorf("the dry run said\n%sand the undo\n%s", would, did)
			}
			if got := w.outsideSh("find . -type f -exec cat {} + -printf '%p %m\n'"); got != before {
				t.Errorf("the files were\n%sand are\n%s", before, got)
			}
		})
	}
}

// TestRedoOfManyStepsIsWhole shows that a redo of undos that passed each other's
// directories gives the tree before them, and changes nothing where it is refused.
func TestRedoOfManyStepsIsWhole(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir -p d0/d2 d1 d3; : > d1/f2; : > d1/f5; ln d1/f5 d0/d2/h0; touch -d 2024-01-01 d1/f2")
	w.sh("touch -r d1/f2 ../time; printf x 1<> d1/f2; touch -r ../time d1/f2")
	w.sh("rm -rf d0")
	w.sh("chmod 0 d1")
	w.fine("undo", "2")
	w.sh("rm -rf d1; mv d0/d2 d3/x")
	w.fine("undo", "2")
	w.fine("redo", "4")
	if got := w.outsideSh("find . -mindepth 1 | sort"); got != "./d3\n./d3/x\n" {
		t.Errorf("after the redo: %s", got)
	}
}

// TestUndoOfAPathTakesWhatWasInIt shows that --path takes back what the step changed in a
// directory that it moved away afterwards.
func TestUndoOfAPathTakesWhatWasInIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir a b; printf first > a/f; printf other > b/c; printf same > b/e")
	w.sh("printf FIRST 1<> a/f; printf more >> b/e; mv a x; mv b/c a; mv x b/c")
	w.fine("undo", "--path", "a")
	if got := w.read(w.project + "/a/f"); got != "first" {
		t.Errorf("a/f holds %q", got)
	}
	if got := w.read(w.project + "/b/c"); got != "other" {
		t.Errorf("b/c holds %q", got)
	}
	if got := w.read(w.project + "/b/e"); got != "samemore" {
		t.Errorf("b/e, which was not asked for, holds %q", got)
	}
}

// TestRedoAfterAForcedUndoOfALink shows that undos of a file that lives on by a name that no
// step has met are redone together as they are one by one.
func TestRedoAfterAForcedUndoOfALink(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir d1 d3; : > d3/f6; ln d3/f6 d1/h1")
	w.sh("echo written >> d1/h1")
	w.sh("printf W 1<> d1/h1; unlink d1/h1")
	after := w.outsideSh("find . -type f -exec cat {} + -printf '%p %n %t\n'")
	w.fine("undo", "--force")
	w.fine("undo")
	w.fine("redo", "2")
	if got := w.outsideSh("find . -type f -exec cat {} + -printf '%p %n %t\n'"); got != after {
		t.Errorf("the files were\n%sand are\n%s", after, got)
	}
}

// TestFailedWriteLosesNothing shows that a write that was refused to a file that may not be
// read either is no change, though the step goes on with that file.
func TestFailedWriteLosesNothing(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"one name":  "mkdir d; echo text > f; chmod 0 f",
		"two names": "mkdir d; echo text > f; ln f d/other; chmod 0 f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			const look = "cat ../f 2> /dev/null; find . -type f -printf '%p %m %n %s %t\n' | sort"
			w.outsideSh(first)
			before := w.outsideSh(look)
			if r := w.run("--", "sh", "-c", "truncate -s 3 f; printf x 1<> f; mv f d/new"); r.code != 0 || strings.Contains(r.err, "NOT kept") {
				t.Fatal(r)
			}
			after := w.outsideSh(look)
			w.fine("undo")
			if got := w.outsideSh(look); got != before {
				t.Errorf("the files were\n%sand are\n%s", before, got)
			}
			w.fine("redo")
			if got := w.outsideSh(look); got != after {
				t.Errorf("the files were\n%sand are\n%s", after, got)
			}
		})
	}
}

// TestRefusedRedoTakesItselfBack shows that a redo that cannot be finished gives a file the
// names back that it dropped, though the other one is in a directory that was moved.
func TestRefusedRedoTakesItselfBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir -p d0/d2 d1 d3; echo text > d1/f; ln d1/f d0/d2/h")
	w.sh("rm -rf d0")
	w.sh("mv d1 c")
	w.fine("undo", "2")
	w.sh("rm -rf d1; mv d0/d2 d3/x")
	w.fine("undo")
	const look = "find . -printf '%p %m %n %t\n' | sort; cat d1/f"
	before := w.outsideSh(look)
	if r := w.carrel("redo", "3"); r.code == 0 {
		t.Fatal("this test wants a redo that is refused at its end")
	}
	if got := w.outsideSh(look); got != before {
		t.Errorf("before the redo that was refused\n%safter it\n%s", before, got)
	}
}

// TestUndoAndRedoAreWhole holds sequences in which nobody but a run changes anything: undo
// gives the tree before it, and redo the one after it.
func TestUndoAndRedoAreWhole(t *testing.T) {
	t.Parallel()
	const failed = `python3 -c 'import os; os.rename("d", "b")' 2> /dev/null`
	const attribute = `python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.x", b"set")'`
	for name, c := range map[string]struct {
		first string
		steps []string
	}{
		"written by a name that goes, in a directory that moves": {"mkdir b; echo old > e; ln e b/d", []string{"echo new > b/d; rm b/d; mv b c"}},
		"a mode by a name that goes, in a directory that moves":  {"mkdir b; echo old > e; ln e b/d", []string{"chmod 600 b/d; rm b/d; mv b c"}},
		"an attribute by another name of what was written":       {"echo old > a; ln a b", []string{": > a; " + attribute + " b; rm a"}},
		"times of a file that loses its two names":               {"echo old > d; ln d e", []string{"touch -hd @1000000000 e; rm d e"}},
		"a directory that cannot replace a file":                 {"echo old > b", []string{"ln b e; mkdir d; " + failed + "; true", "rm b e"}},
		"a file that may not be read when it goes":               {"mkdir d; : > d/f", []string{"echo one >> d/f", "chmod 0 d/f; rm -rf d"}},
		"a written file that lives on by a name elsewhere":       {"mkdir d; : > d/f; ln d/f ../f", []string{"echo one >> d/f", "rm -rf d"}},
		"written, and all that is known of it removed":           {"mkdir d; echo old > d/f; ln d/f ../f", []string{"echo new > d/f; rm -rf d"}},
		"two names that are replaced one by one":                 {"echo old > e; ln e b", []string{"echo one > b; echo x > t; mv t b", "echo y > t; mv t e"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			const look = "find . -type f -exec cat {} + -printf '%p %m\n' | sort; find . | sort; " +
				`python3 -c 'import os; print([(p, a) for p in sorted(os.listdir(".")) for a in os.listxattr(p, follow_symlinks=False)])'`
			w.outsideSh(c.first)
			trees := []string{w.outsideSh(look)}
			for _, s := range c.steps {
				w.sh(s)
				trees = append(trees, w.outsideSh(look))
			}
			last := len(c.steps)
			at := func(n int, after string) {
				t.Helper()
				if got := w.outsideSh(look); got != trees[n] {
					t.Errorf("after %s the tree was to be\n%sand is\n%s", after, trees[n], got)
				}
			}
			for range 2 { // what an undo and a redo have left is met again
				w.fine("undo", strconv.Itoa(last))
				at(0, "undo of all")
				w.fine("redo", strconv.Itoa(last))
				at(last, "redo of all")
				for n := last - 1; n >= 0; n-- {
					w.fine("undo")
					at(n, "undo")
				}
				for n := range c.steps {
					w.fine("redo")
					at(n+1, "redo")
				}
			}
		})
	}
}

// TestUndoOfASetIDFile shows that a set-id bit, which no undo gives back, is in the way of
// none.
func TestUndoOfASetIDFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("echo old > f; chmod 2755 f")
	w.sh("ln -s c b")
	w.sh("echo more >> f")
	w.fine("undo", "2")
	if got := w.outsideSh("cat f; stat -c %a f; ls"); got != "old\n755\nf\n" {
		t.Errorf("after the undo: %q", got)
	}
}

// TestUndoAfterACallThatFailed shows that what a later step failed to replace is still what
// its step left, though it is too large to be told by a sum.
func TestUndoAfterACallThatFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.sh("mkdir e; truncate -s 2M e/b; echo x >> e/b")
	if r := w.run("--", "python3", "-c", "import os; os.rename('e', 'e/b')"); r.code == 0 {
		t.Fatal("this test wants a rename that fails")
	}
	w.fine("undo")
	if got := w.outsideSh("find . -mindepth 1"); got != "" {
		t.Errorf("after the undo there is %q", got)
	}
}

// TestUndoTellsOfTimes: a step sets the time of a directory, and another program sets another
// one. The undo leaves that, and says so; it is silent of times that names in it have changed.
func TestUndoTellsOfTimes(t *testing.T) {
	told := "left alone  both: its time was changed after the step, and is not set back\n" +
		"left alone  set: its time was changed after the step, and is not set back\n"
	for flag, c := range map[string]struct {
		left string
		back int // times that are those of before
	}{"": {told, 0}, "--keep-both": {told, 0}, "--skip-conflicts": {told, 0}, "--force": {"", 3}} {
		t.Run("undo "+flag, func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh("mkdir set both names; touch -d 2001-01-01 set both names")
				w.sh("touch -d 2002-02-02 set both; echo x > both/made; echo y > names/made")
				w.outsideSh("touch -d 2003-03-03 set both; touch names/mine; rm names/mine; touch -d 2003-03-03 names")
				times := "stat -c '%n %y' set both names"
				before := w.outsideSh(times)
				for _, args := range []string{"undo --dry-run ", "undo "} {
					r := w.plain(w.bin, strings.Fields(args+flag)...)
					if r.code != 0 || !strings.Contains(r.out, c.left) || strings.Count(r.out, "left alone") != strings.Count(c.left, "left alone") {
						t.Errorf("%s%s: %s", args, flag, r)
					}
				}
				if got := w.outsideSh(times); strings.Count(got, "2001-01-01") != c.back {
					t.Errorf("%s: %s", flag, got)
				}
				if r := w.plain(w.bin, "redo"); r.code != 0 || w.outsideSh(times) != before {
					t.Errorf("%s: %s\n%s, want %s", flag, r, w.outsideSh(times), before)
				}
			})
		})
	}
}
