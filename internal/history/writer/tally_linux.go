package writer

import "carrel/internal/history/journal"

// Tally is what a step has done so far to what was there before it: files, and
// the bytes that they held.
type Tally struct {
	Removed, Replaced              int
	RemovedBytes, OverwrittenBytes int64
}

// Plus adds two up.
func (t Tally) Plus(u Tally) Tally {
	return Tally{t.Removed + u.Removed, t.Replaced + u.Replaced, t.RemovedBytes + u.RemovedBytes, t.OverwrittenBytes + u.OverwrittenBytes}
}

// count adds to the tally what is about to be destroyed for the first time, if the
// step did not make it.
func (w *preimages) count(c *Change, s *slot) {
	o := s.is
	if o == nil || o.origin == "" || c.Op == Content && o.written {
		return
	}
	look := w.glance
	if !s.kept { // it will be written down
		look = w.look
	}
	st, err := look(s)
	if err != nil || st.Kind != journal.File || w.unwanted(o, &st) {
		return
	}
	c.Destroys = true
	if o.counted || c.Op == Content && o.content {
		return
	}
	switch c.Op {
	case Content:
		w.tally.OverwrittenBytes += st.Size
		return // it can still be removed
	case Remove:
		w.tally.Removed++
	case Rename:
		w.tally.Replaced++
	}
	o.counted = true
	w.tally.RemovedBytes += st.Size
}
