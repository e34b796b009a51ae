package history

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
	"carrel/internal/history/store"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// contents gives what the objects of a store hold that steps refer to.
func (d *desk) contents(t fataler, l *Log) map[journal.Object]string {
	t.Helper()
	out := make(map[journal.Object]string)
	for o := range l.Objects() {
		at := d.store.Dir() + "/" + o.File()
		st, err := disk.StateAt(unix.AT_FDCWD, at, 0)
		if err == nil && st.Kind == journal.Absent {
			continue
		}
		var data []byte
		if err == nil && st.Kind == journal.File {
			data, err = os.ReadFile(at)
		}
		if err != nil {
			t.Fatalf("%v", err)
		}
		out[o] = fmt.Sprint(st.Kind, st.ID.Ino, string(data))
	}
	return out
}

func numbers(l *Log) []uint64 {
	var out []uint64
	for _, s := range l.Steps {
		out = append(out, s.Number)
	}
	return out
}

// files counts everything in a store.
func (d *desk) files(pattern string) int {
	found, _ := filepath.Glob(d.store.Dir() + "/" + pattern)
	return len(found)
}

// TestDiscard: what is discarded is gone with its undos and its bytes, and what is
// not can be taken back as before.
func TestDiscard(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	trees := []string{snapshot(t, d.root)}
	for _, text := range []string{"one", "two", "three"} {
		d.begin(t)
		d.write(t, "a", strings.Repeat(text, 1000))
		d.end(t)
		d.close(t)
		trees = append(trees, snapshot(t, d.root))
	}
	if _, err := d.undo(t, Request{Steps: []uint64{3}}); err != nil {
		t.Fatal(err)
	}
	if _, err := d.store.Discard([]uint64{9}, false, false); err == nil {
		t.Error("a step that there is not was discarded")
	}
	r, err := d.store.Discard([]uint64{4}, false, true) // the undo of 3
	if err != nil || !slices.Equal(r.Steps, []uint64{3, 4}) || r.Freed.Bytes < 5000 || len(d.read(t).Steps) != 4 || d.files("objects/*/*") != 3 {
		t.Fatalf("dry: %+v, %v", r, err)
	}
	if r, err = d.store.Discard([]uint64{3}, false, false); err != nil || !slices.Equal(r.Steps, []uint64{3, 4}) {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := numbers(d.read(t)); !slices.Equal(got, []uint64{1, 2}) || d.files("objects/*/*") != 2 || d.files("journal/*") != 4 {
		t.Fatalf("left: %v, %d journals, %d objects", got, d.files("journal/*"), d.files("objects/*/*"))
	}
	if _, err := d.undo(t, Request{Steps: []uint64{2, 1}}); err != nil {
		t.Fatal(err)
	}
	if got := snapshot(t, d.root); got != trees[0] {
		t.Fatalf("after undo:\n%s", apart(got, trees[0]))
	}
	if r, err = d.store.Discard(nil, true, false); err != nil || len(r.Steps) != 4 {
		t.Fatalf("%+v, %v", r, err)
	}
	if got := numbers(d.read(t)); len(got) != 0 || d.files("journal/*")+d.files("objects/*") != 0 {
		t.Fatalf("left: %v, %d files", got, d.files("*/*"))
	}
	d.begin(t)
	d.end(t)
	if n := d.store.Newest(); n <= 6 {
		t.Errorf("step %d: a number was given again", n)
	}
	d.close(t)
}

// TestDiscardOfOneInASegment leaves the journal to the other steps of the run.
func TestDiscardOfOneInASegment(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	for _, name := range []string{"a", "dir/f"} {
		d.begin(t)
		d.write(t, name, "changed")
		d.end(t)
	}
	d.close(t)
	if _, err := d.store.Discard([]uint64{1}, false, false); err != nil {
		t.Fatal(err)
	}
	if got := numbers(d.read(t)); !slices.Equal(got, []uint64{2}) || d.files("objects/*/*") != 1 || d.files("journal/*") != 1 {
		t.Fatalf("left: %v", got)
	}
	if f := d.verified(t); len(f) > 0 {
		t.Fatal(f)
	}
	if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(d.at("dir/f")); string(got) != "f" {
		t.Errorf("after undo: %q", got)
	}
	if _, err := d.store.Discard([]uint64{2}, false, false); err != nil {
		t.Fatal(err)
	}
	if d.files("journal/*") != 0 {
		t.Error("a journal is left of which every step is discarded")
	}
	if gone, number := d.discarded(t); gone != 0 || number < 3 {
		t.Errorf("what is discarded is not forgotten with its journal: %d segments, up to step %d", gone, number)
	}
}

// TestDiscardNotNow: not while a run goes on, and not what is not over.
func TestDiscardNotNow(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "changed")
	d.end(t)
	other, err := Open(d.store.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for name, try := range map[string]func() (*Removal, error){
		"discard": func() (*Removal, error) { return other.Discard([]uint64{1}, false, false) },
		"gc":      func() (*Removal, error) { return other.Collect(false) },
		"all":     func() (*Removal, error) { return other.Discard(nil, true, false) },
	} {
		if _, err := try(); !errors.Is(err, ErrBusy) {
			t.Errorf("%s beside a writer: %v", name, err)
		}
	}
	d.begin(t)
	d.write(t, "dir/f", "changed")
	d.kill()
	if _, err := d.store.Discard([]uint64{2}, false, false); err == nil {
		t.Error("a step was discarded that was never closed")
	}
	if _, err := d.store.Collect(false); err != nil || d.files("objects/*/*") != 2 {
		t.Errorf("gc took what an open step keeps: %v", err)
	}
}

// TestCollect removes what a crash has left, and nothing else.
func TestCollect(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "changed")
	d.end(t)
	d.close(t)
	found, _ := filepath.Glob(d.store.Dir() + "/objects/*")
	for _, name := range []string{found[0] + "/77", found[0] + "/strange", found[0] + "/88/in/it", d.store.Dir() + "/objects/0000000000000bad-dead/1", d.store.Dir() + "/journal/0000000000000bad-fade"} {
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(d.root, d.store.Dir()+"/objects/0000000000000bad-link"); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, d.root)
	r, err := d.store.Collect(true)
	if err != nil || r.Freed.Objects != 2 || d.files("objects/*/*") != 5+7 {
		t.Fatalf("dry: %+v, %v, %d", r, err, d.files("objects/*/*"))
	}
	if r, err = d.store.Collect(false); err != nil || r.Freed.Objects != 2 || len(r.Left) != 3 {
		t.Fatalf("%+v, %v", r, err)
	}
	if d.files("journal/*") != 1 || d.files("objects/*bad-dead") != 0 || d.files("objects/*/77") != 0 || d.files("objects/*/1") != 1 || d.files("objects/*/strange") != 1 {
		t.Errorf("left: %d journals", d.files("journal/*"))
	}
	if got := snapshot(t, d.root); got != before {
		t.Fatalf("the project was changed:\n%s", apart(got, before))
	}
}

// TestCollectKeepsBesideDamage: what a journal may tell of that cannot be read.
func TestCollectKeepsBesideDamage(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	for _, name := range []string{"a", "dir/f", "dir/sub/g"} {
		d.write(t, name, "changed")
	}
	d.end(t)
	d.close(t)
	found, _ := filepath.Glob(d.store.Dir() + "/journal/*")
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	data[len(data)/3] ^= 1
	if err := os.WriteFile(found[0], data, 0o600); err != nil {
		t.Fatal(err)
	}
	d.store.SetLimits(Limits{Bytes: 1})
	if r, err := d.store.Collect(false); err != nil || r.Freed.Objects != 0 || d.files("objects/*/*") != 3 {
		t.Fatalf("%+v, %v, %d objects", r, err, d.files("objects/*/*"))
	}
}

// TestDiscardAllOfDamage: everything goes, whatever can be read of it.
func TestDiscardAllOfDamage(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "changed")
	d.end(t)
	d.close(t)
	found, _ := filepath.Glob(d.store.Dir() + "/journal/*")
	for _, at := range []string{found[0], d.store.Dir() + "/discarded"} {
		if err := os.WriteFile(at, []byte("garbage that no record begins with, garbage"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := d.store.Discard(nil, true, false); err != nil || d.files("journal/*")+d.files("objects/*") != 0 {
		t.Fatalf("%v, %d files", err, d.files("*/*"))
	}
	if f := d.verified(t); len(f) > 0 {
		t.Fatal(f)
	}
}

// removal is one that is killed at one of the calls by which it changes files.
type removal struct {
	t     fataler
	store string
	at    int
	calls []string
	saved map[string]string // what may be there again after a loss of power, by its name
}

// save gives everything in the store a second name.
func (r *removal) save() {
	r.saved = make(map[string]string)
	for _, pattern := range []string{"journal/*", "objects/*/*"} {
		found, _ := filepath.Glob(r.store + "/" + pattern)
		for _, at := range found {
			backup := fmt.Sprintf("%s/saved-%d", r.store, len(r.saved))
			if os.Link(at, backup) == nil {
				r.saved[at] = backup
			}
		}
	}
}

// call is asked before each.
func (r *removal) call(call string) error {
	switch call {
	case "look", "open", "file", "mkdir":
		return nil
	}
	if len(r.calls) == r.at {
		panic(killed{})
	}
	r.calls = append(r.calls, call)
	return nil
}

func (r *removal) syncs() (n int) {
	for _, c := range r.calls {
		if c == "sync" {
			n++
		}
	}
	return n
}

// run removes, and loses what had not reached the disk: a journal is gone for
// certain only after the third sync, an object never.
func (r *removal) run(remove func() (*Removal, error), back func(n int) bool) (died bool, err error) {
	r.save()
	func() {
		defer func() {
			disk.Trial = nil
			if e := recover(); e != nil {
				if _, ok := e.(killed); !ok {
					panic(e)
				}
				died = true
			}
		}()
		disk.Trial = r.call
		_, err = remove()
	}()
	for n, at := range slices.Sorted(maps.Keys(r.saved)) {
		journal := strings.HasPrefix(at, r.store+"/journal/")
		if _, e := os.Lstat(at); e != nil && back(n) && !(journal && r.syncs() >= 3) {
			_ = os.MkdirAll(filepath.Dir(at), 0o700)
			_ = os.Link(r.saved[at], at)
		}
		_ = os.Remove(r.saved[at])
	}
	return died, err
}

// ordered wants that nothing goes before it is on the disk that it may, and that
// this is not forgotten before it is on the disk that it has gone.
func (r *removal) ordered() {
	if at := slices.Index(r.calls, "unlink"); at >= 0 && !slices.Equal(r.calls[:at], []string{"sync", "rename", "sync"}) {
		r.t.Fatalf("something goes before it is written down: %v", r.calls)
	}
	if at := slices.Index(r.calls, "rename"); at >= 0 {
		if next := slices.Index(r.calls[at+1:], "rename"); next >= 0 && !slices.Equal(r.calls[at+next-1:at+next+1], []string{"sync", "sync"}) {
			r.t.Fatalf("something is forgotten before it has gone: %v", r.calls)
		}
	}
}

// stopAt runs a removal up to a call, and looks at what is left.
func (d *desk) stopAt(t fataler, want []uint64, at int, back func(int) bool, remove func() (*Removal, error)) (died bool) {
	t.Helper()
	tree, all := snapshot(t, d.root), numbers(d.read(t))
	before := d.contents(t, d.read(t))
	r := &removal{t: t, store: d.store.Dir(), at: at}
	died, err := r.run(remove, back)
	if err != nil {
		t.Fatalf("removing: %v", err)
	}
	r.ordered()
	l := d.read(t)
	left := numbers(l)
	gone := slices.DeleteFunc(slices.Clone(all), func(n uint64) bool { return slices.Contains(left, n) })
	if len(gone) > 0 && !slices.Equal(gone, want) {
		t.Fatalf("after %v: %v are gone, want none or %v", r.calls, gone, want)
	}
	if len(want) > 0 && len(gone) == 0 && slices.Contains(r.calls, "rename") {
		t.Fatalf("after %v nothing is gone", r.calls)
	}
	for _, f := range d.verified(t) {
		if f.Code != store.FaultUnreferenced {
			t.Fatalf("after %v: %+v", r.calls, f)
		}
	}
	if _, err := d.store.Collect(false); err != nil {
		t.Fatalf("after %v: %v", r.calls, err)
	}
	if f := d.verified(t); len(f) > 0 {
		t.Fatalf("after %v and gc: %+v", r.calls, f)
	}
	l = d.read(t)
	if !slices.Equal(numbers(l), left) {
		t.Fatalf("after %v gc changed the list from %v to %v", r.calls, left, numbers(l))
	}
	now := d.contents(t, l)
	for o, was := range before {
		if l.Objects()[o] && now[o] != was {
			t.Fatalf("after %v: %v is referred to, and was %q, is %q", r.calls, o, was, now[o])
		}
	}
	if got := snapshot(t, d.root); got != tree {
		t.Fatalf("the project was changed:\n%s", apart(got, tree))
	}
	return died
}

// TestDiscardCrash: a discard that is killed at any call has happened altogether
// or not at all, and never takes what another step refers to.
func TestDiscardCrash(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		d.history(rt)
		var steps, want []uint64
		for _, f := range d.read(rt).Families() {
			if rapid.Bool().Draw(rt, "discarded") {
				steps = append(steps, f.Number())
				for _, s := range f.Steps {
					want = append(want, s.Number)
				}
			}
		}
		slices.Sort(want)
		back := rapid.SliceOfN(rapid.Bool(), 64, 64).Draw(rt, "does not reach the disk")
		at := rapid.IntRange(0, 40).Draw(rt, "killed at")
		d.stopAt(rt, want, at, func(n int) bool { return back[n%len(back)] }, func() (*Removal, error) { return d.store.Discard(steps, false, false) })
	})
}

// TestDiscardEveryMoment kills a discard at each call in turn.
func TestDiscardEveryMoment(t *testing.T) {
	for at := 0; ; at++ {
		d := newDesk(t)
		d.fill(t)
		for _, name := range []string{"a", "dir/f", "dir/sub/g"} {
			d.begin(t)
			d.write(t, name, "changed")
			d.write(t, name+".new", "new")
			d.rename(t, name+".new", name)
			d.write(t, "empty", name)
			d.end(t)
			d.close(t)
		}
		if _, err := d.undo(t, Request{Steps: []uint64{3}}); err != nil {
			t.Fatal(err)
		}
		died := d.stopAt(t, []uint64{1, 3, 4}, at, func(int) bool { return false }, func() (*Removal, error) { return d.store.Discard([]uint64{1, 3}, false, false) })
		if _, err := d.undo(t, Request{Steps: []uint64{2}}); err != nil {
			t.Fatalf("killed at %d: undo of what stays: %v", at, err)
		}
		if got, _ := os.ReadFile(d.at("dir/f")); string(got) != "f" {
			t.Fatalf("killed at %d: undo of what stays gave %q", at, got)
		}
		if !died {
			if at < 10 {
				t.Fatalf("there were only %d calls", at)
			}
			return
		}
	}
}

// removals does everything that removes something, less of it first.
func (d *desk) removals() {
	_, _ = d.store.Verify()
	_, _ = d.store.Collect(false)
	l, err := d.store.Read()
	if err != nil {
		return
	}
	_, _ = d.store.Usage(l)
	for _, s := range l.Steps {
		_, _ = d.store.Discard([]uint64{s.Number}, false, false)
	}
	d.store.SetLimits(Limits{Bytes: 1, Steps: 1})
	_, _ = d.store.Collect(false)
	_, _ = d.store.Discard(nil, true, false)
}

// TestObjectsElsewhere: who makes a link of a directory of the store while it is
// open has nothing made or removed where that leads to.
func TestObjectsElsewhere(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	d.begin(t)
	d.write(t, "a", "changed")
	d.end(t)
	segment := d.w.Segment()
	d.close(t)
	out := t.TempDir()
	if err := os.WriteFile(out+"/"+segment, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before := snapshot(t, out)
	for _, name := range []string{"objects", "open"} {
		if err := os.RemoveAll(d.store.Dir() + "/" + name); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(out, d.store.Dir()+"/"+name); err != nil {
			t.Fatal(err)
		}
	}
	if w, err := d.store.NewWriter("run", []string{d.root}); err == nil {
		w.Close()
	}
	d.store.MarkClosed(segment)
	d.removals()
	if got := snapshot(t, out); got != before {
		t.Errorf("changed elsewhere:\n%s", apart(got, before))
	}
}
