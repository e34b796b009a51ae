//go:build linux

package e2e

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

// TestUndoAfterOneThatCameToNothing: several steps cannot be taken back at once, as another
// program put a file of its own in the place of theirs. What the steps say of the mode of
// another file is still known after that.
func TestUndoAfterOneThatCameToNothing(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		w.write(w.project+"/moves", "long enough")
		mode := w.write(w.project+"/mode", "x")
		w.sh("chmod 640 mode")
		w.sh("printf new 1<> moves; touch -d 2020-01-01 moves")
		w.must(os.Remove(w.project + "/moves"))
		w.write(w.project+"/moves", "mine")
		w.sh("unlink moves; chmod 444 mode")
		if r := w.plain(w.bin, "undo", "3", "--keep-both"); r.code != 125 || !strings.Contains(r.err, "one by one") {
			t.Fatalf("canary: all at once: %s", r)
		}
		if r := w.plain(w.bin, "undo"); r.code != 0 || w.read(w.project+"/moves") != "mine" {
			t.Errorf("the newest alone: %s", r)
		}
		if st, err := os.Stat(mode); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v", st.Mode(), err)
		}
		if r := w.plain(w.bin, "redo"); r.code != 0 || exists(w.project+"/moves") {
			t.Errorf("again: %s", r)
		}
		if st, err := os.Stat(mode); err != nil || st.Mode().Perm() != 0o444 {
			t.Errorf("the mode is %v, %v", st.Mode(), err)
		}
	})
}

// TestRedoOfUndoThatFoundNothing: of a step of which another program has left nothing, the undo
// changes nothing, or the time of a directory. It is the newest one all the same: a redo takes
// that back, and no older one.
func TestRedoOfUndoThatFoundNothing(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		older := w.write(w.project+"/older", "one")
		w.sh("echo two > older")
		if r := w.plain(w.bin, "undo"); r.code != 0 || w.read(older) != "one" {
			t.Fatal(r)
		}
		w.sh("echo x > made")
		w.must(os.Remove(w.project + "/made"))
		before := w.outsideSh("stat -c '%n %y' . older")
		for _, flag := range []string{"--skip-conflicts", "--force"} {
			if r := w.plain(w.bin, "undo", flag); r.code != 0 || !strings.Contains(r.out, "0 paths restored, 0 removed") {
				t.Fatalf("canary: %s", r)
			}
			if r := w.plain(w.bin, "redo"); r.code != 0 || w.read(older) != "one" {
				t.Errorf("%s: redo: %s", flag, r)
			}
			if after := w.outsideSh("stat -c '%n %y' . older"); after != before {
				t.Errorf("%s: %s, want %s", flag, after, before)
			}
		}
		if r := w.plain(w.bin, "redo"); r.code != 0 || w.read(older) != "two\n" {
			t.Errorf("the older one: %s", r)
		}
	})
}

// TestUndoPathInRenamedDirectory: what is in a directory that a step renamed is found by its
// name of before and by that of now, whether that step or an older one changed it.
func TestUndoPathInRenamedDirectory(t *testing.T) {
	t.Parallel()
	for _, steps := range [][]string{
		{"echo two > old/in/f; mv old new"},
		{"mv old new; echo two > new/in/f"},
		{"echo two > old/in/f", "mv old new"},
		{"echo two > old/in/f", "mv old other", "mv other/in other/it; mv other/it other/in; mv other new"},
	} {
		for _, path := range []string{"old/in/f", "new/in/f", "old/in", "new/in"} {
			t.Run(strings.Join(steps, "; ")+" "+path, func(t *testing.T) {
				t.Parallel()
				w := newWorld(t, ordinary(t))
				w.write(w.project+"/old/in/f", "one")
				w.write(w.project+"/old/in/else", "one")
				for _, step := range steps {
					w.sh(step)
				}
				if r := w.plain(w.bin, "history", "--path", path); r.code != 0 || !strings.Contains(r.out, "two") {
					t.Errorf("history: %s", r)
				}
				if r := w.plain(w.bin, "undo", "--path", path); r.code != 0 || r.out != "restored  new/in/f\n1 step: 1 path restored, 0 removed\n" {
					t.Errorf("undo: %s", r)
				}
				if got := w.read(w.project + "/new/in/f"); got != "one" {
					t.Errorf("%q", got)
				}
				if r := w.plain(w.bin, "redo"); r.code != 0 || w.read(w.project+"/new/in/f") != "two\n" {
					t.Errorf("redo: %s", r)
				}
			})
		}
	}
}

// TestRedoOfUndoInParts: a step that was taken back in parts and made again is taken back in as
// many. That is one undo to who asks for it, and one redo makes all of it again, or two where two
// steps were taken back of which one was there no more.
func TestRedoOfUndoInParts(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		one, other := w.write(w.project+"/one", "one"), w.write(w.project+"/other", "other")
		w.sh("echo new > one; echo new > other")
		both := func(when, want string) {
			t.Helper()
			if got := w.read(one) + w.read(other); got != want {
				t.Errorf("%s: %q, want %q", when, got, want)
			}
		}
		for _, paths := range [][]string{{one}, {one, other}} {
			for _, path := range paths {
				w.fine("undo", "--path", path)
			}
			if len(paths) == 1 {
				w.fine("undo")
			}
			both("taken back in parts", "oneother")
			w.fine("redo", "2")
			both("made again", "new\nnew\n")
			w.fine("undo")
			both("taken back", "oneother")
			w.fine("redo")
			both("made again by one redo", "new\nnew\n")
		}
	})
}

// TestRedoOfUndoOfAPathThatFoundNothing: the same of an undo of one path, by which its step
// does not count as taken back.
func TestRedoOfUndoOfAPathThatFoundNothing(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		one := w.write(w.project+"/one", "old")
		w.write(w.project+"/two", "old")
		w.sh("echo new > one; echo new > two")
		for range 2 { // the second one finds it taken back
			if r := w.plain(w.bin, "undo", "--path", "one"); r.code != 0 || w.read(one) != "old" {
				t.Fatal(r)
			}
		}
		for _, want := range []string{"old", "new\n"} {
			if r := w.plain(w.bin, "redo"); r.code != 0 || w.read(one) != want {
				t.Errorf("it is %q, want %q: %s", w.read(one), want, r)
			}
		}
	})
}

// TestUndoTellsOfAFileThatHasAnotherName: the user renames a file of which steps have removed
// a second name. An undo has a way to it, by the link in the store: what it changes there is
// told by the name that the file has.
func TestUndoTellsOfAFileThatHasAnotherName(t *testing.T) {
	asUser(t, func(t *testing.T, p person) {
		w := newWorld(t, p)
		file := w.write(w.project+"/file", "content")
		w.must(os.Chmod(file, 0o640))
		w.sh("ln file second; chmod 600 file")
		w.sh("rm second; chmod 604 file")
		w.must(os.Rename(file, w.project+"/mine"))
		for _, args := range [][]string{{"--dry-run"}, nil} {
			r := w.plain(w.bin, append([]string{"undo", "2"}, args...)...)
			if r.code != 0 || !strings.Contains(r.out, "restored  mine\n") {
				t.Errorf("%q: %s", args, r)
			}
		}
		if st, err := os.Stat(w.project + "/mine"); err != nil || st.Mode().Perm() != 0o640 {
			t.Errorf("the mode is %v, %v", st.Mode(), err)
		}
	})
}

// TestUndoOnAFullDisk: where the project's file system is full and the history is on another
// one, the undo says what is missing where, and leaves all as it was.
func TestUndoOnAFullDisk(t *testing.T) {
	t.Parallel()
	w := newWorld(t, ordinary(t))
	w.mkdir(w.project, 0o700)
	w.mount("tmpfs", w.project, "size=2m,mode=0700")
	defer w.unmountAll()
	removed := w.write(w.project+"/removed", strings.Repeat("long ", 200_000))
	w.sh("rm removed")
	w.outsideSh("head -c 1900000 /dev/zero > full")
	before := w.outsideSh("stat -c '%n %s %y' *")
	if r := w.plain(w.bin, "undo"); r.code != 125 || r.err != "carrel: "+strconv.Quote(removed)+": no space left on device\n" {
		t.Errorf("on a full disk: %s", r)
	}
	if after := w.outsideSh("stat -c '%n %s %y' *"); after != before {
		t.Errorf("it left %q, want %q", after, before)
	}
	w.must(os.Remove(w.project + "/full"))
	w.fine("undo")
	if len(w.read(removed)) != 1_000_000 {
		t.Errorf("with room again: %d bytes", len(w.read(removed)))
	}
}
