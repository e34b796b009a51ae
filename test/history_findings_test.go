//go:build linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// walk undoes and makes again to come to each of some places between steps, of which
// the trees are known, and wants the exact tree each time.
func (w *world) walk(trees []scene, places ...int) {
	w.t.Helper()
	at := len(trees) - 1
	for _, to := range places {
		switch {
		case to < at:
			w.fine("undo", fmt.Sprint(at-to))
		case to > at:
			w.fine("redo", fmt.Sprint(to-at))
		}
		w.isAgain(fmt.Sprintf("from %d to %d steps", at, to), trees[to])
		if w.t.Failed() {
			return
		}
		at = to
	}
}

// stepsOf runs scripts as steps, and gives the trees before, between and after them.
func (w *world) stepsOf(scripts ...string) []scene {
	w.t.Helper()
	trees := []scene{w.scene()}
	for _, script := range scripts {
		w.sh(script)
		trees = append(trees, w.scene())
	}
	return trees
}

// TestWalksRestoreHardLinks shows that undo and redo, back and forth, keep which names
// are one file: of an empty file, of one that a redo wrote, and of names that move.
func TestWalksRestoreHardLinks(t *testing.T) {
	for name, c := range map[string]struct {
		first string
		steps []string
	}{
		"empty and written": {": > f", []string{"echo data > f", "ln f g"}},
		"replaced by a directory": {
			"mkdir d1 d2; head -c 5000 /dev/zero | tr '\\0' x > d1/f1; ln d1/f1 d2/hard; ln d1/f1 d1/f21",
			[]string{
				`rm -r d2; rm d1/f21; mkdir d1/f21; python3 -c 'import os; os.setxattr("d1/f1", "user.b", b"v")'`,
				"mv d1/f1 d1/f21/n", "echo rewritten > d1/f21/n",
			},
		},
		"appended and removed":     {"mkdir d; echo two > d/x; ln d/x d/y", []string{"echo 1 >> d/y; rm -r d"}},
		"appended, then removed":   {"mkdir d; echo two > d/x; ln d/x d/y", []string{"echo 1 >> d/y", "rm -r d"}},
		"in directories that move": {"mkdir -p d/e; echo a > d/a; ln d/a d/e/b; : > d/z; ln d/z z", linkedAndMoved},
	} {
		t.Run(name, func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh(c.first)
				trees := w.stepsOf(c.steps...)
				last := len(trees) - 1
				w.walk(trees, 0, last, 0, last, last-1, last, last/2, 0, last)
				for to := last - 1; to >= 0; to-- {
					w.walk(trees[:to+2], to)
				}
				w.fine("redo", fmt.Sprint(last))
				w.isAgain("all again", trees[last])
			})
		})
	}
}

var linkedAndMoved = []string{
	"ln d/a top; echo more >> d/e/b",
	"mv d m; echo z >> z",
	"rm m/a; mv m/e e",
	"mkdir d; mv e/b d/a; ln d/a e/b; mv m d/m",
	"mv top d/m/e; ln -f d/m/z d/a; rm z",
	"rm -r d/m; mv e d/e",
}

// TestUndoAfterOneOfTwoNames shows that what --path has brought back of a file with two
// names is not in the way of the rest of the step.
func TestUndoAfterOneOfTwoNames(t *testing.T) {
	for _, mode := range []string{"--force", "--keep-both", "--skip-conflicts"} {
		t.Run(mode, func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh("mkdir d; echo text > d/a; ln d/a b")
				before := w.scene()
				w.sh("rm -r d b")
				w.fine("undo", "--path", "b")
				if got := w.read(w.project + "/b"); got != "text\n" {
					t.Fatalf("b holds %q", got)
				}
				w.fine("undo", mode, "--dry-run")
				w.fine("undo", mode)
				after := w.scene()
				after[""] = before[""] // its time is new
				if diff := after.differences(before); diff != "" {
					t.Errorf("the rest of the step: %s", diff)
				}
			})
		})
	}
}

// TestUndoSeesAnEditOfALinkedFile shows that an edit in place, of the same size and with
// the same time of change, by any name of a file, is a conflict and stays.
func TestUndoSeesAnEditOfALinkedFile(t *testing.T) {
	for _, by := range []string{"f", "g", "../log"} {
		t.Run(by, func(t *testing.T) {
			asUser(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				w.outsideSh("echo first > f; ln f g; ln f ../log")
				w.sh("echo later > f")
				edit := func(text string) {
					w.outsideSh("touch -r " + by + " ../time; printf " + text + " 1<> " + by + "; touch -r ../time " + by)
				}
				edit("MINE1")
				w.askedWrongly([]string{"conflict"}, "undo")
				if got := w.read(w.project + "/g"); got != "MINE1\n" {
					t.Errorf("after the undo: %q", got)
				}
				edit("later")
				w.fine("undo", "--force")
				if got := w.read(filepath.Join(w.project, by)); got != "first\n" {
					t.Errorf("after an undo by force: %q", got)
				}
				edit("MINE2")
				w.askedWrongly([]string{"conflict"}, "redo")
				if got := w.read(w.project + "/g"); got != "MINE2\n" {
					t.Errorf("after the redo: %q", got)
				}
			})
		})
	}
}

// TestUndoKeepsWorkInAFileThatWasEmpty shows that what a person writes into a file that
// was empty when a step changed something else of it is in the project afterwards.
func TestUndoKeepsWorkInAFileThatWasEmpty(t *testing.T) {
	t.Parallel()
	const work = "my work\n"
	for _, c := range []struct{ step, edit string }{
		{"chmod 600 y", "echo my work >> y"},
		{"chmod 600 y", "echo my work > t; mv t y"},
		{"mv y z", "echo my work >> z"},
		{"mv y z", "echo my work > t; mv t z"},
		{"touch y", "echo my work > y"},
		{"chmod 600 y; ln y z", "echo my work >> z"},
		{"ln y z; rm y", "echo my work >> z"},
	} {
		for _, mode := range []string{"", "--keep-both", "--skip-conflicts"} {
			t.Run(strings.TrimSpace(c.step+", "+c.edit+" "+mode), func(t *testing.T) {
				w := newWorld(t, ordinary(t))
				w.outsideSh(": > y; chmod 644 y")
				w.sh(c.step)
				w.outsideSh(c.edit)
				r := w.carrel(strings.Fields("undo " + mode)...)
				lost := r.code == 1 && mode == "--keep-both" && strings.Contains(r.out, "NOT restored  y: ") // the file that y was is no more
				if r.code != 0 && (r.code != 125 || mode != "") && (!lost || !strings.HasPrefix(c.edit, "echo my work > t")) {
					t.Errorf("undo: %s", r)
				}
				if !w.holds(work) {
					t.Errorf("the work is nowhere: %s", r)
				}
				again := w.carrel("redo")
				nothing := strings.Contains(again.err, "0 steps can be made again") // the undo left everything alone
				if again.code != 0 && r.code == 0 && mode == "--keep-both" && !nothing {
					t.Errorf("redo: %s", again)
				}
				if !w.holds(work) {
					t.Errorf("after the redo the work is nowhere: %s", again)
				}
			})
		}
	}
}

// holds says whether a file of the project has this content.
func (w *world) holds(text string) bool {
	w.t.Helper()
	names, err := os.ReadDir(w.project)
	w.must(err)
	for _, name := range names {
		if contentText(filepath.Join(w.project, name.Name())) == text {
			return true
		}
	}
	return false
}

// TestUndoLeavesGitObjects shows that taking back a commit removes no object that another
// commit of the person has in common with it, in the same checkout or another worktree.
func TestUndoLeavesGitObjects(t *testing.T) {
	t.Parallel()
	const commit = " && echo same > shared && git add shared && git commit -qm shared"
	for _, place := range []string{"this worktree", "another worktree", "a linked worktree"} {
		for _, mode := range []string{"", "--keep-both", "--skip-conflicts"} {
			t.Run(strings.TrimSpace(place+" "+mode), func(t *testing.T) {
				w := newWorld(t, ordinary(t))
				w.need("git")
				w.litter = true // objects of a repository beside the project
				const other = "../other"
				repository, theirs := ".", other
				if place == "a linked worktree" {
					repository = "../main"
					w.mkdir(w.home+"/src/main", 0o700)
				}
				w.write(w.home+"/.gitconfig", "[user]\n\tname = Carla Desk\n\temail = carla@example.com\n")
				w.outsideSh("cd " + repository + " && git init -q -b main && echo one > file && git add file && git commit -qm one")
				switch place {
				case "this worktree":
					theirs = "."
				case "another worktree":
					w.outsideSh("git worktree add -q -b other " + other)
				default:
					w.outsideSh("git -C ../main worktree add -q -b desk $PWD && git -C ../main worktree add -q -b other ../other")
				}
				w.sh("true" + commit)
				if place == "this worktree" {
					w.outsideSh("git checkout -q -b mine HEAD~1" + commit)
				} else {
					w.outsideSh("cd " + theirs + commit)
				}
				r := w.carrel(strings.Fields("undo " + mode)...)
				if r.code != 0 && r.code != 125 && mode == "" {
					t.Errorf("undo: %s", r)
				}
				for _, at := range []string{".", theirs} {
					fsck := w.plain("git", "-C", at, "fsck", "--full", "--no-dangling")
					if fsck.code != 0 || strings.Contains(fsck.out+fsck.err, "missing") {
						t.Errorf("git fsck in %s after %s: %s", at, r, fsck)
					}
				}
				branch := map[bool]string{true: "mine", false: "other"}[theirs == "."]
				if got := w.plain("git", "-C", theirs, "cat-file", "-p", branch+":shared"); got.out != "same\n" {
					t.Errorf("the person's file: %s", got)
				}
			})
		}
	}
}
