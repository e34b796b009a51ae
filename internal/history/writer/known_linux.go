package writer

import "carrel/internal/history/journal"

// knowledge is what the open step knows: names by its tree, files by their inodes.
type knowledge struct {
	segmentWriter
	view
	tree   *tree
	groups map[journal.ID]*group
	inodes map[journal.ID]*object // without the time of birth, see known
	raced  bool                   // calls of the step raced for a name, see arrived
}

// asFound gives the state in which the step found what is as it is now: by this
// name or by another one of the same file.
func (w *knowledge) asFound(o *object, now *journal.State) *journal.State {
	found := now
	if o != nil && o.found != nil {
		found = o.found
	} else if g := w.groups[now.ID]; g != nil {
		found = &g.state
	}
	if found == now || found.ID != now.ID {
		return now
	}
	st := *found
	return &st
}

// inode is what tells one file from another while a step goes on: on an overlay the time
// of birth is another one once a file of a lower layer was changed.
func (w *knowledge) inode(id journal.ID) journal.ID {
	if w.layered {
		id.Birth = 0
	}
	return id
}

// isInode reports whether two are the same inode, as far as both are known.
func (w *knowledge) isInode(a, b journal.ID) bool {
	if a.Birth == 0 || b.Birth == 0 {
		a.Birth, b.Birth = 0, 0
	}
	return w.inode(a) == w.inode(b)
}

// sameContent reports whether a file has not been written to since it was looked at; names
// may have come and gone.
func (w *knowledge) sameContent(now, was *journal.State) bool {
	return now.Kind == was.Kind && w.isInode(now.ID, was.ID) && now.Size == was.Size && now.Mtime == was.Mtime
}

// knows notes by its inode what an object is.
func (w *knowledge) knows(o *object, id journal.ID) {
	o.id = id
	if id != (journal.ID{}) && w.inodes != nil { // nil for a step of a killed writer
		w.inodes[journal.ID{Dev: id.Dev, Ino: id.Ino}] = o
	}
}

// known gives what the step knows of an inode, nil for nothing: a number that the file
// system has given again is of another one.
func (w *knowledge) known(id journal.ID) *object {
	o := w.inodes[journal.ID{Dev: id.Dev, Ino: id.Ino}]
	if o == nil || !w.isInode(o.id, id) {
		return nil
	}
	return o
}

// unwanted says whether the content of a file is not wanted. It is asked for what a
// step has met by one name only.
func (w *knowledge) unwanted(o *object, st *journal.State) bool {
	return w.ignored != nil && st.Links < 2 && w.groups[st.ID] == nil && w.ignored(o.origin)
}
