//go:build linux

package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// replacements are files that a person saves, by a rename or in place, where the step has
// made something, holds something open, or has brought it, and that the step destroys by
// another way. Each is worked on in a directory of its own; what was there comes back.
var replacements = []struct{ name, setup, first, outside, then, before string }{
	{"held open", "echo b > f", "sleep 3 3>> f & sleep .1", "echo MINE > u; mv u f", "rm f", "f:b"},
	{"held open, never written", "echo b > f", "sleep 3 3<> f & sleep .1", "echo MINE > u; mv u f", "echo n > n; mv n f", "f:b"},
	{"held open, a link", "echo b > f", "sleep 3 3>> f & sleep .1", "ln -sfn MINE f", "rm f", "f:b"},
	{"made by mknod", "true", "python3 -c 'import os; os.mknod(\"f\")'", "echo MINE > f", "rm f", ""},
	{"made by mknod, saved", "true", "python3 -c 'import os; os.mknod(\"f\")'", "echo MINE > u; mv u f", "echo n > n; mv n f", ""},
	{"made by link", "echo a > a", "ln a f", "echo MINE > u; mv u f", "rm f", "a:a"},
	{"made by link, written", "echo a > a", "ln a f", "echo MINE > u; mv u f", "echo s2 > f", "a:a f:s2"}, // their file stays, with what the step wrote
	{"two names, by the other one", "echo b > a; ln a b", "echo step > a", "echo MINE >> b", "rm a b", "a:b b:b"},
	{"two names, one of the person's", "echo b > a", "echo step > a", "echo MINE > a; ln a z; rm a", "rm z", "a:b"},
	{"two names, one of the step's", "echo b > f", "echo s >> f", "echo MINE >> f", "ln f g; rm f g", "f:b"},
	{"linked away", "echo b > f", "ln f f2", "echo MINE > u; mv u f", "echo n > n; mv n f", "f:b"},
	{"a directory renamed there", "mkdir d", "mv d f", "rmdir f; echo MINE > f", "rm f", "d:"},
	{"a directory in its place", "true", "echo s > f", "rm f; mkdir f; echo MINE > f/y", "mv f g; rm -r g", ""},
	{"moved by the person", "echo b > a", "echo s > a", "echo MINE > a; mv a z", "rm z", "a:b"},
	{"a link of the person's", "true", "mkdir d", "ln -s MINE d/l", "rm -r d", ""},
}

// TestHistoryReplacedDuringAStep: what lies at a name is known by its inode: a file that a
// person puts in place of one that the step knows is kept and told when the step destroys it.
func TestHistoryReplacedDuringAStep(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		var all [4][]string
		for i, c := range replacements {
			for n, part := range []string{c.setup, c.first, c.outside, c.then} {
				all[n] = append(all[n], fmt.Sprintf("cd %d; %s; cd ..", i, part))
			}
			w.outsideSh(fmt.Sprintf("mkdir %d", i))
		}
		w.outsideSh(strings.Join(all[0], "; "))
		w.during(strings.Join(all[1], "; "), strings.Join(all[2], "; "), strings.Join(all[3], "; "))
		told := w.fine("show", "1")
		if out := w.carrel("undo"); out.code != 125 || strings.Count(out.err, "conflict: ") < len(replacements) {
			t.Errorf("an undo: %s", out)
		}
		w.fine("undo", "--keep-both")
		for i, c := range replacements {
			if strings.Count(told, fmt.Sprintf("\nedit %d/", i)) == 0 {
				t.Errorf("%s: it is not told: %s", c.name, told)
			}
			if got := w.outsideSh(fmt.Sprintf("find %d -name '*.undo-conflict*' | while read -r f; do readlink $f || cat $f; done", i)); strings.Count(got, "MINE") != 1 {
				t.Errorf("%s: beside: %q", c.name, got)
			}
			got := w.outsideSh(fmt.Sprintf("cd %d; for f in *; do case $f in *.undo-conflict*) ;; *) [ -e $f ] && echo $f:$(cat $f 2> /dev/null) ;; esac; done; true", i))
			if got := strings.Join(strings.Fields(got), " "); got != c.before {
				t.Errorf("%s: %q is there again, not %q", c.name, got, c.before)
			}
		}
		if out := w.fine("history", "verify"); !strings.Contains(out, " 0 faults") {
			t.Errorf("verify: %s", out)
		}
	})
}

// TestHistoryReplacedAtTheEnd: what a person has put in place of what a step made is not
// the step's when that ends, and an undo does not take it.
func TestHistoryReplacedAtTheEnd(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		made := []struct{ name, first, outside string }{
			{"link", "ln a link", "echo mine > u; mv u link"}, {"fifo", "mkfifo fifo", "rm fifo; echo mine > fifo"},
			{"symlink", "ln -s x symlink", "rm symlink; echo mine > symlink"}, {"dir", "mkdir dir", "rmdir dir; echo mine > dir"},
			{"node", "python3 -c 'import os; os.mknod(\"node\")'", "echo mine > node"},
		}
		w.write(w.project+"/a", "a\n")
		var first, outside []string
		for _, m := range made {
			first, outside = append(first, m.first), append(outside, m.outside)
		}
		w.during(strings.Join(first, "; "), strings.Join(outside, "; "), "true")
		for _, undo := range [][]string{{"undo"}, {"undo", "--keep-both"}} {
			out := w.carrel(undo...)
			for _, m := range made {
				if !strings.Contains(out.err, "conflict: "+m.name+": ") {
					t.Errorf("%v: no conflict at %s: %s", undo, m.name, out)
				}
				if got := w.outsideSh("cat " + m.name + "* | grep -c mine"); got != "1\n" {
					t.Errorf("%v: %s is there %s times", undo, m.name, got)
				}
			}
		}
	})
}

// TestHistoryNoEditsByThreads: what threads of a step do to each other's files, where they
// race for the same names, is not listed as an edit of another program.
func TestHistoryNoEditsByThreads(t *testing.T) {
	w := newWorld(t, people()[0])
	w.write(w.project+"/t.py", program("history_replaced/threads.py"))
	for range 4 {
		w.run("--history", "on", "--", "python3", "t.py")
	}
	for step := range 4 {
		if told := w.fine("show", fmt.Sprint(step+1)); strings.Contains(told, "\nedit ") {
			t.Errorf("step %d: %s", step+1, told)
		}
	}
}

// TestHistoryOnAnOverlay: the kernel gives a file of a lower layer another identity when it
// is changed first. That is not listed as an edit of another program.
func TestHistoryOnAnOverlay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	for _, name := range []string{"lower/kept", "lower/d/x", "lower/mode", "lower/old", "lower/over"} {
		w.write(w.outside+"/"+name, "before\n")
	}
	w.outsideSh("mkdir -p " + w.outside + "/upper " + w.outside + "/work")
	w.mount("overlay", w.project, fmt.Sprintf("lowerdir=%[1]s/lower,upperdir=%[1]s/upper,workdir=%[1]s/work", w.outside))
	w.run("--history", "on", "--", "sh", "-c", "echo step >> kept; sleep .3; rm kept; chmod 600 mode; rm mode; mv old new; rm new; chmod 600 over; echo n > n; mv n over; rm -r d")
	if told := w.fine("show", "1"); strings.Contains(told, "\nedit ") {
		t.Errorf("edits without an editor: %s", told)
	}
	w.fine("undo")
	if got := w.outsideSh("cat kept d/x mode old over"); got != strings.Repeat("before\n", 5) {
		t.Errorf("undone: %q", got)
	}
}

// TestHistoryNoEditsByASecondName: a file that is written by two names, of which it got the
// second before it was opened, is not listed as edited by another program.
func TestHistoryNoEditsByASecondName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.run("--history", "on", "--", "python3", "-c", program("history_replaced/a_second_name.py"))
	if told := w.fine("show", "1"); strings.Contains(told, "\nedit ") {
		t.Errorf("edits without an editor: %s", told)
	}
}

// TestUndoModeByASecondName: a step writes to a file by one name, and once that is
// closed changes its mode by the other, which is no edit of another program.
func TestUndoModeByASecondName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.outsideSh("echo x > b; chmod 644 b; ln b c")
	w.run("--history", "on", "--", "python3", "-c", program("history_replaced/mode_by_a_second_name.py"))
	w.fine("undo")
	w.outsideSh(`test "$(stat -c %a,%h b)" = 644,2; test "$(cat c)" = x; test b -ef c`)
}
