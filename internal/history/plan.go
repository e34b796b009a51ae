package history

import (
	"slices"
	"strings"
)

// verb is what an action of an undo does. Each can be found done already.
type verb uint8

const (
	take    verb = iota + 1 // Path becomes the object
	put                     // the object becomes Path
	swap                    // Path and the object change places
	rewrite                 // the content of Path, which has other names, becomes the object's, and is kept as To
	empty                   // Path becomes an empty file
	mkdir
	rmdir
	symlink
	mknod
	meta      // mode, times, attributes, owner
	aside     // Path gets the name State.Target: both are kept
	drop      // Path goes, which is a second name of something that stays
	link      // Path becomes a second name of State.Target
	duplicate // Path becomes a copy of the object, which stays
)

// action is one part of a plan. State is what is expected at Path where
// something is taken, and what is to be made of it elsewhere.
type action struct {
	Verb   verb   `cbor:"1,keyasint"`
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
	// was is the state of In before. It is not written down: after a crash a plan is carried
	// out and never taken back.
	was State
	// last is where it was known last, which is asked for.
	last string
	// dir is the path of its directory before anything is done: the plan may move that, and
	// another to its place. "" is one that the plan makes.
	dir string
}

// parks says whether what is taken never leaves its file system: its root has it
// until it is put back.
func (a *action) parks() bool { return a.State.Kind == Dir || a.Whole }

// valid says whether an action is one that a plan can have: its second name is a
// name where one is made beside the path, and a path where one is looked for.
func (a *action) valid() bool {
	if a.Temp != "" && !isTemp(string(a.Temp)) {
		return false
	}
	switch a.Verb {
	case aside:
		n := string(a.State.Target)
		return n != "" && n != "." && n != ".." && !strings.ContainsAny(n, "/\x00")
	case link:
		return cleanPath(a.State.Target)
	}
	return a.Verb >= take && a.Verb <= duplicate
}

// discards says whether doing or taking back an action removes a name.
func (a *action) discards() bool {
	switch a.Verb {
	case drop, empty, symlink, mknod, link, duplicate:
		return len(a.Temp) > 0
	}
	return false
}

// Conflict is a path that is not as the step left it.
type Conflict struct {
	Path     string
	Expected State
	Found    State
	Step     uint64 // the later step that changed it, 0 for somebody outside
	Why      string // where it is something else
}

// Unrestorable is a path that an undo cannot bring back, or not wholly.
type Unrestorable struct {
	Path, Why string
}

// Beside is what is in the way, and gets another name.
type Beside struct {
	Path, Name string // both whole
}

// Plan is what taking steps back comes to.
type Plan struct {
	Step         *Step    // the newest of them
	Restored     []string // will be as before: changed back, moved back, made again
	Removed      []string // made by the steps, will go
	Unrestorable []Unrestorable
	LeftAlone    []Unrestorable // stays, although the steps made it
	Beside       []Beside       // is kept under another name

	actions []action
	pre     []Pre            // of the undo, as a step
	posts   []Post           // of the undo: what will be there, without its state
	beyond  []Beyond         // of the undo: what will only have names outside
	parents map[string]State // directories that something is changed in, as they were and where
	skips   bool             // there are conflicts: with Skip something stays
}

// incomplete reports whether something does not come back that should: the step can
// be taken back again then.
func (p *Plan) incomplete() bool {
	return slices.ContainsFunc(p.Unrestorable, func(u Unrestorable) bool { return u.Why != Ignored })
}

// previewed stands for the segment of objects of a plan that is only told.
const previewed = "0000000000000000-preview"

// storeIn names the objects that a plan makes: in a segment, after the number that was
// used last there.
func (p *Plan) storeIn(segment string, after uint64) {
	store := func(objects ...*Object) {
		for _, o := range objects {
			if o.Segment == previewed {
				*o = Object{segment, after + o.Number}
			}
		}
	}
	for i := range p.actions {
		store(&p.actions[i].Object, &p.actions[i].To, &p.actions[i].In)
	}
	for i := range p.pre {
		b := &p.pre[i]
		store(&b.Object, &b.Inode)
		if b.Within != nil {
			store(&b.Within.Object)
		}
	}
	for i := range p.posts {
		store(&p.posts[i].From)
	}
	for i := range p.beyond {
		store(&p.beyond[i].Link)
	}
}

func depth(path Bytes) int { return strings.Count(string(path), "/") }

// tempPrefix begins the names that an undo gives for a moment.
const tempPrefix = ".carrel-"

func isTemp(name string) bool {
	return strings.HasPrefix(name, tempPrefix) && !strings.ContainsAny(name, "/\x00")
}
