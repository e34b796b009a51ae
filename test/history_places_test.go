//go:build linux

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestHistoryStoreOfOthers: a history that others may look into, or that another
// version wrote, is refused with what would be right; nothing in the project changes.
func TestHistoryStoreOfOthers(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/a", "a")
		w.sh("echo b > a")
		found, err := filepath.Glob(w.home + "/.local/state/carrel/projects/*/history")
		if err != nil || len(found) != 1 {
			t.Fatalf("%v %v", found, err)
		}
		store := found[0]
		for path, mode := range map[string]os.FileMode{store: 0o700, store + "/journal": 0o700, store + "/objects": 0o700, store + "/lock": 0o600, store + "/format": 0o600} {
			if st, err := os.Stat(path); err != nil || st.Mode().Perm() != mode {
				t.Errorf("%s: %v %v, want %v", path, st.Mode(), err, mode)
			}
		}
		for _, args := range []string{"history", "undo", "run -- sh -c true>a"} {
			w.must(os.Chmod(store, 0o755))
			w.askedWrongly([]string{store, "make it 0700"}, strings.Fields(args)...)
			w.must(os.Chmod(store, 0o700))
			format := w.read(store + "/format")
			w.must(os.WriteFile(store+"/format", []byte("carrel history 999\n"), 0o600))
			w.askedWrongly([]string{store, "another version wrote this history"}, strings.Fields(args)...)
			w.must(os.WriteFile(store+"/format", []byte(format), 0o600))
		}
		w.fine("undo")
		if got := w.read(w.project + "/a"); got != "a" {
			t.Errorf("in the end: %q", got)
		}
	})
}

// elsewhere are programs that need each way of keeping and restoring.
const elsewhere = `sed -i s/int/long/ src/f1[0-9].c; rm -rf src/deep; mv src/f20.c empty/; mv empty full; echo x >> src/f21.c; echo new > src/new; rm src/f22.c; mkdir src/f22.c; truncate -s 10 src/sparse
chmod 600 src/f23.c; ln src/f24.c src/also; ln -sf f1.c src/dangling; rm src/pipe; rm src/f1.c; echo by the other name >> src/second; printf z > ./-dash; git add -A . && git commit -qm all && git gc -q --prune=now`

// TestHistoryOnAnotherFileSystem: links are impossible between the project and
// the history then, and everything is copied; the result is the same.
func TestHistoryOnAnotherFileSystem(t *testing.T) {
	for _, place := range []string{"the project", "the history"} {
		t.Run(place, func(t *testing.T) {
			eachPerson(t, func(t *testing.T, p person) {
				w := newWorld(t, p)
				if place == "the project" {
					w.mount("tmpfs", w.project, "size=64m,mode=0700")
					w.must(os.Chown(w.project, p.uid, p.gid))
				} else {
					w.mount("tmpfs", w.outside+"/state", "size=64m,mode=0700")
					w.setenv("XDG_STATE_HOME", w.outside+"/state")
				}
				w.furnish()
				before := w.scene()
				w.sh(elsewhere)
				after := w.scene()
				for range 2 {
					w.fine("undo")
					w.isAgain("undone", before)
					w.fine("redo")
					w.isAgain("made again", after)
				}
				if left := w.outsideSh("find . -name '.carrel*'"); left != "" {
					t.Errorf("left in the project: %s", left)
				}
				w.fine("undo")
				w.sh("mv src/deep src/other") // the top of the project has no part in this
				w.fine("undo")
				w.isAgain("a directory that was renamed", before)
				// A name that goes, of a file that keeps names which the run never
				// touches, comes back as a file of its own here: no link can hold it.
				cmd := w.startInside(strings.ReplaceAll(unrest, "ln -f src/f1.c src/second;", ""))
				waitABit()
				w.must(cmd.Process.Kill())
				_ = cmd.Wait()
				eventually(t, "the processes are gone", func() bool { return len(w.processes()) == 0 })
				w.plain(w.bin, "ps")
				w.fine("undo")
				w.isAgain("a killed run undone", before)
				w.unmountAll()
			})
		})
	}
}

// unmountAll takes the mounts of a world away before it is looked for leftovers.
func (w *world) unmountAll() {
	w.t.Helper()
	for point := range mountPoints() {
		if strings.HasPrefix(point, w.base+"/") {
			w.unmount(point)
		}
	}
}

// TestHistoryOnAFullDisk: what cannot be kept does not happen, the program is
// told, and what did happen can be taken back once there is room.
func TestHistoryOnAFullDisk(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		state := w.outside + "/state"
		w.mount("tmpfs", state, "size=6m,mode=0700")
		w.setenv("XDG_STATE_HOME", state)
		w.write(w.project+"/small", "small")
		w.write(w.project+"/large", strings.Repeat("large", 2<<20))
		w.write(w.project+"/also", strings.Repeat("also", 1<<20))
		before := w.scene()
		r := w.run("--", "bash", "-c", "echo x > small; rm also; rm -f large; echo y > large; truncate -s 0 large; mv large moved && mv moved large; echo done")
		if !strings.HasSuffix(r.out, "done\n") || !strings.Contains(r.err, "No space left on device") && !strings.Contains(r.err, "Disk quota exceeded") {
			t.Errorf("the program was not told: %s", r)
		}
		if got := w.scene(); !sameContent(got["/large"], before["/large"]) {
			t.Errorf("a file that could not be kept was %q and is %q", before["/large"], got["/large"])
		}
		after := w.scene()
		r = w.carrel("undo")
		if r.code == 0 {
			w.isAgain("undone", before)
		} else {
			w.isAgain("an undo that had no room", after)
		}
		w.must(remount(state, "size=64m"))
		if r.code != 0 {
			w.fine("undo")
		}
		w.isAgain("undone with room", before)
		w.fine("redo")
		w.isAgain("made again", after)
		w.unmountAll()
	})
}

// sameContent compares two files of a scene but for their times.
func sameContent(a, b string) bool {
	x, y := strings.Fields(a), strings.Fields(b)
	return len(x) > 4 && len(y) > 4 && x[3] == y[3] && x[4] == y[4]
}

// TestHistoryOfAGrantedFile: a single file that may be written is a place like any
// other, and does not stand in the way of the project's. Its directory stays as it is.
func TestHistoryOfAGrantedFile(t *testing.T) {
	eachPerson(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		file := w.write(w.outside+"/notes.txt", "first\n")
		beside := w.write(w.outside+"/beside", "kept\n")
		w.must(os.Chmod(w.outside, 0o500))
		before, place := w.scene(), w.outsideSh("ls -lid --time-style=full-iso . "+w.outside+"; ls -i "+w.outside)
		w.fine("run", "--write", file, "--", "sh", "-c", "echo second > "+file+"; chmod 640 "+file+"; echo x > made")
		if w.read(file) != "second\n" || !exists(w.project+"/made") {
			t.Fatal("nothing was written")
		}
		after := w.scene()
		for i, want := range []string{"first\n", "second\n", "first\n"} {
			w.fine([]string{"undo", "redo"}[i%2], "--write", file)
			if got := w.read(file); got != want {
				t.Errorf("%d: %q, want %q", i, got, want)
			}
			w.isAgain("the project", []scene{before, after}[i%2])
		}
		if now := w.outsideSh("ls -lid --time-style=full-iso . " + w.outside + "; ls -i " + w.outside); now != place {
			t.Errorf("its directory was\n%sand is\n%s", place, now)
		}
		w.must(os.Chmod(w.outside, 0o700))
		if w.read(beside) != "kept\n" || w.outsideSh("ls -A "+w.outside) != "beside\nnotes.txt\n" || w.outsideSh("stat -c %a "+file) != "600\n" {
			t.Errorf("beside it: %s", w.outsideSh("ls -lA "+w.outside))
		}
		w.fine("history", "verify")
	})
}

// TestUndoOfAFileThatLivesOn: with the history on another file system an undo of several
// steps takes the last name that is known of a file which a person has given another one.
// The file keeps that, with the content that it had.
func TestUndoOfAFileThatLivesOn(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"after a name of another file":    "ln f c",
		"after a change of another file":  "echo more >> f",
		"after a change of what is there": "ln f c; echo more >> f",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, ordinary(t))
			w.mount("tmpfs", w.base+"/other", "size=64m,mode=0700")
			defer w.unmountAll()
			w.configured("history: {dir: " + w.base + "/other/kept}")
			w.outsideSh("mkdir d; echo first > f")
			before := w.outsideSh("find . | sort; cat f")
			w.sh(first)
			w.outsideSh("printf own > c~; mv -f c~ c")
			w.sh("touch -r c t; printf run 1<> c; touch -r t c; rm t; ln c a")
			w.outsideSh("mv c d/c")
			w.fine("undo", "2")
			if got := w.outsideSh("cat d/c; rm d/c; find . | sort; cat f"); got != "own"+before {
				t.Errorf("after the undo of both there is\n%s", got)
			}
		})
	}
}

// TestTimesOfADirectory: a step that only sets the times of a directory is listed, taken
// back and made again. One that only makes and removes a file in it is not.
func TestTimesOfADirectory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.outsideSh("mkdir d; touch -d @1000000000 d")
	at := func(want, after string) {
		t.Helper()
		if got := w.outsideSh("stat -c %Y d"); got != want+"\n" {
			t.Errorf("after %s the time is %s", after, got)
		}
	}
	w.sh(": > d/f; rm d/f")
	w.outsideSh("touch -d @1000000000 d")
	w.sh("touch -d @1100000000 d")
	if out := w.fine("history", "-n", "9"); strings.Count(out, "1 changed") != 1 || !strings.Contains(w.fine("show", "2"), "d/") {
		t.Errorf("the history says\n%s", out)
	}
	if out := w.fine("undo"); !strings.Contains(out, "restored  d") {
		t.Errorf("undo says %q", out)
	}
	at("1000000000", "undo")
	w.fine("redo")
	at("1100000000", "redo")
	w.fine("undo")
	at("1000000000", "another undo")
}
