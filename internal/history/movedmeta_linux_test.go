package history

import (
	"fmt"
	"os"
	"testing"
	"time"
)

// TestMetaOfMovedDirectories: a directory keeps its own mode and times where it comes to
// the place of another one and a file in it is written anew.
func TestMetaOfMovedDirectories(t *testing.T) {
	for _, c := range []struct {
		name  string
		links []string // files that have another name
		step  func(t *testing.T, d *desk)
	}{
		{"each in the other's place", []string{"own/f", "dir/f"}, func(t *testing.T, d *desk) {
			d.exchange(t, "own", "dir")
			d.write(t, "own/f", "one")
			d.write(t, "dir/f", "two")
		}},
		{"in the place of one that goes", []string{"own/f"}, func(t *testing.T, d *desk) {
			d.removeAll(t, "dir")
			d.rename(t, "own", "dir")
			d.write(t, "dir/f", "one")
		}},
	} {
		for _, links := range [][]string{nil, c.links} {
			for name, place := range places(t) {
				t.Run(c.name+", "+name, func(t *testing.T) {
					d := place.desk(t)
					d.fill(t)
					old := time.Unix(2e9, 5)
					by(t, os.Mkdir(d.at("own"), 0o700), os.WriteFile(d.at("own/f"), []byte("mine"), 0o600))
					for i, name := range links {
						by(t, os.Link(d.at(name), d.at(fmt.Sprint("m", i))))
					}
					by(t, os.Chtimes(d.at("own"), old, old))
					before := snapshot(t, d.root)
					d.begin(t)
					c.step(t, d)
					d.end(t)
					d.close(t)
					after := snapshot(t, d.root)
					d.undoAndRedo(t, "first", before, after)
					d.undoAndRedo(t, "again", before, after)
				})
			}
		}
	}
}
