package writer

import (
	"slices"

	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// A call that fails changes nothing, but what it could have destroyed is in the
// journal by then. If no other call of the step has changed that path, the end of
// the step withdraws the record: the path is none of the step's.

// begin counts a change for all that it touches, until it is known to have failed.
func (c *Change) begin(slots ...*slot) {
	n := 0
	count := func(changes *int) {
		*changes++
		c.changes[n], n = changes, n+1
	}
	for _, s := range slots {
		if s == nil {
			continue
		}
		count(&s.changes)
		if s.dir != nil {
			count(&s.dir.changes)
		}
		if s.is != nil {
			count(&s.is.changes)
		}
		if s.is != nil && s.is.group != nil {
			count(&s.is.group.changes)
		}
	}
}

// puts notes at which slot a change puts or changes something, until it is over: what is
// seen there meanwhile may be its work.
func (c *Change) puts(s, to *slot) {
	c.putOver()
	switch c.Op {
	case Make, Content, Meta:
		c.at = s
	case Link, Rename, Exchange:
		c.at = to
	}
	if c.at != nil {
		c.at.pending++
	}
}

// putOver takes back what puts has noted.
func (c *Change) putOver() {
	if c.at != nil {
		c.at.pending--
		c.at = nil
	}
}

// fail takes back what begin has counted.
func (c *Change) fail() {
	for i, changes := range c.changes {
		if changes != nil {
			*changes--
			c.changes[i] = nil
		}
	}
}

// changed reports whether a change of a name, or of what is there, did not fail.
func (s *slot) changed() bool {
	o := s.is
	return s.changes > 0 || o != nil && (o.changes > 0 || o.group != nil && o.group.changes > 0)
}

// stirred reports whether keeping a file for calls that failed has given it another time of
// change. A step that was before this one is told so: it has no other way to know the file
// for the one that it left.
func stirred(s *slot, in *disk.DirWalk) bool {
	o := s.is
	if o == nil || !o.meta || o.found == nil || o.found.Kind != journal.File || o.found.Size <= disk.SumBytes {
		return false
	}
	now, err := lookThrough(in, s.path())
	return err == nil && now.ID == o.found.ID && now.Size == o.found.Size && now.Mtime == o.found.Mtime && now.Ctime != o.found.Ctime
}

// withdraw takes back what the journal says of a path that only failed calls have
// touched. If the step goes on, the next change there keeps all of it again.
func (w *closing) withdraw(s *slot) error {
	o := s.is
	written := s.kept && s.origin() != "" || o != nil && o.meta && o.origin != ""
	if !written {
		s.used = false
		return nil
	}
	if err := w.void(journal.Bytes(s.origin())); err != nil {
		return err
	}
	s.kept, s.used = false, false
	if o == nil || o.origin == "" {
		s.is = &object{origin: s.origin(), at: s}
		return nil
	}
	if o.group == nil || !o.group.holdsBut(o) {
		w.unuse(o.held)
	}
	if o.copy != nil {
		w.unuse(o.copy.Object.Number)
	}
	if g := o.group; g != nil {
		delete(w.groups, g.state.ID)
	}
	*o = object{origin: o.origin, at: s, names: o.names, mayLose: o.mayLose, counted: o.counted, opened: o.opened, written: o.written}
	return nil
}

// holdsBut reports whether another name of a file refers to the same link in the store.
func (g *group) holdsBut(o *object) bool {
	return slices.ContainsFunc(g.members, func(m *object) bool { return m != o && m.held == o.held })
}
