package history

import (
	"os"
	"testing"

	"pgregory.net/rapid"
)

func (d *desk) link(t fataler, from, to string) {
	t.Helper()
	d.act(t, Link, d.at(from), d.at(to), func() error { return os.Link(d.at(from), d.at(to)) })
}

// TestNamesUsedAgain: a name that got another meaning, and what had it before is
// somewhere else; all steps are taken back at once.
func TestNamesUsedAgain(t *testing.T) {
	fails := func(t *testing.T, d *desk, name string) {
		d.act(t, Remove, d.at(name), "", func() error {
			err := os.Remove(d.at(name))
			if err == nil {
				t.Fatalf("%s was there", name)
			}
			return err
		})
	}
	for _, c := range []struct {
		name  string
		steps []func(t *testing.T, d *desk)
	}{
		{"looked for where a directory was", []func(t *testing.T, d *desk){
			func(t *testing.T, d *desk) { d.write(t, "dir/f", "changed") },
			func(t *testing.T, d *desk) { d.rename(t, "dir", "b") },
			func(t *testing.T, d *desk) { fails(t, d, "dir/f"); d.write(t, "a", "changed") },
		}},
		{"looked for where a file is now", []func(t *testing.T, d *desk){
			func(t *testing.T, d *desk) { d.rename(t, "dir/sub/g", "dir/f") },
			func(t *testing.T, d *desk) { d.rename(t, "dir", "b"); d.write(t, "dir", "") },
			func(t *testing.T, d *desk) { fails(t, d, "dir/f"); d.write(t, "dir", "file") },
		}},
		{"in another directory of the same name", []func(t *testing.T, d *desk){
			func(t *testing.T, d *desk) { d.write(t, "dir/f", "changed"); d.remove(t, "dir/link") },
			func(t *testing.T, d *desk) { d.rename(t, "dir", "b"); d.mkdir(t, "dir") },
			func(t *testing.T, d *desk) { d.write(t, "dir/f", "another"); d.write(t, "b/f", "once more") },
		}},
		{"of one that took the place of another's name", []func(t *testing.T, d *desk){
			func(t *testing.T, d *desk) {
				d.write(t, "a", "changed")
				d.rename(t, "l1", "n")
				d.rename(t, "a", "n")
				d.link(t, "n", "m")
				d.write(t, "a", "")
			},
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t)
			d.fill(t)
			before := snapshot(t, d.root)
			for _, do := range c.steps {
				d.begin(t)
				do(t, d)
				d.end(t)
			}
			d.close(t)
			d.undoAndRedo(t, "at once", before, snapshot(t, d.root))
		})
	}
}

// TestUndoOfKnotsApart: where the store is on another file system, what does not
// come back is told, but for a file that the step made with several names: it can
// become one of each.
func TestUndoOfKnotsApart(t *testing.T) {
	apartFrom := &place{root: memory(t), store: memory(t)}
	rapid.Check(t, func(rt *rapid.T) {
		d := apartFrom.desk(t)
		defer d.drop()
		before, after := d.knots(rt)
		before, after = alone(before), alone(after)
		req, want, whole := Request{Steps: []uint64{1}}, before, true
		for i := range 4 {
			v, err := d.undo(rt, req)
			if err != nil {
				rt.Fatalf("%d: %v", i, err)
			}
			whole = whole && len(v.Plan.Unrestorable) == 0
			if got := alone(snapshot(rt, d.root)); whole && got != want {
				rt.Fatalf("after %d:\n%s", i, apart(got, want))
			}
			if req, want = (Request{Steps: []uint64{1}}), before; i%2 == 0 {
				req, want = Request{Steps: []uint64{last(d.read(rt).Steps).Number}, Redo: true}, after
			}
		}
	})
}
