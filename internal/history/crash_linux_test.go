package history

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"golang.org/x/sys/unix"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// killed is what a process ends with that is killed in the middle.
type killed struct{}

// crash does something, and ends it at one of the calls that change a store or a
// tree: nothing after that is done, not even what is deferred. It says whether it
// came that far.
func crash(at int, do func()) (died bool) {
	n := 0
	disk.Trial = func(call string) error {
		switch call {
		case "look", "open":
			return nil
		}
		if n++; n > at {
			panic(killed{})
		}
		return nil
	}
	defer func() {
		disk.Trial = nil
		if r := recover(); r != nil {
			if _, ok := r.(killed); !ok {
				panic(r)
			}
			died = true
		}
	}()
	do()
	return false
}

// tear leaves a part of a record at the end of each journal, as a write does
// that was cut off.
func (d *desk) tear() {
	names, _ := filepath.Glob(d.store.Dir() + "/journal/*")
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			d.t.Fatal(err)
		}
		at := 0
		for {
			_, n := journal.Decode(data[at:])
			if n == 0 {
				break
			}
			at += n
		}
		part := append([]byte{40, 0, 0, 0}, 1, 2, 3, 4, 0xa5, 1)
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err != nil {
			d.t.Fatal(err)
		}
		if _, err := f.WriteAt(part, int64(at)); err != nil {
			d.t.Fatal(err)
		}
		f.Close()
	}
}

// recover does what the next command does, killed again at each moment in turn.
func (d *desk) recover(t *testing.T) {
	t.Helper()
	for i := 0; ; i += step(i) {
		if i > 10_000 {
			t.Fatal("recovering does not come to an end")
		}
		var err error
		if crash(i, func() { _, err = d.store.Recover([]string{d.root}) }) {
			continue
		}
		if err != nil {
			t.Fatalf("recovering: %v", err)
		}
		break
	}
	if again, err := d.store.Recover([]string{d.root}); err != nil || len(again) > 0 {
		t.Fatalf("recovering once more: %v %v", again, err)
	}
}

// place is where a root and its store are.
type place struct {
	root, store   string
	first, stride int // moments of kills
}

// step is by how much a moment of a kill moves on: soaking takes each, and
// otherwise the later ones are further apart.
func step(at int) int {
	if os.Getenv("CARREL_SOAK") == "1" {
		return 1
	}
	return 1 + at/2
}

// places are a root and a store on one file system, on two, and on one that is
// mounted twice.
func places(t *testing.T) map[string]*place {
	one, two := memory(t), memory(t)
	a, b := 1, 1
	if os.Getenv("CARREL_SOAK") != "1" {
		a, b = 3, 7
	}
	return map[string]*place{"one file system": {one, one, rand.IntN(a), a}, "two": {one, two, rand.IntN(b), b},
		"one, mounted twice": {one, again(t, one), rand.IntN(3 * b), 3 * b}}
}

// again mounts a directory at another place, too: nothing can be moved between the two.
func again(t *testing.T, at string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount(at, dir, "", unix.MS_BIND, ""); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// desk makes a desk there.
func (p *place) desk(t *testing.T) *desk {
	t.Helper()
	var at [2]string
	for i, base := range []string{p.root, p.store} {
		dir, err := os.MkdirTemp(base, "desk")
		if err != nil {
			t.Fatal(err)
		}
		at[i] = dir
	}
	d := newDeskAt(t, at[0], at[1])
	d.apart = p.root != p.store
	return d
}

// drop lets go of a desk before the test is over: soaking makes thousands.
func (d *desk) drop() {
	d.store.Close()
	_ = os.RemoveAll(filepath.Dir(d.root))
	_ = os.RemoveAll(filepath.Dir(d.store.Dir()))
}

// memory mounts a file system of its own.
func memory(t *testing.T) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("mounting a file system takes root")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "size=1g"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

// TestKilledInAStep: at every moment. The next command finds the tree as it was
// at the kill, and taking the step back gives the one before it.
func TestKilledInAStep(t *testing.T) {
	for name, place := range places(t) {
		for _, c := range oneStep {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				for at := place.first; ; at += place.stride {
					d := place.desk(t)
					d.fill(t)
					before := snapshot(t, d.root)
					died := crash(at, func() { d.begin(t); c.do(t, d); d.end(t); d.close(t) })
					if !died {
						break
					}
					if d.w != nil {
						d.kill()
					}
					if at%2 == 1 {
						d.tear()
					}
					tree := snapshot(t, d.root)
					d.recover(t)
					if got := snapshot(t, d.root); got != tree {
						t.Fatalf("killed at %d: recovering changed the tree:\n%s", at, apart(got, tree))
					}
					d.undoAndRedo(t, fmt.Sprintf("killed at %d", at), before, tree)
					d.drop()
				}
			})
		}
	}
}

// undoAndRedo takes all steps back, and makes them again.
func (d *desk) undoAndRedo(t *testing.T, when, before, after string) {
	t.Helper()
	same := func(got, want string) bool { return got == want || d.apart && alone(got) == alone(want) }
	l := d.read(t)
	var steps []uint64
	for _, s := range slices.Backward(l.Changes()) {
		if s.Open() {
			t.Fatalf("%s: step %d is open", when, s.Number)
		}
		if !l.Undone(s) {
			steps = append(steps, s.Number)
		}
	}
	if len(steps) > 0 {
		if _, err := d.undo(t, Request{Steps: steps}); err != nil {
			t.Fatalf("%s: undo: %v", when, err)
		}
	}
	if got := snapshot(t, d.root); !same(got, before) {
		t.Fatalf("%s: after undo:\n%s", when, apart(got, before))
	}
	n := len(steps)
	for l = d.read(t); n > 0; n-- {
		u := l.Steps[len(l.Steps)-1-(len(steps)-n)]
		if _, err := d.undo(t, Request{Steps: []uint64{u.Number}, Redo: true}); err != nil {
			t.Fatalf("%s: redo: %v", when, err)
		}
	}
	if got := snapshot(t, d.root); len(steps) > 0 && !same(got, after) {
		t.Fatalf("%s: after redo:\n%s", when, apart(got, after))
	}
}

// alone is a snapshot that does not tell which names are of one file.
func alone(tree string) string {
	return regexp.MustCompile(`(?m) = /.*$`).ReplaceAllString(tree, "")
}

// TestKilledInAnUndo: at every moment, and at every moment of recovering after
// that. The next command finishes it, or it never was.
func TestKilledInAnUndo(t *testing.T) {
	for name, place := range places(t) {
		for _, c := range oneStep {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				for at := place.first; ; at += place.stride {
					d := place.desk(t)
					d.fill(t)
					before := snapshot(t, d.root)
					d.begin(t)
					c.do(t, d)
					d.end(t)
					d.close(t)
					after := snapshot(t, d.root)
					var err error
					died := crash(at, func() { _, err = d.undo(t, Request{Steps: []uint64{1}}) })
					if !died && err != nil {
						t.Fatal(err)
					}
					if died && at%2 == 1 {
						d.tear()
					}
					d.recover(t)
					when := fmt.Sprintf("killed at %d", at)
					if got := snapshot(t, d.root); got != before && got != after {
						t.Fatalf("%s: neither before nor after:\n%s\n%s", when, apart(got, before), apart(got, after))
					}
					if l := d.read(t); l.Undone(l.Step(1)) {
						if got := snapshot(t, d.root); got != before {
							t.Fatalf("%s: said to be taken back, but:\n%s", when, apart(got, before))
						}
						u := l.Steps[len(l.Steps)-1].Number
						if _, err := d.undo(t, Request{Steps: []uint64{u}, Redo: true}); err != nil {
							t.Fatalf("%s: redo: %v", when, err)
						}
						if got := snapshot(t, d.root); got != after {
							t.Fatalf("%s: after redo:\n%s", when, apart(got, after))
						}
					}
					d.undoAndRedo(t, when, before, after)
					d.drop()
					if !died {
						break
					}
				}
			})
		}
	}
}
