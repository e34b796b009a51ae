//go:build linux

package e2e

import (
	"os"
	"strings"
	"testing"
	"time"
)

// TestHistoryOfAMountInTheProject: what a step does on a file system that is mounted in the
// project cannot be taken back. It is told at the end of the run, by show and by the undo:
// the status of that says that something is left; all else is taken back.
func TestHistoryOfAMountInTheProject(t *testing.T) {
	for name, script := range map[string]string{
		"written":     `echo z >>m/f`,
		"cut":         `: >m/f`,
		"made":        `echo n >m/n`,
		"a directory": `mkdir m/d`,
		"removed":     `rm m/f`,
		"renamed":     `mv m/f m/g`,
		"linked":      `ln m/f m/g`,
		"its mode":    `chmod 600 m/f`,
	} {
		t.Run(name, func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.mount("tmpfs", w.project+"/m", "size=1m,mode=0755")
				w.write(w.project+"/m/f", "1\n")
				w.write(w.project+"/other", "1\n")
				r := w.run("--", "bash", "-c", script+"; echo 2 >other; touch top")
				if !strings.Contains(r.err, "NOT kept: "+w.project+"/m/") || r.code != 0 {
					t.Errorf("the end of the run: %s", r)
				}
				if out := w.fine("show", "1"); !strings.Contains(out, "m/") || !strings.Contains(out, "mounted in the project") {
					t.Errorf("show: %s", out)
				}
				for _, args := range [][]string{{"undo", "--dry-run"}, {"undo"}, {"undo"}} {
					if r := w.carrel(args...); r.code == 0 || !strings.Contains(r.out, "NOT restored  m/") {
						t.Errorf("%q: %s", args, r)
					}
				}
				if got := w.outsideSh("cat other; ls"); got != "1\nm\nother\n" {
					t.Errorf("the rest is not as before: %q", got)
				}
				w.unmountAll()
			})
		})
	}
}

// TestMoveBetweenMounts: the kernel refuses it, and so there is nothing to ask.
func TestMoveBetweenMounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mount("tmpfs", w.project+"/m", "size=1m,mode=0755")
	began := time.Now()
	script := "mkdir -p m/a/b; echo 5 >m/a/b/c; mv m/a x && cat x/b/c && echo 6 >y && mv y m/ && cat m/y"
	r := w.run("--timeout", "20s", "--", "bash", "-c", script)
	if r.code != 0 || r.out != "5\n6\n" {
		t.Errorf("after %s: %s", time.Since(began), r)
	}
	w.unmountAll()
}

// TestUndoInAMovedProject: a history stays with the path of its project. Where that is gone,
// an undo elsewhere that finds nothing says where there is something.
func TestUndoInAMovedProject(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.sh("echo 1 > made")
	moved := w.home + "/src/moved"
	w.outsideSh("cd ..; mv desk moved")
	undo := func(dir string) result {
		cmd := w.command(w.bin, "undo")
		cmd.Dir = dir
		return w.finish(cmd)
	}
	if r := undo(moved); r.code == 0 || !strings.Contains(r.err, "there are steps of "+w.project+", which is not there any more") {
		t.Errorf("where it was moved to: %s", r)
	}
	w.must(os.Mkdir(w.home+"/src/third", 0o700))
	w.own(w.home + "/src/third")
	w.must(os.Rename(moved, w.project))
	if r := undo(w.home + "/src/third"); r.code == 0 || strings.Contains(r.err, "there are steps of") {
		t.Errorf("where nothing is gone: %s", r)
	}
	w.fine("undo")
	if left := w.outsideSh("ls"); left != "" {
		t.Errorf("moved back and undone: %q", left)
	}
}
