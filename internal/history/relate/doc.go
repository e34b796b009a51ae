// Package relate makes a graph of steps: entries of directories, the nodes that they lead
// to, and the contents and metadata of each node.
//
// A journal tells of paths, and the same path is another thing after a rename. [Relations]
// follow the steps in their order ([Relations.Follow]) and give what each changed as
// transitions of keys that no rename changes: an entry is a directory and a name, a
// [Node] is one object whatever inodes it had, a [Version] one content of it. Package
// graph decides on these what taking steps back would do; package history compares
// them with what is there now.
//
// Nothing is opened here. Only whether a root is a file is looked up by its path, as no
// record says it.
package relate
