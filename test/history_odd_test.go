//go:build linux

package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// odd makes things of all kinds with names of all kinds, and changes all of them
// into one another and back, more than once within a step.
var odd = program("history_odd/odd.py")

// TestUndoOfOddities: whatever became what within a step comes back, whatever it
// is called, for root and for everybody.
func TestUndoOfOddities(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.need("python3")
		prepare := w.script(w.base+"/tool/prepare.py", odd+"for i, n in enumerate(N): make(n, i % 6)\n")
		w.outsideSh("python3 " + prepare)
		before := w.scene()
		body := w.script(w.base+"/tool/odd.py", odd+program("history_odd/odd_steps.py"))
		w.fine("run", "--read", body, "--", "python3", body)
		after := w.scene()
		for range 2 {
			w.fine("undo")
			w.isAgain("undone", before)
			w.fine("redo")
			w.isAgain("made again", after)
		}
		if r := w.carrel("show", "1"); r.code != 0 || strings.Contains(r.out, "\x1b") || strings.Contains(r.out, "\xff") {
			t.Errorf("show: %s", r)
		}
	})
}

// TestUndoBehindSymlinks: a directory that somebody replaces by a link before an
// undo does not lead it out of the project.
func TestUndoBehindSymlinks(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		for _, flag := range []string{"", "--force", "--keep-both", "--skip-conflicts"} {
			w := newWorld(t, p)
			w.outsideSh("mkdir -p d/e " + w.outside + "/t/e; echo before | tee d/f d/e/g d/h; echo mine | tee " + w.outside + "/t/f " + w.outside + "/t/e/g " + w.outside + "/t/h")
			w.sh("echo x > d/f; rm d/e/g; echo new > d/e/new; chmod 600 d/h; mv d/h d/e/h")
			w.outsideSh("mv d away; ln -s " + w.outside + "/t d")
			args := strings.Fields("undo " + flag)
			r := w.carrel(args...)
			if flag == "" && r.code != 125 {
				t.Errorf("undo: %s", r)
			}
			if got := w.outsideSh("cd " + w.outside + "/t; find . -type f | sort | xargs cat; find . | sort | xargs"); got != "mine\nmine\nmine\n. ./e ./e/g ./f ./h\n" {
				t.Errorf("undo %s changed something outside: %q, %s", flag, got, r)
			}
			w.leaveNow()
		}
	})
}

// TestUndoOfTheImmovable: what cannot be changed back is an error that names it,
// and nothing else is changed; when it can be, all of it is.
func TestUndoOfTheImmovable(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		for name, c := range map[string]struct{ stop, free string }{
			"immutable file":           {"chattr +i d/f", "chattr -i d/f"}, // whose time of change is another then
			"immutable directory":      {"chattr +i d", "chattr -i d"},
			"append only":              {"chattr +a d", "chattr -a d"},
			"unreadable directory":     {"chmod 0 d", "chmod 755 d"},
			"unsearchable directory":   {"chmod 600 d", "chmod 755 d"},
			"directory of another one": {"chown 4711 d; chmod 755 d", fmt.Sprintf("chown %d d", p.uid)},
		} {
			t.Run(name, func(t *testing.T) {
				w := newWorld(t, p)
				w.outsideSh("mkdir d; chmod 755 d; echo before | tee a d/f d/g z; touch -d 2001-02-03 a d/f d/g z d")
				before := w.scene()
				w.sh("echo x > a; echo x >> d/f; rm d/g; echo new > d/new; echo x > z")
				after := w.scene()
				asRoot := func(script string) {
					cmd := exec.Command("sh", "-c", script)
					cmd.Dir = w.project
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%s: %v %s", script, err, out)
					}
				}
				asRoot(c.stop)
				stopped := w.scene()
				force := strings.Fields("undo " + map[bool]string{true: "--force"}[name == "immutable file"])
				if dry := w.carrel(append(force, "--dry-run")...); strings.Contains(name, "immutable") || name == "append only" {
					if dry.code != 125 || !strings.Contains(dry.err, "nothing was changed: ") {
						t.Errorf("the dry run: %s", dry)
					}
				}
				r := w.carrel(force...)
				if r.code != 0 {
					w.isAgain("an undo that could not be made", stopped)
				}
				asRoot(c.free)
				if r.code != 0 {
					after["/d"] = w.scene()["/d"]
					w.isAgain("free again", after)
					if r2 := w.carrel(force...); r2.code != 0 {
						t.Fatalf("undo: first %s, then %s", r, r2)
					}
				}
				w.isAgain("undone", before)
			})
		}
	})
}

// TestUndoOfFarTimes: what a file system can say of a time comes back, also
// where 64 bits of nanoseconds cannot hold it.
func TestUndoOfFarTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, people()[0])
	w.outsideSh("mkdir d; echo 1 > late; echo 2 > d/early; ln -s x link; touch -d '2400-01-02 03:04:05.123456789 UTC' late; touch -d '1902-01-02 UTC' d/early; touch -hd '2400-01-01 UTC' link; touch -d '2300-05-06 UTC' d")
	times := func() string { return w.outsideSh("stat -c '%n %y' late d/early link d") }
	before := times()
	w.sh("rm late d/early link; echo 3 > d/late; touch -d '2446-01-01 UTC' d/late")
	after := w.outsideSh("stat -c '%n %y' d/late")
	w.fine("undo")
	if now := times(); now != before {
		t.Errorf("before:\n%snow:\n%s", before, now)
	}
	w.fine("redo")
	if now := w.outsideSh("stat -c '%n %y' d/late"); now != after {
		t.Errorf("before: %snow: %s", after, now)
	}
}

// editor saves the files of a project in turn, in place and by a rename.
var editor = program("history_odd/editor.py")

// TestUndoWhileSomebodySaves: an editor that saves, in place or by a rename, and
// git outside, while steps are taken back and made again: what they wrote is in
// its place, beside it, or comes back by a redo; nothing is half.
func TestUndoWhileSomebodySaves(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.furnish()
	w.sh("for i in $(seq 30); do echo step >> src/f$i.c; done; rm -rf src/deep; mv empty full")
	editor := w.command("python3", w.script(w.base+"/tool/editor.py", editor))
	w.must(editor.Start())
	for i := range 20 {
		verb := []string{"undo", "redo"}[i%2]
		flag := []string{"--force", "--keep-both", "--skip-conflicts", ""}[i/2%4]
		if r := w.carrel(strings.Fields(verb + " " + flag)...); r.code != 0 && r.code != 125 && (r.code != 1 || !strings.Contains(r.out, "NOT restored")) {
			t.Errorf("%s %s: %s", verb, flag, r)
		}
		w.plain("git", "status", "--short")
	}
	w.must(editor.Process.Kill())
	_ = editor.Wait()
	w.fine("history")
	w.fine("history", "gc") // of what undos that were taken back have copied
	// Whoever had opened a file before it was taken back writes into what is kept.
	for line := range strings.Lines(w.carrel("history", "verify").out) {
		if !strings.HasPrefix(line, "other: ") && !strings.Contains(line, " files kept") {
			t.Errorf("verify: %s", line)
		}
	}
	for i := range 30 {
		at := fmt.Sprintf("%s/src/f%d.c", w.project, i+1)
		text := contentText(at)
		if !strings.HasPrefix(text, "saved ") && !strings.HasPrefix(text, "int f") && text != "" || text != "" && !strings.HasSuffix(text, "\n") {
			t.Errorf("%s holds %q", at, text)
		}
	}
}

func contentText(path string) string {
	data, _ := os.ReadFile(path)
	return string(data)
}
