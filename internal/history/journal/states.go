package journal

// Ignored is why something is not kept that the user does not want kept.
const Ignored = "ignored by history.ignore"

// Mounted is why what a step does on a file system that is mounted in a root is not kept:
// only that there was something is known of it, and nothing of its state.
const Mounted = "it is on another file system, mounted in the project"

// Apart says whether all that is known of a path is that a step did something there, on a
// file system that is mounted in a root.
func (p *Pre) Apart() bool { return p.Lost == Mounted && p.State.Kind == Absent }

// RewrittenSince says whether a file may hold something else than before. Whoever
// writes to it can give it its size and its time back, but not its time of change.
func RewrittenSince(now, was *State) bool {
	return now.Size != was.Size || now.Mtime != was.Mtime || was.Size > 0 && (now.ID != was.ID || now.Ctime != was.Ctime)
}

// AsLeft says whether what is found is what a step left. Of a directory only
// that it is one, with its mode, counts: its times change with what is in it.
func AsLeft(found, left *State) bool {
	if found.Kind != left.Kind {
		return false
	}
	switch found.Kind {
	case File:
		// What happens to one of several names changes the time of all of them.
		return found.ID == left.ID && found.Size == left.Size && found.Mtime == left.Mtime &&
			(found.Ctime == left.Ctime || found.Links > 1 || left.Links > 1)
	case Symlink:
		return found.Target == left.Target
	case Dir:
		return found.Mode == left.Mode
	}
	return true
}

// Same says whether two states are of one object with one content, whichever
// that is for a size below 0.
func Same(a, b *State) bool {
	return a.Kind == b.Kind && a.ID == b.ID && (a.Kind != File || b.Size < 0 || a.Size == b.Size && a.Mtime == b.Mtime)
}

// Like says whether an object is a copy of what had a state, or is that itself.
func Like(copied, of *State) bool {
	return copied.Kind == of.Kind && (copied.Kind != File || of.Size < 0 || copied.Size == of.Size && copied.Mtime == of.Mtime)
}

// Interchangeable says whether two files may have one content. Of several names of a file
// none can be replaced alone.
func Interchangeable(found, left *State) bool {
	return len(left.Sum) > 0 && found.Kind == File && left.Kind == File && found.Size == left.Size &&
		found.Mode == left.Mode && found.UID == left.UID && found.GID == left.GID && found.Links == 1 && left.Links == 1
}
