package undo

import (
	"fmt"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"

	"golang.org/x/sys/unix"
)

// anchorsOf finds what the store has of the inode of a node.
func (p *looker) anchorsOf(n *relate.Node, x *nodeNow) {
	for _, o := range n.Anchors {
		st := p.stored(o)
		if st.Kind == journal.Absent || st.ID != n.ID {
			continue
		}
		x.anchor, x.held = o, st
		x.anchors++
	}
	linked := x.anchors
	for _, v := range n.Versions {
		if o := p.Versions[v].Object; o != (journal.Object{}) && p.stored(o).ID == n.ID {
			linked++
		}
	}
	st := &x.state
	if st.Kind == journal.Absent {
		st = &x.held
	}
	if st.Kind != journal.Absent && st.Kind != journal.Dir {
		x.unmet = max(0, int(st.Links)-len(x.names)-linked)
	}
}

// stored asks the store, once for each object; a failure is told in the end.
func (p *looker) stored(o journal.Object) journal.State {
	if st, known := p.objects[o]; known {
		return st
	}
	st, err := p.store.Stored(o)
	if err != nil && p.failed == nil {
		p.failed = fmt.Errorf("looking at %s of %s in the history: %w", journal.ObjectName(o.Number), o.Segment, err)
	}
	p.objects[o] = st
	return st
}

// contentNow is the version that a node has: a new one where another program has
// changed it.
func (p *looker) contentNow(n *relate.Node, x *nodeNow) graph.Version {
	if n.Root != "" {
		return n.Content
	}
	st := &x.state
	if st.Kind == journal.Absent {
		if x.unmet == 0 {
			return graph.Dead
		}
		st = &x.held
	}
	if _, again := p.rebound[n.Number]; again && n.Content == graph.Dead && st.Kind == journal.Dir {
		return n.Versions[0] // see [relate.Relations.Stood]
	}
	if n.Content == graph.Dead {
		return p.Relations.NewVersion(n.Number, st)
	}
	if st.Kind != journal.File || p.isVersion(p.Versions[n.Content], st, x) {
		return n.Content
	}
	return p.Relations.NewVersion(n.Number, st)
}

// isVersion reports whether a file has a version. Where only its time of change is
// another, its names or its metadata may have changed: the content decides.
func (p *looker) isVersion(v *relate.Version, st *journal.State, x *nodeNow) bool {
	was := &v.State
	if st.Size != was.Size {
		return false
	}
	if st.Mtime == was.Mtime && (st.Ctime == was.Ctime && st.ID == was.ID || was.Ctime == relate.UnknownCtime || was.Links == 0) {
		return true
	}
	if st.Size == 0 {
		return true
	}
	if len(was.Sum) > 0 {
		return p.sumNow(st, x, was.Sum) == was.Sum
	}
	return st.Mtime == was.Mtime && (st.Links != was.Links || metaDiffers(st, was))
}

func metaDiffers(a, b *journal.State) bool {
	return a.Mode != b.Mode || a.UID != b.UID || a.GID != b.GID || !journal.SameXattrs(a, b)
}

// sumNow gives the SHA-256 of a file that was looked at, "" where it cannot be read.
func (p *looker) sumNow(st *journal.State, x *nodeNow, like journal.Bytes) journal.Bytes {
	if len(x.names) == 0 {
		dir, err := p.store.ObjectsOf(x.anchor.Segment, false)
		if err != nil {
			return ""
		}
		defer unix.Close(dir)
		return disk.SumAt(dir, journal.ObjectName(x.anchor.Number), st, like)
	}
	dir, name, err := disk.ParentIn(p.roots, p.path(x.names[0]))
	if err != nil {
		return ""
	}
	defer unix.Close(dir)
	return disk.SumAt(dir, name, st, like)
}
