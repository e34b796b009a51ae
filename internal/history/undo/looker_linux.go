package undo

import (
	"carrel/internal/history/disk"
	"carrel/internal/history/graph"
	"carrel/internal/history/journal"
	"carrel/internal/history/relate"
	"carrel/internal/history/store"
)

// looker finds entries, nodes and contents of the relations in the trees, each once.
type looker struct {
	*relate.Relations
	store   *store.Store
	roots   []disk.Root
	at      map[graph.Place]*seenAt
	dirs    map[graph.Node]dirNow
	nodes   map[graph.Node]*nodeNow
	named   map[graph.Node][]graph.Place     // entries that were looked at, by what they lead to
	rebound map[graph.Node]journal.ID        // inodes that nodes had by the records
	objects map[journal.Object]journal.State // that were looked at
	failed  error                            // the first look that did not work
}

// seenAt is what is at an entry.
type seenAt struct {
	node  graph.Node
	state journal.State
}

// dirNow is where a directory is.
type dirNow struct {
	path string
	at   graph.Place
	ok   bool // it is there
}

// nodeNow is what is known of a node that was looked at.
type nodeNow struct {
	names   []graph.Place
	state   journal.State // of its inode; Absent where no name leads to it
	anchor  journal.Object
	anchors int
	held    journal.State // of the anchor
	content graph.Version
	unmet   int
}
