package graph

// Kind is the type of a node.
type Kind uint8

// Kinds of nodes. What is Special is made again from what is known of it, as a
// FIFO is; what is Other, a device, never is.
const (
	File Kind = iota + 1
	Dir
	Symlink
	Special
	Other
)

// Keeping is what there is of a content besides the node that has it.
type Keeping uint8

// What there is of a content.
const (
	Unkept   Keeping = iota // nothing: it is in its node, if it is that one's content now
	Empty                   // it has no bytes
	InObject                // the store has a copy
	InAnchor                // the store has the inode itself
	Lost                    // nothing, and it will not come back
)

// Rest says why an entry is not changed although nothing conflicts.
type Rest uint8

// Why an entry is left.
const (
	Free      Rest = iota // it is not
	Pinned                // it may come, and never goes: an object of git
	Shared                // as Pinned: part of something that others use as a whole
	Ignored               // it is left alone, whatever it is
	Residents             // of a directory: there is something in it
	InUse                 // of a node that the steps made: others have given it names
)

// Present is what is there now. Its answers are facts that do not change while
// one decision is made, recorded and planned. So all entries of the transitions
// are looked at before, and all known names of the nodes that they change: a node
// may be found at one that it has no name by yet. The rest is asked of few keys,
// and may be found out when it is.
type Present interface {
	// Entry is the node that an entry leads to, 0 for none. What no step has met
	// has a number of its own. In a directory that is dead there are no entries.
	Entry(Place) Node
	// Names are all known entries that lead to a node now. A root has none, nor
	// has a node that only names lead to which no step has met.
	Names(Node) []Place
	// LastNames are the entries that lead to a node by the last record.
	LastNames(Node) []Place
	// Unmet is the number of names, without those in the store, that are no Names.
	// Of a directory it is 1 if that is elsewhere, else 0.
	Unmet(Node) int
	// Content is the version that a node has: Dead where no name leads to it, a
	// version of no step where another program has changed it.
	Content(Node) Version
	// Holder reports whether something is to come into a directory by a decision after this one.
	Holder(dir Node) bool
	// Awaited reports whether a decision after this one gives a node a content or a name, and
	// the names.
	Awaited(Node) ([]Place, bool)
	// Holds reports whether a node that is no node of the steps is known to have the bytes of a
	// version now.
	Holds(Node, Version) bool
	// Meta is the metadata of a node: of a dead one, what it had. What cannot be
	// read is missing; what is known not to be there has a text that says so.
	Meta(Node) map[string]string
	Kind(Node) Kind
	// Reachable reports whether a directory that is not dead is where its names
	// say, so that its entries can be looked at and changed. A root always is.
	Reachable(dir Node) bool
	// Residents are the names in a directory now, also those that no step has met.
	Residents(dir Node) []string
	// Keeping is what there is of a version, and why where it is Lost.
	Keeping(Version) (Keeping, string)
	// Held is what the store has of a node, whatever its content is now: InAnchor
	// and the version in it, InObject and the last version that there is a copy
	// of, or Unkept.
	Held(Node) (Version, Keeping)
	// Rest says whether an entry is Pinned, Shared or Ignored.
	Rest(Place) Rest
	// Setter is the step that set a key last, 0 for another program.
	Setter(Key) uint64

	// NewNode and NewVersion give numbers that were never used.
	NewNode() Node
	NewVersion() Version
	// Beside is a name next to another, the try'th from 1; it need not be free.
	Beside(name string, try int) string
}
