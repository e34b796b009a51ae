//go:build linux

package e2e

import (
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// during starts a step inside, does something outside once it says that it is ready, and
// lets it go on.
func (w *world) during(first, outside, then string) {
	w.t.Helper()
	sign := w.project + "/go-on"
	cmd := w.startInside(first + "; echo ready; while ! test -e go-on; do sleep 0.01; done; rm go-on; " + then)
	w.outsideSh("sleep 0.7; " + outside + "; touch " + sign)
	if err := cmd.Wait(); err != nil {
		w.t.Fatalf("the step: %v", err)
	}
}

// TestHistoryEditedDuringAStep: what a person writes to a file while a step goes on that
// has written it is a conflict for the undo of the step, and can be kept.
func TestHistoryEditedDuringAStep(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/found", "before\n")
		w.write(w.project+"/alone", "before\n")
		w.during("echo step > found; echo step > alone; echo step > made; cp -p found times",
			"for f in found made times; do echo mine >> $f; done", "true")
		edited := []string{"found", "made", "times"}
		if out := w.carrel("undo", "--dry-run"); out.code != 125 || out.out != "" || strings.Count(out.err, "conflict: ") != len(edited) {
			t.Errorf("a dry run: %s", out)
		}
		w.askedWrongly(append(slices.Clone(edited), "3 paths are not as the steps left them"), "undo")
		w.fine("undo", "--keep-both")
		for _, name := range edited {
			at := w.project + "/" + name
			if name == "found" { // what the step made has nothing to come back in its place
				at += ".undo-conflict"
			}
			if got := w.read(at); got != "step\nmine\n" {
				t.Errorf("%s: %q is kept", name, got)
			}
		}
		if got := w.read(w.project+"/found") + w.read(w.project+"/alone"); got != "before\nbefore\n" {
			t.Errorf("what the step found is %q", got)
		}
	})
}

// TestHistoryDestroyedDuringAStep: what a person writes to a file of a step, and the
// step then destroys, is in the history, and its name is told.
func TestHistoryDestroyedDuringAStep(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/found", "before\n")
		names := []string{"found", "made", "again", "over"}
		w.during("for f in "+strings.Join(names, " ")+"; do echo step > $f; done; echo new > new",
			"for f in "+strings.Join(names, " ")+"; do echo mine-$f >> $f; done", "rm found made; echo step > again; mv new over")
		told := w.fine("show", "1")
		for _, name := range names {
			kept := regexp.MustCompile(`(?m)^edit ` + name + ` \(.*kept as (objects/[^)]+)\)$`).FindStringSubmatch(told)
			if kept == nil {
				t.Errorf("%s is not told: %s", name, told)
				continue
			}
			if got := w.outsideSh("cat ~/.local/state/carrel/projects/*/history/" + kept[1]); got != "step\nmine-"+name+"\n" {
				t.Errorf("%s: %q is kept", name, got)
			}
		}
		if out := w.fine("history", "verify"); !strings.Contains(out, " 0 faults") {
			t.Errorf("verify: %s", out)
		}
		w.fine("history", "gc")
		if out := w.fine("history", "verify"); !strings.Contains(out, "5 files kept: 0 faults") {
			t.Errorf("after a collection: %s", out)
		}
	})
}

// strangers are files that a person puts, while a step goes on, where nothing is that the
// step knows, or something of another kind; the step then destroys them.
var strangers = []struct{ name, first, outside, then string }{
	{"removed", "rm removed", "echo mine-removed > removed", "rm removed"},
	{"written", "rm written", "echo mine-written > written", "echo step > written"},
	{"over", "rm over; echo new > new", "echo mine-over > over", "mv new over"},
	{"d/old", "mkdir d", "echo mine-d/old > d/old", "rm -rf d"},
	{"e/file", "mkdir e", "echo mine-e/file > e/file", "echo step > e/file"},
	{"f/deep/file", "mkdir f", "mkdir f/deep; echo mine-f/deep/file > f/deep/file", "rm -rf f"},
	{"link", "ln -s nowhere link", "rm link; echo mine-link > link", "rm link"},
	{"pipe", "mkfifo pipe", "rm pipe; echo mine-pipe > pipe", "rm pipe"},
	{"dir", "mkdir dir", "rmdir dir; echo mine-dir > dir", "rm dir"},
	{"twice", "rm twice", "echo mine-twice > twice", "rm twice; echo step > twice; rm twice"},
}

// TestHistoryStrangersDuringAStep: what a person puts where a step knows of nothing is in
// the history when the step destroys it, and is a conflict.
func TestHistoryStrangersDuringAStep(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		var first, outside, then []string
		for _, c := range strangers {
			if strings.HasPrefix(c.first, "rm ") {
				w.write(w.project+"/"+c.name, "before\n")
			}
			first, outside, then = append(first, c.first), append(outside, c.outside), append(then, c.then)
		}
		w.during(strings.Join(first, "; "), strings.Join(outside, "; "), strings.Join(then, "; "))
		if told := w.fine("history"); !strings.Contains(told, "\n1 ") {
			t.Errorf("the step is not told of: %s", told)
		}
		told := w.fine("show", "1")
		for _, c := range strangers {
			kept := regexp.MustCompile(`(?m)^edit `+c.name+` \(.*kept as (objects/[^)]+)\)$`).FindAllStringSubmatch(told, -1)
			if len(kept) != 1 {
				t.Errorf("%s is told %d times: %s", c.name, len(kept), told)
				continue
			}
			if got := w.outsideSh("cat ~/.local/state/carrel/projects/*/history/" + kept[0][1]); got != "mine-"+c.name+"\n" {
				t.Errorf("%s: %q is kept", c.name, got)
			}
		}
		if out := w.carrel("undo"); out.code != 125 || !strings.Contains(out.err, "conflict: ") {
			t.Errorf("an undo: %s", out)
		}
		if out := w.fine("history", "verify"); !strings.Contains(out, " 0 faults") {
			t.Errorf("verify: %s", out)
		}
		w.fine("undo", "--keep-both")
		for _, c := range strangers {
			if got := w.outsideSh("grep -rlx 'mine-" + c.name + "' . | wc -l"); got != "1\n" {
				t.Errorf("%s is in %s files after the undo", c.name, got)
			}
		}
		for _, name := range []string{"removed", "written", "over", "twice"} {
			if got := w.read(w.project + "/" + name); got != "before\n" {
				t.Errorf("%s: %q", name, got)
			}
		}
	})
}

// TestHistoryNewFileWhereAStepLeftNone: what a person makes under a name that the step
// had moved away or removed is not the step's, and is kept.
func TestHistoryNewFileWhereAStepLeftNone(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		names := []string{"moved", "gone", "passing"}
		w.write(w.project+"/moved", "before\n")
		w.write(w.project+"/gone", "before\n")
		w.during("mv moved to; rm gone; echo step > passing; rm passing", "for f in moved gone passing; do echo mine >> $f; done", "true")
		w.askedWrongly([]string{"moved", "gone", "2 paths are not as the steps left them"}, "undo")
		for _, name := range names {
			if got := w.read(w.project + "/" + name); got != "mine\n" {
				t.Errorf("%s after a refusal: %q", name, got)
			}
		}
		w.fine("undo", "--keep-both")
		for _, name := range names[:2] {
			if got := w.read(w.project+"/"+name) + w.read(w.project+"/"+name+".undo-conflict"); got != "before\nmine\n" {
				t.Errorf("%s and what is beside it: %q", name, got)
			}
		}
		if got := w.read(w.project + "/passing"); got != "mine\n" {
			t.Errorf("passing: %q", got)
		}
	})
}

// TestHistoryEditedWhereNotWritten: what a person writes to a file of which a step changes
// only names, mode or times is no change of the step, and an undo leaves it.
func TestHistoryEditedWhereNotWritten(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		kept := []string{"moded", "linked", "stamped", "named"}
		for _, name := range append(kept, "replaced", "removed") {
			w.write(w.project+"/"+name, "before\n")
		}
		w.write(w.project+"/empty", "")
		w.outsideSh("chmod 600 *")
		w.during("chmod 640 moded replaced removed; ln empty empty2; ln linked linked2; touch -d 2001-01-01 stamped; mv named renamed",
			"for f in empty linked2 moded stamped renamed; do echo mine >> $f; done; echo mine > x; mv x replaced; rm removed", "true")
		w.askedWrongly([]string{"stamped", "1 path is not as the steps left them"}, "undo")
		w.fine("undo", "--skip-conflicts")
		for _, name := range kept {
			if got := w.read(w.project + "/" + name); got != "before\nmine\n" {
				t.Errorf("%s: %q", name, got)
			}
		}
		if got := w.read(w.project+"/empty") + w.read(w.project+"/replaced"); got != "mine\nmine\n" {
			t.Errorf("empty and replaced: %q", got)
		}
		if got := w.outsideSh("ls; stat -c %a moded"); got != "empty\ngo-on\nlinked\nmoded\nnamed\nreplaced\nstamped\n600\n" {
			t.Errorf("what is there: %s", got)
		}
	})
}

// TestHistoryEditedWithItsTimes: an edit that leaves size and times as they were is found
// by the content, also behind a newer step that has renamed the file.
func TestHistoryEditedWithItsTimes(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, when := range []string{"between", "after"} {
			w := newWorld(t, p)
			w.write(w.project+"/f", "before\n")
			w.outsideSh("ln f g")
			edit := func(name string) {
				w.outsideSh("touch -r " + name + " ../time; printf %s mine 1<>" + name + "; touch -r ../time " + name)
			}
			w.fine("run", "--", "sh", "-c", "echo step > f")
			if when == "between" {
				edit("f")
			}
			w.fine("run", "--", "mv", "f", "to")
			if when == "after" {
				edit("to")
			}
			w.askedWrongly([]string{"to", "1 path is not as the steps left them"}, "undo", "2")
			w.fine("undo", "2", "--skip-conflicts")
			if got := w.outsideSh("cat f g; ls"); got != "mine\nmine\nf\ng\n" {
				t.Errorf("edited %s: %q", when, got)
			}
		}
	})
}

// TestChangedByANameWithinReach: what a step does to its own file by one name is its own,
// though another name is in a directory that may not be searched.
func TestChangedByANameWithinReach(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.sh("mkdir d; echo text > d/a; ln d/a b; sleep 0.1; chmod 0 d; chmod 200 b; echo more >> b; chmod 700 d")
	if got := w.outsideSh("chmod 600 b; cat b"); got != "text\nmore\n" {
		t.Errorf("b holds %q", got)
	}
}

// TestEditAfterTheLastKnownName: a step writes to a file by one name and removes that. What a
// person writes during the step by another name, which the step does not know, is theirs.
func TestEditAfterTheLastKnownName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.litter = true
	w.outsideSh(": > f")
	w.sh("ln f d")
	cmd := w.startInside("echo run >> d; rm d; sleep 0.1; echo ready; read -r line || true")
	w.outsideSh("sleep 0.3; echo own >> f")
	w.must(cmd.Process.Signal(syscall.SIGINT))
	_ = cmd.Wait()
	r := w.carrel("undo")
	if got := w.read(w.project + "/f"); got != "run\nown\n" || r.code != 125 {
		t.Errorf("after an undo that was to be refused the file holds %q: %s", got, r)
	}
	w.fine("undo", "--keep-both")
	if out := w.outsideSh("cat *"); !strings.Contains(out, "own") {
		t.Errorf("what a person wrote is gone: %q", out)
	}
}

// TestHistoryAfterARefusedOpen: an open for writing that the mode forbids destroys nothing, so
// that what the file held is kept when it is removed later.
func TestHistoryAfterARefusedOpen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir d; echo precious > d/a; ln d/a b; echo more > c")
	r := w.run("--", "sh", "-c", "chmod 0 d/a c; for f in d/a c; do ! echo x >> $f || exit 9; done; rm -r d b c")
	if r.code != 0 || strings.Contains(r.err, "NOT kept") {
		t.Fatalf("%s", r)
	}
	w.fine("undo")
	if out := w.outsideSh("cat d/a b c; test d/a -ef b && echo one"); out != "precious\nprecious\nmore\none\n" {
		t.Errorf("the undo gave back %q", out)
	}
}
