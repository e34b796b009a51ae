package history

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"

	"carrel/internal/history/disk"
)

// second gives a desk on the same root and store, with a writer of its own.
func (d *desk) second(t fataler) *desk {
	store, err := Open(d.store.Dir())
	if err != nil {
		t.Fatalf("%v", err)
	}
	d.t.Cleanup(store.Close)
	return &desk{t: d.t, root: d.root, store: store}
}

// TestTwoWriters: two runs at once, each taken back by itself where they kept out
// of each other's way, and together where not.
func TestTwoWriters(t *testing.T) {
	for name, c := range map[string]struct {
		do       func(t *testing.T, a, b *desk)
		conflict bool // each alone
		together bool
	}{
		"different files": {func(t *testing.T, a, b *desk) {
			a.write(t, "a", "by the first")
			b.write(t, "dir/f", "by the second")
			a.write(t, "dir/new", "by the first")
			b.removeAll(t, "dir/sub")
		}, false, true},
		"the same, one after the other": {func(t *testing.T, a, b *desk) {
			a.write(t, "a", "by the first")
			b.write(t, "a", "by the second!")
		}, true, true},
		"the same, the second first": {func(t *testing.T, a, b *desk) {
			b.write(t, "a", "by the second")
			a.write(t, "a", "by the first!")
			a.write(t, "new", "x")
		}, true, false},
	} {
		for order := range 3 {
			t.Run(fmt.Sprintf("%s %d", name, order), func(t *testing.T) {
				a := newDesk(t)
				a.fill(t)
				b := a.second(t)
				before := snapshot(t, a.root)
				a.begin(t)
				b.begin(t)
				c.do(t, a, b)
				if order == 1 {
					a.end(t)
					b.end(t)
				} else {
					b.end(t)
					a.end(t)
				}
				a.close(t)
				b.close(t)
				after := snapshot(t, a.root)
				for _, steps := range [][]uint64{{2}, {1}} {
					_, err := a.undo(t, Request{Steps: steps})
					var refused *ConflictError
					if errors.As(err, &refused) != c.conflict || !c.conflict && err != nil {
						t.Fatalf("undo of %d: %v", steps, err)
					}
					if got := snapshot(t, a.root); c.conflict && got != after {
						t.Fatalf("refused, and changed:\n%s", apart(got, after))
					}
				}
				if c.conflict {
					if _, err := a.undo(t, Request{Steps: []uint64{1, 2}}); (err == nil) != c.together {
						t.Fatalf("undo of both: %v", err)
					}
				}
				if got := snapshot(t, a.root); (!c.conflict || c.together) && got != before {
					t.Fatalf("after undo of both:\n%s", apart(got, before))
				}
			})
		}
	}
}

// TestRunAfterAKill: a run begins where another was killed, before anybody closed
// that.
func TestRunAfterAKill(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		d := newDesk(t)
		d.fill(t)
		trees := []string{snapshot(rt, d.root)}
		for i := range 3 {
			d.begin(rt)
			for range rapid.IntRange(1, 6).Draw(rt, "changes") {
				d.random(rt)
			}
			trees = append(trees, snapshot(rt, d.root))
			if i == 2 || rapid.Bool().Draw(rt, "killed") {
				d.kill()
			} else {
				d.end(rt)
				d.close(rt)
			}
		}
		if _, err := d.store.Recover([]string{d.root}); err != nil {
			rt.Fatalf("recovering: %v", err)
		}
		k := rapid.IntRange(1, 3).Draw(rt, "taken back")
		steps := []uint64{3, 2, 1}[:k]
		if rapid.Bool().Draw(rt, "at once") {
			if _, err := d.undo(rt, Request{Steps: steps}); err != nil {
				rt.Fatalf("undo: %v", err)
			}
		} else {
			for _, n := range steps {
				if _, err := d.undo(rt, Request{Steps: []uint64{n}}); err != nil {
					rt.Fatalf("undo of %d: %v", n, err)
				}
			}
		}
		if got, want := snapshot(rt, d.root), trees[3-k]; got != want {
			rt.Fatalf("after undo of %d:\n%s", k, apart(got, want))
		}
	})
}

// TestManyAtOnce: changes of many threads, some of which fail, with renames that
// have everything to themselves, as the broker sees to it.
func TestManyAtOnce(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	for i := range 40 {
		if err := os.WriteFile(d.at(fmt.Sprintf("f%d", i)), []byte("before"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, d.root)
	d.begin(t)
	var exclusive sync.RWMutex
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 100 {
				d.oneOfMany(&exclusive, g, i)
			}
		})
	}
	all.Wait()
	after := snapshot(t, d.root)
	d.end(t)
	d.close(t)
	d.undoAndRedo(t, "many at once", before, after)
}

func (d *desk) oneOfMany(exclusive *sync.RWMutex, g, i int) {
	at, to := d.at(fmt.Sprintf("f%d", (g*7+i*3)%40)), d.at(fmt.Sprintf("f%d", (g+i*5)%40))
	rename := i%10 == 9
	if rename {
		exclusive.Lock()
		defer exclusive.Unlock()
	} else {
		exclusive.RLock()
		defer exclusive.RUnlock()
	}
	switch {
	case rename:
		_ = d.careful(Rename, at, to, func() error { return os.Rename(at, to) })
	case i%5 == 0:
		_ = d.careful(Remove, at, "", func() error { return os.Remove(at) })
	case i%5 == 1:
		_ = d.careful(Remove, at, "", func() error { return unix.EPERM }) // and it stays
	case i%5 == 2:
		_ = d.careful(Make, at, "", func() error {
			fd, err := unix.Open(at, unix.O_CREAT|unix.O_EXCL|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
			if err == nil {
				unix.Close(fd)
			}
			return err
		})
	case i%5 == 3:
		_ = d.careful(Meta, at, "", func() error { return os.Chmod(at, 0o600) })
	default:
		_ = d.careful(Content, at, "", func() error {
			fd, err := unix.Open(at, unix.O_WRONLY|unix.O_TRUNC|unix.O_CLOEXEC, 0)
			if err == nil {
				_, err = unix.Write(fd, []byte(fmt.Sprintf("by %d.%d", g, i)))
				unix.Close(fd)
			}
			return err
		})
	}
}

// TestEditorDuringAnUndo: somebody saves while an undo is at work. What they
// wrote is somewhere afterwards: in its place, beside it, or in what the undo keeps.
func TestEditorDuringAnUndo(t *testing.T) {
	for name, p := range places(t) {
		for _, rename := range []bool{true, false} {
			for at := p.first; ; at += p.stride {
				d := p.desk(t)
				d.fill(t)
				d.begin(t)
				d.write(t, "a", "by the step")
				d.write(t, "dir/f", "by the step")
				d.write(t, "new", "by the step")
				d.end(t)
				d.close(t)
				n, saved := 0, false
				disk.Trial = func(string) error {
					if n++; n == at+1 {
						saved = true
						for _, f := range []string{"a", "new"} {
							if rename {
								_ = os.WriteFile(d.at("mine"), []byte("by the user, "+f), 0o600)
								_ = os.Rename(d.at("mine"), d.at(f))
							} else if _, err := os.Lstat(d.at(f)); err == nil {
								_ = os.WriteFile(d.at(f), []byte("by the user, "+f), 0o600)
							}
						}
					}
					return nil
				}
				_, err := d.undo(t, Request{Steps: []uint64{1}})
				disk.Trial = nil
				if !saved {
					break
				}
				when := fmt.Sprintf("%s, saved at %d (%v), %v", name, at, rename, err)
				want := []string{"by the user, a"}
				if rename {
					want = append(want, "by the user, new")
				}
				for _, text := range want {
					if !holds(t, d.root, text) && !holds(t, d.store.Dir()+"/objects", text) {
						t.Fatalf("%s: %q is lost", when, text)
					}
				}
			}
		}
	}
}

// holds says whether any file below a directory has a content.
func holds(t testing.TB, dir, text string) bool {
	t.Helper()
	found := false
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		at := dir + "/" + e.Name()
		switch {
		case e.IsDir():
			found = found || holds(t, at, text)
		case e.Type().IsRegular():
			data, _ := os.ReadFile(at)
			found = found || string(data) == text
		}
	}
	return found
}

// TestRemovedAndMadeAtOnce: of a removal and a creation of one name by two threads the
// history may be told in the other order.
func TestRemovedAndMadeAtOnce(t *testing.T) {
	d := newDesk(t)
	d.fill(t)
	before := snapshot(t, d.root)
	d.begin(t)
	d.write(t, "x", "made first")
	remove, create := Change{Op: Remove, Path: d.at("x")}, Change{Op: Make, Path: d.at("x")}
	for _, c := range []*Change{&remove, &create} {
		if err := d.w.Before(c); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(os.Remove(d.at("x")), os.WriteFile(d.at("x"), []byte("made"), 0o600)); err != nil {
		t.Fatal(err)
	}
	d.w.After(&create, nil)
	d.w.After(&remove, nil)
	after := snapshot(t, d.root)
	d.end(t)
	d.close(t)
	d.undoAndRedo(t, "at once", before, after)
}
