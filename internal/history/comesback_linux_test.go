package history

import (
	"os"
	"testing"

	"carrel/internal/history/journal"
)

// TestRedoTakesAwayWhatCameBack: another program renames a file, or the directory that it is
// in, after the step. What an undo brings back in its place is another file, which the redo
// takes away.
func TestRedoTakesAwayWhatCameBack(t *testing.T) {
	type made struct{ from, to string }
	for _, c := range []struct {
		name string
		step []made // renamed by the step, after it has written dir/f
		user made   // renamed afterwards
	}{
		{"a file", []made{{"dir/f", "moved"}}, made{"moved", "mine"}},
		{"a file to another directory", []made{{"dir/f", "moved"}}, made{"moved", "own/mine"}},
		{"a directory", []made{{"dir", "moved"}}, made{"moved", "mine"}},
		{"a file that stays", nil, made{"dir/f", "own/mine"}},
		{"a directory that stays", nil, made{"dir", "mine"}},
	} {
		for _, mode := range []journal.Mode{journal.KeepBoth, journal.Force} {
			for _, links := range []bool{false, true} {
				for place, p := range places(t) {
					t.Run(c.name, func(t *testing.T) {
						d := p.desk(t)
						d.fill(t)
						by(t, os.Mkdir(d.at("own"), 0o700))
						if links {
							by(t, os.Link(d.at("dir/f"), d.at("dir/sub/second")))
						}
						d.begin(t)
						d.write(t, "dir/f", "by the step")
						for _, r := range c.step {
							d.rename(t, r.from, r.to)
						}
						d.end(t)
						d.close(t)
						by(t, os.Rename(d.at(c.user.from), d.at(c.user.to)))
						before := snapshot(t, d.root)
						for range 2 {
							if _, err := d.undo(t, Request{Steps: []uint64{1}, Mode: mode}); err != nil {
								t.Fatalf("%s, mode %v, links %v: undo: %v", place, mode, links, err)
							}
							l := d.read(t)
							u := l.Steps[len(l.Steps)-1]
							v, err := d.undo(t, Request{Steps: []uint64{u.Number}, Redo: true})
							if err != nil {
								t.Fatalf("%s, mode %v, links %v: redo: %v", place, mode, links, err)
							}
							if got := snapshot(t, d.root); got != before {
								t.Fatalf("%s, mode %v, links %v: after redo: %+v\n%s", place, mode, links, v.Plan, apart(got, before))
							}
						}
					})
				}
			}
		}
	}
}
