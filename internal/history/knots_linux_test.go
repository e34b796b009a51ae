package history

import (
	"os"
	"testing"
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
		{"of a file that has a second name now", []func(t *testing.T, d *desk){
			func(t *testing.T, d *desk) {
				d.write(t, "a", "changed")
				d.rename(t, "a", "n")
				d.link(t, "n", "m")
				d.write(t, "a", "another")
			},
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
