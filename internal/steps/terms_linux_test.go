package steps

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/history"
	"carrel/internal/inside"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// dirOf opens a directory as the broker does.
func dirOf(t *testing.T, path string) int {
	t.Helper()
	dir, err := unix.Open(path, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(dir) })
	return dir
}

// TestOwnersTerms: what the owner counts is held from the threshold on, by the size of what is
// there and by what a rename would cover; what it does not count is not.
func TestOwnersTerms(t *testing.T) {
	root := t.TempDir()
	if err := errors.Join(os.WriteFile(root+"/large", make([]byte, 100), 0o600), os.Symlink("large", root+"/link")); err != nil {
		t.Fatal(err)
	}
	dir := dirOf(t, root)
	all := &api.Terms{Deletes: 2, Overwrites: 100, Replaces: true}
	remove := broker.Change{Op: broker.OpUnlink, Path: "/p/a"}
	open := func(name string) broker.Change {
		return broker.Change{Op: broker.OpOpen, Path: root + "/" + name, Dir: dir, Name: name, Kind: broker.KindFile}
	}
	rename := broker.Change{Op: broker.OpRename, Path: "/p/a", To: "/p/b", Over: broker.KindFile, ToDir: dir, ToName: "large"}
	onto := rename
	onto.Over = broker.KindNone
	for _, c := range []struct {
		name    string
		terms   *api.Terms
		changes []broker.Change
		want    string // of the last
	}{
		{"the first of two", all, []broker.Change{remove}, ""},
		{"the second", all, []broker.Change{remove, remove}, api.TermDeletes},
		{"a directory counts, too", all, []broker.Change{remove, {Op: broker.OpRmdir, Path: "/p/d"}}, api.TermDeletes},
		{"what is made does not", all, []broker.Change{remove, {Op: broker.OpCreate, Path: "/p/c"}}, ""},
		{"none are counted", &api.Terms{Overwrites: 1}, []broker.Change{remove, remove, remove}, ""},
		{"a large file", all, []broker.Change{open("large")}, api.TermOverwrites},
		{"by a link to it, whose own size counts", all, []broker.Change{open("link")}, ""},
		{"one that is gone", all, []broker.Change{open("gone")}, ""},
		{"a directory is no file", all, []broker.Change{{Op: broker.OpOpen, Dir: dir, Name: "large", Kind: broker.KindDir}}, ""},
		{"it is truncated", all, []broker.Change{{Op: broker.OpTruncate, Dir: dir, Name: "large", Kind: broker.KindFile}}, api.TermOverwrites},
		{"a rename over a file", all, []broker.Change{rename}, api.TermReplaces},
		{"a rename over a large one", &api.Terms{Overwrites: 100}, []broker.Change{rename}, api.TermOverwrites},
		{"a rename over nothing", all, []broker.Change{onto}, ""},
	} {
		var count termCount
		term, why := "", ""
		for i := range c.changes {
			term, why, _ = count.count(&c.changes[i], c.terms, time.Unix(1000, 0))
		}
		if term != c.want || (why == "") != (term == "") {
			t.Errorf("%s: %q, %q, want %q", c.name, term, why, c.want)
		}
	}
}

// TestTermsAreSettledOnce: after a yes a term is not asked about again for a while, after a no
// nothing more happens, and the paths that are shown are bounded and can be read.
func TestTermsAreSettledOnce(t *testing.T) {
	terms, at := &api.Terms{Deletes: 1}, time.Unix(1000, 0)
	var o termCount
	remove := func(name string) (string, bool) {
		term, _, no := o.count(&broker.Change{Op: broker.OpUnlink, Path: name}, terms, at)
		return term, no
	}
	for i := range 2 * maxSample {
		if term, _ := remove(fmt.Sprintf("/p/%d\xff", i)); term != api.TermDeletes {
			t.Fatalf("%d: %q", i, term)
		}
	}
	shown := o.shown(api.TermDeletes, &broker.Change{Path: "/p/last"})
	if len(shown) != maxSample || shown[0] != `"/p/0\xff"` {
		t.Errorf("%q", shown)
	}
	if shown := o.shown(api.TermReplaces, &broker.Change{Path: "/p/a", To: "/p/b"}); !slices.Equal(shown, []string{"/p/a", "/p/b"}) {
		t.Errorf("%q", shown)
	}
	o.settle(api.TermDeletes, true)
	if term, no := remove("/p/x"); term != "" || no {
		t.Errorf("after a yes: %q, %v", term, no)
	}
	if yes, known := o.answered(api.TermDeletes); !yes || !known {
		t.Error("another change that waits is not answered")
	}
	at = at.Add(window + 1)
	if term, _ := remove("/p/x"); term != api.TermDeletes || o.removed != 1 {
		t.Errorf("after a while: %q, %d counted", term, o.removed)
	}
	o.settle(api.TermDeletes, false)
	at = at.Add(2 * window)
	if _, no := remove("/p/x"); !no {
		t.Error("after a no the command goes on")
	}
	if yes, known := o.answered(api.TermReplaces); yes || !known {
		t.Error("a no is one for all that the command wants")
	}
}

// TestCountAgainstAModel removes, waits and answers in any order: the count is that of the
// removals since the last pause, and each is asked about unless a yes stands.
func TestCountAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		terms := &api.Terms{Deletes: rapid.Int64Range(1, 4).Draw(t, "threshold")}
		var o termCount
		at, last := time.Unix(1000, 0), time.Unix(1000, 0)
		removed, allowed := int64(0), false
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			at = at.Add(rapid.SampledFrom([]time.Duration{time.Second, window, window + 1}).Draw(t, "pause"))
			if at.Sub(last) > window {
				removed, allowed = 0, false
			}
			removed, last = removed+1, at
			term, _, no := o.count(&broker.Change{Op: broker.OpUnlink, Path: "/p"}, terms, at)
			if want := removed >= terms.Deletes && !allowed; (term != "") != want || no || o.removed != removed {
				t.Fatalf("%d removed of %d, allowed %v: %q, %v, counted %d", removed, terms.Deletes, allowed, term, no, o.removed)
			}
			if term != "" && rapid.Bool().Draw(t, "yes") {
				o.settle(term, true)
				allowed = true
			}
		}
	})
}

// TestOwnersLimits: the owner's limits stand for the user's where it has set some, 0 being none.
func TestOwnersLimits(t *testing.T) {
	usual := history.Limits{Bytes: 1, Steps: 2, StepBytes: 3, FileBytes: 4}
	var tm *terms
	if tm.limits(usual) != usual || (&terms{}).limits(usual) != usual {
		t.Error("nothing was said")
	}
	none, ten := int64(0), int64(10)
	said := &terms{}
	said.now.Store(&api.Terms{MaxBytes: &none, MaxStepBytes: &ten})
	if got := said.limits(usual); got != (history.Limits{Bytes: 0, Steps: 2, StepBytes: 10, FileBytes: 4}) {
		t.Errorf("%+v", got)
	}
}

// TestYield: while a history is let go of nothing is changed, and afterwards a new step begins
// in a new segment; a change that is on its way is not waited for long.
func TestYield(t *testing.T) {
	k, root := testRecorder(t)
	if err := makeFile(k, root, "before"); err != nil {
		t.Fatal(err)
	}
	k.gate.RLock() // a change that waits for an answer
	if y, err := k.Yield(t.Context()); err == nil || !strings.Contains(err.Error(), "carrel approvals") {
		t.Errorf("%+v, %v", y, err)
	}
	k.gate.RUnlock()
	y, err := k.Yield(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if k.writer != nil || k.store != nil || k.step != 0 {
		t.Errorf("it holds on to %v, %v, step %d", k.writer, k.store, k.step)
	}
	made := make(chan error, 1)
	go func() { made <- makeFile(k, root, "meanwhile") }()
	select {
	case err := <-made:
		t.Errorf("something was changed meanwhile: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	if err := y.Back(); err != nil {
		t.Error(err)
	}
	if err := <-made; err != nil {
		t.Error(err)
	}
	if err := k.Close(0); err != nil {
		t.Fatal(err)
	}
	segments := k.Segments()
	store, err := history.Open(k.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	var steps []string
	for _, s := range segments {
		log, err := store.ReadSegment(s.name)
		if err != nil {
			t.Fatal(err)
		}
		for _, step := range log.Steps {
			steps = append(steps, fmt.Sprintf("%d:%d", step.Number, step.Counts().Added))
		}
	}
	if len(segments) != 2 || !slices.Equal(steps, []string{"1:1", "2:1"}) {
		t.Errorf("%+v, %q", segments, steps)
	}
}

// TestHeldChanges: where no person can be asked a change is refused, and a signal that is on
// its way to who waits comes first.
func TestHeldChanges(t *testing.T) {
	k, _ := testRecorder(t)
	ch := &broker.Change{Op: broker.OpUnlink, Path: "/p/a", Wait: func(do func()) { do() }}
	asked := make(chan error, 1)
	go func() { asked <- k.guard.ask(ch, "/p/a", "it is large") }()
	time.Sleep(20 * time.Millisecond) // until it waits
	flushed := make(chan bool)
	interrupted := make(chan bool)
	go func() {
		k.Interrupt(func() { <-flushed })
		close(interrupted)
	}()
	select {
	case err := <-asked:
		t.Errorf("it is refused before the signal is there: %v", err)
	case <-time.After(20 * time.Millisecond):
	}
	close(flushed)
	<-interrupted
	err := <-asked
	if !errors.Is(err, unix.EACCES) || !strings.Contains(err.Error(), `"/p/a": it is large`) {
		t.Errorf("%v", err)
	}
	k.AnswersTo(nil) // who cannot freeze anything
	if err := k.guard.ask(ch, "/p/a", "it is large"); !errors.Is(err, unix.EACCES) {
		t.Errorf("%v", err)
	}
	for _, c := range []struct {
		err    error
		source string
	}{
		{&heldError{path: "/p/a", why: "many", owner: true}, "the workspace's owner"},
		{&heldError{path: "/p/a", why: "many"}, "default"},
		{unix.EIO, ""},
	} {
		var got broker.Verdict
		k.Deny(ch, fmt.Errorf("changing: %w", c.err), func(_ *broker.Change, v broker.Verdict) { got = v })
		if got.Source != c.source || c.source != "" && (!strings.Contains(got.Rule, "many") || got.Hint == "") {
			t.Errorf("%v: %+v", c.err, got)
		}
	}
}

// TestNoHistory: a run that keeps none records nothing, and a mark in it is an error.
func TestNoHistory(t *testing.T) {
	var k *Recorder
	ch := &broker.Change{Op: broker.OpUnlink, Path: "/p/a"}
	if err := k.Before(ch); err != nil {
		t.Error(err)
	}
	k.After(ch, nil)
	k.AnswersTo(nil)
	k.Deny(ch, unix.EIO, nil)
	if err := k.Mark(true, Marker{PID: 1}, inside.Mark{}); err == nil || !strings.Contains(err.Error(), "keeps no history") {
		t.Errorf("%v", err)
	}
	if err := k.Close(0); err != nil || k.Segments() != nil || k.Notes() != nil {
		t.Errorf("%v", err)
	}
}

// TestTrimIsTold: what went is told with its numbers, and what may not go with its size.
func TestTrimIsTold(t *testing.T) {
	if notes := append(trimmed(nil), trimmed(&history.Removal{})...); len(notes) > 0 {
		t.Errorf("%q", notes)
	}
	notes := trimmed(&history.Removal{Steps: []uint64{3, 4, 7}, Over: 12})
	if len(notes) != 2 || !strings.Contains(notes[0], "3 old steps are discarded, 3 to 7") ||
		!strings.Contains(notes[1], "12 bytes more than history.max_bytes") {
		t.Errorf("%q", notes)
	}
}

// TestMarksAgainstAModel begins and ends calls in any order: what is open is what was begun
// and not ended, an end that fits none ends the last, and the first that is open says since when.
func TestMarksAgainstAModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m marks
		var open []string
		for range rapid.IntRange(1, 100).Draw(t, "steps") {
			id := rapid.SampledFrom([]string{"a", "b", "c", ""}).Draw(t, "id")
			switch rapid.SampledFrom([]string{"begin", "begin", "end", "all"}).Draw(t, "what") {
			case "begin":
				first := len(open) == 0
				before := m.since
				m.begun(inside.Mark{ID: id})
				if open = append(open, id); len(open) > maxMarks {
					open = open[1:]
				}
				if !first && m.since != before {
					t.Fatal("a later mark has moved the beginning")
				}
			case "end":
				m.ended(inside.Mark{ID: id})
				at := slices.Index(open, id)
				if at < 0 {
					at = len(open) - 1
				}
				if at >= 0 {
					open = slices.Delete(open, at, at+1)
				}
			case "all":
				m.ended(inside.Mark{ID: id, All: true})
				open = nil
			}
			if !slices.Equal(m.open, open) {
				t.Fatalf("%q are open, want %q", m.open, open)
			}
		}
	})
}
