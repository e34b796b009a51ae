package writer

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/journal"
)

// A file may have names that no step has met. A step that writes to it by one name,
// and removes that, leaves no path at which its state could be looked at: the link
// that the store got has it.

// beyond writes down what the step left in such files.
func (w *closing) beyond() error {
	for id, g := range w.groups {
		changed, named, anchor := false, false, uint64(0)
		for _, m := range g.members {
			anchor = max(anchor, m.held)
			changed = changed || m.opened || m.touched
			named = named || m.at != nil && m.at.path() != ""
		}
		if !changed || named || anchor == 0 {
			continue
		}
		if err := w.writeBeyond(journal.Bytes(g.members[0].origin), id, anchor, g.grant); err != nil {
			return err
		}
	}
	return nil
}

// writeBeyond looks at a file by its link; by is what is known of how the step wrote to it,
// nil for nothing.
func (w *closing) writeBeyond(path journal.Bytes, id journal.ID, anchor uint64, by *grant) error {
	st, err := disk.StateAt(w.objects, journal.ObjectName(anchor), disk.WithXattrs)
	if err != nil || st.ID != id {
		return err
	}
	if by.closed() && (st.Size != by.left.Size || st.Mtime != by.left.Mtime) { // another program has written to it since
		st = by.leftWith(&st)
	}
	return w.write(&journal.Record{Beyond: &journal.Beyond{Path: path, State: st}})
}
