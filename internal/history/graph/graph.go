// Package graph computes what an undo does, from values alone.
//
// A history tells of directory entries that lead to nodes, and of nodes that have contents and
// metadata. Each of these is a [Key]; a step is a list of [Transition]s of keys. Taking steps
// back means to compose their transitions, to compare the result with what is there, and to set
// every key to its first value. A redo takes an undo back: it is the same operation.
//
// The package makes no system call and knows no path. What is there now is an interface,
// [Present]; what is to be done comes out as [Op]s. Their order is one in which they can be
// carried out one by one, and again after a crash.
//
// The way through it is [Compose], [Decide], [Decision.Plan], and [Records] for
// what is written down.
package graph

// Node is the history's own number of one file system object. 0 is none.
type Node = uint64

// Version is the number of one content. Dead is that of a node that has no name.
type Version = uint64

// Dead is the content of a node that no entry leads to.
const Dead Version = 0

// Part says which of its values a key means.
type Part uint8

// Parts of the graph.
const (
	Entry   Part = iota + 1 // of a directory: Node is the directory, Name the entry
	Content                 // of a node
	Meta                    // of a node: Name is the component
)

// Mtime is the component of metadata that never conflicts. It is set with its
// content, or where it is what the steps left.
const Mtime = "mtime"

// Key names one value.
type Key struct {
	Part Part
	Node Node
	Name string
}

// Weak reports whether a difference of this key is no conflict.
func (k Key) Weak() bool { return k.Part == Meta && k.Name == Mtime }

// Value is what a key has. Of an entry N is a node or 0, of a content a version;
// of metadata S is the text of the component, and N is 0.
type Value struct {
	N uint64
	S string
}

// Unknown is the value of metadata that could not be read. It is never compared
// and never set.
var Unknown = Value{N: 1}

// Transition is one change of one key. From is what was really found, To what was
// really left. Transitions stand in the order in which they were written.
type Transition struct {
	Key      Key
	From, To Value
	Step     uint64
}

// Place is one entry of a directory. The zero Place is none.
type Place struct {
	Dir  Node
	Name string
}

// Key is the key of the entry.
func (p Place) Key() Key { return Key{Part: Entry, Node: p.Dir, Name: p.Name} }

func (k Key) place() Place { return Place{k.Node, k.Name} }
