package writer

import "carrel/internal/history/journal"

// unwanted says whether the content of a file is not wanted. It is asked for what a
// step has met by one name only.
func (w *Writer) unwanted(o *object, st *journal.State) bool {
	return w.ignored != nil && st.Links < 2 && w.groups[st.ID] == nil && w.ignored(o.origin)
}

// marked notes in a record that what it is about is not wanted, so that an undo
// leaves it alone whatever is configured then.
func (w *Writer) marked(p *journal.Pre) {
	if p != nil && w.ignored != nil && !p.Stayed && p.Object == (journal.Object{}) && p.Inode == (journal.Object{}) && w.ignored(string(p.Path)) {
		p.Lost = journal.Ignored
	}
}
