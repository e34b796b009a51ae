package history

import (
	"errors"
	"os"

	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"

	"golang.org/x/sys/unix"
)

// stored looks at an object; Absent where there is none.
func (s *Store) stored(o journal.Object) (journal.State, error) {
	dir, err := s.objectsOf(o.Segment, false)
	if disk.Missing(err) || errors.Is(err, os.ErrNotExist) {
		return journal.State{}, nil
	}
	if err != nil {
		return journal.State{}, err
	}
	defer unix.Close(dir)
	return disk.StateAt(dir, journal.ObjectName(o.Number), disk.WithXattrs)
}

// contentNow is the version that a node has: a new one where another program has
// changed it.
func (p *present) contentNow(n *relate.Node, x *nodeNow) graph.Version {
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
func (p *present) isVersion(v *relate.Version, st *journal.State, x *nodeNow) bool {
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
func (p *present) sumNow(st *journal.State, x *nodeNow, like journal.Bytes) journal.Bytes {
	if len(x.names) == 0 {
		dir, err := p.store.objectsOf(x.anchor.Segment, false)
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
