package history

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/history/journal"
	"carrel/internal/pathname"
)

// edit changes something that no step knows of, and gives what was written where.
func (d *desk) edit(t *rapid.T, text string) (path string) {
	names := []string{"a", "b", "dir/f", "dir/sub/g", "dir/mine", "dir/sub/mine", "b/mine", "empty", "dir/new", "mine"}
	name := rapid.SampledFrom(names).Draw(t, "edited")
	if d.behindLink(name) {
		return ""
	}
	if st, err := os.Lstat(d.at(name)); err == nil && !st.Mode().IsRegular() {
		return ""
	}
	at := d.at(name)
	if rapid.Bool().Draw(t, "saved by renaming") {
		if os.WriteFile(at+"~", []byte(text), 0o644) != nil || os.Rename(at+"~", at) != nil {
			return ""
		}
		return at
	}
	if os.WriteFile(at, []byte(text), 0o644) != nil {
		return ""
	}
	return at
}

// TestExternalEdits: what somebody writes between steps, or between a crash and
// the next command, is never lost, whatever is taken back: an undo that meets it
// changes nothing and names it; forced, it keeps it.
func TestExternalEdits(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		var written []string
		edited := func() {
			text := fmt.Sprintf("by the user, %d", len(written))
			if d.edit(rt, text) != "" {
				// What is written over by another edit is the user's own doing.
				written = slices.DeleteFunc(written, func(w string) bool { return !d.holds(w) })
				written = append(written, text)
			}
		}
		kept := func(when string) {
			for _, text := range written {
				if !d.holds(text) {
					rt.Fatalf("%s: %q is lost", when, text)
				}
			}
		}
		steps := rapid.IntRange(1, 3).Draw(rt, "steps")
		for range steps {
			d.begin(rt)
			for range rapid.IntRange(1, 8).Draw(rt, "changes") {
				d.random(rt)
			}
			if rapid.IntRange(0, 3).Draw(rt, "killed") == 0 {
				d.kill()
			} else {
				d.end(rt)
			}
			kept("after a step")
			if d.w == nil || rapid.Bool().Draw(rt, "edits") {
				edited()
			}
		}
		if d.w != nil {
			d.close(rt)
		}
		if _, err := d.store.Recover([]string{d.root}); err != nil {
			rt.Fatalf("recovering: %v", err)
		}
		kept("after recovering")
		for n := uint64(steps); n > 0; n-- {
			d.undoEdited(rt, n, kept)
		}
	})
}

// undoEdited takes a step back, killed in the middle sometimes, and by force
// where somebody has changed something.
func (d *desk) undoEdited(rt *rapid.T, n uint64, kept func(string)) {
	now := snapshot(rt, d.root)
	var err error
	if died := crash(rapid.IntRange(0, 400).Draw(rt, "moment"), func() { _, err = d.undo(rt, Request{Steps: []uint64{n}}) }); died {
		if _, err := d.store.Recover([]string{d.root}); err != nil {
			rt.Fatalf("recovering: %v", err)
		}
		kept("after a kill")
		if l := d.read(rt); l.Undone(l.Step(n)) {
			return
		}
		now = snapshot(rt, d.root)
		_, err = d.undo(rt, Request{Steps: []uint64{n}})
	}
	kept("after undo")
	if err == nil {
		return
	}
	var refused *ConflictError
	if !errors.As(err, &refused) {
		rt.Fatalf("undo of %d: %v", n, err)
	}
	if got := snapshot(rt, d.root); got != now {
		rt.Fatalf("refused, and changed:\n%s", apart(got, now))
	}
	mode := rapid.SampledFrom([]journal.Mode{journal.Skip, journal.KeepBoth, journal.Force}).Draw(rt, "mode")
	if _, err := d.undo(rt, Request{Steps: []uint64{n}, Mode: mode}); err != nil {
		rt.Logf("mode %d: %v", mode, err)
		if got := snapshot(rt, d.root); got != now {
			rt.Fatalf("not possible in mode %d, and changed:\n%s", mode, apart(got, now))
		}
	}
	kept(fmt.Sprintf("after mode %d", mode))
}

// holds says whether a text is in a file of the root, or kept.
func (d *desk) holds(text string) bool {
	return holds(d.t, d.root, text) || holds(d.t, d.store.Dir()+"/objects", text)
}

// TestConflictsNameWhatWasEdited: no more and no less than that.
func TestConflictsNameWhatWasEdited(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		d.begin(rt)
		for range rapid.IntRange(1, 10).Draw(rt, "changes") {
			d.random(rt)
		}
		d.end(rt)
		d.close(rt)
		before := d.read(rt).Steps[0]
		at := d.edit(rt, "by the user")
		if at == "" {
			return
		}
		_, err := d.undo(rt, Request{Steps: []uint64{1}})
		var refused *ConflictError
		if err != nil && !errors.As(err, &refused) {
			rt.Fatalf("undo: %v", err)
		}
		post, touched := before.PostOf(at)
		pre, _ := before.PreOf(string(post.Origin))
		found, _ := before.PreOf(at)
		touched = touched && (post.State.Kind != journal.Absent || found.State.Kind != journal.Absent)
		if touched && (post.Origin == "" || pre.Object != journal.Object{}) && refused == nil { // else only its names or metadata, and the edit stays
			rt.Fatalf("%q was changed by both, and is not told", at)
		}
		if refused != nil {
			for _, c := range refused.Conflicts {
				// What the user put into a directory of the step is in the way by that directory.
				around := c.Found.Kind == journal.Dir && pathname.Within(at, c.Path)
				if c.Path != at && !around {
					rt.Fatalf("%q was edited, told is %q: %s", at, c.Path, c.Why)
				}
			}
		}
		if !holds(t, d.root, "by the user") {
			rt.Fatalf("the edit of %q is not in its place: %v", at, err)
		}
	})
}

// TestForceOverADirectory: what the user put into a directory that is in the place of
// one that comes back is beside it afterwards, and the redo puts it back.
func TestForceOverADirectory(t *testing.T) {
	for _, mode := range []journal.Mode{journal.Force, journal.KeepBoth} {
		d := newDesk(t)
		must := func(err error) {
			if err != nil {
				t.Fatal(err)
			}
		}
		must(os.Mkdir(d.at("src"), 0o755))
		must(os.WriteFile(d.at("src/s"), []byte("the step's"), 0o644))
		d.begin(t)
		d.removeAll(t, "src")
		d.end(t)
		d.close(t)
		must(os.Mkdir(d.at("src"), 0o755))
		must(os.WriteFile(d.at("src/u"), []byte("the user's"), 0o644))
		found := snapshot(t, d.root)
		if _, err := d.undo(t, Request{Steps: []uint64{1}, Mode: mode}); err != nil {
			t.Errorf("mode %v: %v", mode, err)
			continue
		}
		for at, want := range map[string]string{"src/s": "the step's", "src.undo-conflict/u": "the user's"} {
			if got, err := os.ReadFile(d.at(at)); string(got) != want {
				t.Errorf("mode %v: %s: %q, %v", mode, at, got, err)
			}
		}
		l := d.read(t)
		if _, err := d.undo(t, Request{Steps: []uint64{undoOf(l, l.Step(1)).Number}, Redo: true}); err != nil {
			t.Errorf("redo after mode %v: %v", mode, err)
		} else if got := snapshot(t, d.root); got != found {
			t.Errorf("after the redo of mode %v:\n%s", mode, apart(got, found))
		}
	}
}
