package undo

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"

	"golang.org/x/sys/unix"
)

// holdsBytes bounds the files that are compared byte by byte.
const holdsBytes = 16 << 20

// Holds implements [graph.Present].
func (p *present) Holds(n graph.Node, v graph.Version) bool {
	x, st := p.Versions[v], p.now(n).state
	if st.Kind != journal.File || x.State.Kind != journal.File || st.Size != x.State.Size || st.Size > holdsBytes {
		return false
	}
	if st.Size == 0 {
		return true
	}
	dir, name, err := disk.ParentIn(p.roots, p.path(p.now(n).names[0]))
	if err != nil || x.Object == (journal.Object{}) {
		return false
	}
	defer unix.Close(dir)
	sum := disk.SumAt(dir, name, &st, "")
	return len(sum) > 0 && p.store.HasSum(x.Object, sum)
}
