package review

import "carrel/internal/review/replay"

// What says how a path differs.
type What string

// What becomes of a path.
const (
	Added    What = "added"
	Modified What = "modified" // another content, or another kind of thing
	Removed  What = "removed"
	Mode     What = "mode"   // its mode or attributes
	Time     What = "time"   // its time alone
	Linked   What = "linked" // it is another name of a file that has the same content
)

// Change is one path that a layer changes.
type Change struct {
	Tree     int
	Path     string // below the tree
	What     What
	Was, Now replay.Stat
	To       string // of a symlink
	Conflict string // what others have done since the layer began, "" for nothing
	Refused  string // why it is not applied whatever happens, "" for nothing

	attrs   map[string][]byte
	replace bool // the file is another one than below, not that one changed
}

// member is one of the names of a file in an upper directory.
type member struct {
	path   string
	was    replay.Stat
	now    replay.Stat
	change *Change // nil where the name is as it is below
}

// directory is one that an upper directory has.
type directory struct {
	tree  int
	path  string
	was   replay.Stat
	now   replay.Stat
	attrs map[string][]byte
}

// Diff is all that a layer changes.
type Diff struct {
	Changes []*Change // by tree and path
	Force   bool      // what others have changed is replaced

	groups []map[uint64][]*member // of files with several names, by inode above; per tree
	seeds  []*seeds
	dirs   []directory
	bare   []bool // the tree is a git directory itself
}
