package graph

import "fmt"

// Verb is what an operation does. Each looks first, and is done once however
// often it is called.
type Verb uint8

// Verbs.
const (
	PutAside  Verb = iota + 1 // At is renamed to To, in the same directory
	Take                      // what At leads to goes to the store; Keep says as what
	Drop                      // At goes; the node has other names, or is in the store
	Rmdir                     // the directory at At goes, which is empty by now
	Mkdir                     // a directory is made at At
	MakeLink                  // a symlink is made at At, with the target that is known of it
	Mknod                     // what is Special is made at At
	MakeEmpty                 // an empty file is made at At
	Put                       // what is in the store becomes At; Keep says what that is
	Link                      // At becomes a further name of the node, which To is a name of
	Swap                      // At and the object of Version change places; Was may be another node than Node
	Rewrite                   // the content becomes that of Version, in place, after Old was copied to the store
	SetMeta                   // all of the metadata is set to Meta
)

var verbs = [...]string{
	PutAside: "aside", Take: "take", Drop: "drop", Rmdir: "rmdir", Mkdir: "mkdir", MakeLink: "symlink", Mknod: "mknod",
	MakeEmpty: "empty", Put: "put", Link: "link", Swap: "swap", Rewrite: "rewrite", SetMeta: "meta",
}

func (v Verb) String() string {
	if int(v) < len(verbs) && verbs[v] != "" {
		return verbs[v]
	}
	return fmt.Sprintf("verb %d", v)
}

// Keep says as what a node goes to the store, or what of the store it comes from.
type Keep uint8

// Ways to and from the store.
const (
	AsObject Keep = iota + 1 // it dies: its inode holds the version, and is that of no name
	Parked                   // until it is put, in the same plan
	Anchored                 // it lives on by other names; the inode stays the same
	Copied                   // a copy is made, and the object stays
)

// Op is one operation of a plan. At names the entry; of a Rewrite and of SetMeta
// the zero Place means the anchor of the node, or a root.
type Op struct {
	Verb    Verb
	At      Place
	Node    Node  // that it is about: what At leads to afterwards, or did before
	Was     Node  // what is expected at At before; 0 for nothing
	To      Place // of PutAside and Link
	Keep    Keep  // of Take and Put, and of a Swap what comes
	Kind    Kind
	Version Version // the content that comes; of a Copied one that of the copy
	Of      Version // the version that is copied
	// Old is the content that goes to the store. Of a node that comes back with
	// another inode it is the one that the inode in the store has: that is an object
	// from now on, and the only one of this version.
	Old  Version
	Meta map[string]string
	// Sets are the keys that have their values when this is done.
	Sets []Set
}
