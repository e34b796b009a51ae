package graph

import "fmt"

// Mode says what happens to keys that are not as the steps left them.
type Mode uint8

// Modes.
const (
	Abort    Mode = iota // nothing is done
	Skip                 // they stay as they are
	KeepBoth             // what is found gets another name
	Force                // what is found goes to the store
)

// Why says what is wrong with a key.
type Why uint8

// What can be wrong with a key. The first are conflicts; from NotKept on they say
// what cannot be had in any mode.
const (
	Changed      Why = iota + 1 // it is not what the last step left
	Gap                         // another program changed it between two of the steps
	LastName                    // the last name of a node would go that is to live
	InTheWay                    // a directory stays with what is in it, where something else is to come
	Nameless                    // no entry will lead to the node
	NoDirectory                 // the directory of the entry is elsewhere, or gone
	Gone                        // the node is gone, and the steps do not bring it
	Loop                        // a directory would have two names, or be in itself
	Together                    // another entry of the same directory stays, which moves as a whole
	NotKept                     // the content is not in the store
	IdentityLost                // it comes back as a file of its own: others keep the one it was
	NotMade                     // a device is never made again
	OutsideNames                // its only names are outside: it cannot be reached
	Unread                      // the metadata cannot be read, and is not overwritten unseen
)

var whys = [...]string{
	Changed: "changed", Gap: "gap", LastName: "last name", InTheWay: "residents", Nameless: "no name",
	NoDirectory: "no directory", Gone: "gone", Loop: "loop", Together: "together", NotKept: "not kept", IdentityLost: "identity lost",
	NotMade: "not made", OutsideNames: "names outside", Unread: "not read",
}

func (w Why) String() string {
	if int(w) < len(whys) && whys[w] != "" {
		return whys[w]
	}
	return fmt.Sprintf("reason %d", w)
}

// Set is a key that gets another value.
type Set struct {
	Key
	From, To Value
	// Derived: no step has this value for this key. It follows from what was found.
	Derived bool
}

// Conflict is a key that is not as the steps left it, or cannot be set.
type Conflict struct {
	Key
	Why             Why
	Found, Expected Value
	Wanted          Value  // what the steps had found
	Step            uint64 // that set it last, 0 for another program
	Follows         bool   // from another conflict
	Left            bool   // the key stays as it is
	Derived         bool   // no step has this key
	Stays           Why    // for this reason, where the mode was to set it; else Why
}

// Loss is a key that does not get its value, whatever the mode.
type Loss struct {
	Key
	Why  Why
	Text string // what the store says of a content that is NotKept
}

// Aside is an entry that gets another name for what it leads to.
type Aside struct {
	From, To Place
	Node     Node
}

// Copy is a new node with a content that another node has or had.
type Copy struct {
	Node    Node // the new one
	Version Version
	Of      Version
	From    Node
	At      Place
}

// Kept is an entry that stays, without conflict, or with no Place a node.
type Kept struct {
	Place
	Node Node
	Why  Rest
}

// Decision is what an undo does and does not do. A dry run is a decision that is
// not carried out.
type Decision struct {
	Sets      []Set
	Conflicts []Conflict
	Lost      []Loss
	Asides    []Aside
	Copies    []Copy
	Anew      []Node // directories that other programs removed, made again for what comes into them
	Kept      []Kept
	Retimed   []Node // another program has changed the time of what stays, so that this stays too
	// Refused: nothing is done, as there are conflicts or losses and no mode says
	// what is to become of them.
	Refused bool

	work *draft
}

// Complete reports whether every key gets its value.
func (d *Decision) Complete() bool {
	for i := range d.Conflicts {
		if d.Conflicts[i].Left {
			return false
		}
	}
	return !d.Refused && len(d.Lost) == 0
}
