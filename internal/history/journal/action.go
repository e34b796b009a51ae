package journal

import "strings"

// Verb is what an action of an undo does. Each can be found done already.
type Verb uint8

const (
	Take    Verb = iota + 1 // Path becomes the object
	Put                     // the object becomes Path
	Swap                    // Path and the object change places
	Rewrite                 // the content of Path, which has other names, becomes the object's, and is kept as To
	Empty                   // Path becomes an empty file
	MakeDir
	RemoveDir
	MakeSymlink
	MakeNode
	SetMeta   // mode, times, attributes, owner
	Aside     // Path gets the name State.Target: both are kept
	Drop      // Path goes, which is a second name of something that stays
	MakeLink  // Path becomes a second name of State.Target
	Duplicate // Path becomes a copy of the object, which stays
)

// Action is one part of a plan. State is what is expected at Path where
// something is taken, and what is to be made of it elsewhere.
type Action struct {
	Verb   Verb   `cbor:"1,keyasint"`
	Path   Bytes  `cbor:"2,keyasint"`
	Object Object `cbor:"3,keyasint,omitempty"`
	State  State  `cbor:"4,keyasint,omitempty"`
	To     Object `cbor:"5,keyasint,omitempty"`
	Temp   Bytes  `cbor:"6,keyasint,omitempty"` // a name on the way between two file systems
	// Whole: what is taken is put back, and must be the same file then, as it has other names.
	Whole bool `cbor:"7,keyasint,omitempty"`
	// Holds is one more than the bytes that Object has to have; 0 for any number. A torn
	// one never takes the place of anything.
	Holds int64 `cbor:"8,keyasint,omitempty"`
	// In is the object whose content or metadata is set, of a file that has no name in
	// the tree: then there is no Path.
	In Object `cbor:"9,keyasint,omitempty"`
	// Known is not written down: after a crash a plan is carried out and never taken back.
	Known Known `cbor:"-"`
}

// Known is what a plan knows beside its actions, while it is made and carried out.
type Known struct {
	Was  State  // of In, before
	Last string // where it was last, which is asked for
	// Dir is the path of its directory before anything is done: the plan may move that, and
	// another to its place. "" is one that the plan makes.
	Dir string
}

// Parks says whether what is taken never leaves its file system: its root has it
// until it is put back.
func (a *Action) Parks() bool { return a.State.Kind == Dir || a.Whole }

// valid says whether an action is one that a plan can have: its second name is a
// name where one is made beside the path, and a path where one is looked for.
func (a *Action) valid() bool {
	if a.Temp != "" && !isTemp(string(a.Temp)) {
		return false
	}
	switch a.Verb {
	case Aside:
		n := string(a.State.Target)
		return n != "" && n != "." && n != ".." && !strings.ContainsAny(n, "/\x00")
	case MakeLink:
		return cleanPath(a.State.Target)
	}
	return a.Verb >= Take && a.Verb <= Duplicate
}

// Discards says whether doing or taking back an action removes a name.
func (a *Action) Discards() bool {
	switch a.Verb {
	case Drop, Empty, MakeSymlink, MakeNode, MakeLink, Duplicate:
		return len(a.Temp) > 0
	}
	return false
}

// TempPrefix begins the names that an undo gives for a moment.
const TempPrefix = ".carrel-"

func isTemp(name string) bool {
	return strings.HasPrefix(name, TempPrefix) && !strings.ContainsAny(name, "/\x00")
}

// Mode says what becomes of paths that are not as the step left them.
type Mode int

const (
	Abort    Mode = iota // nothing is changed, all of them are listed
	Skip                 // they stay as they are
	KeepBoth             // they get another name, the path is restored
	Force                // they are replaced; the undo keeps them, so that it can be taken back
)
