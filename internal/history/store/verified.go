package store

// Fault is one thing that is wrong with a store.
type Fault struct {
	Code string
	At   string // in the store
	Step uint64 // that is concerned, 0 for none
	Path string // in the project, "" for none
	Why  string
}

// Codes of faults.
const (
	FaultJournal      = "journal"      // cannot be read, or not to its end
	FaultDiscarded    = "discarded"    // the file of what is discarded cannot be read
	FaultInterrupted  = "interrupted"  // a step was never closed
	FaultMissing      = "missing"      // an object is not there
	FaultOther        = "other"        // an object is not what was kept
	FaultUnreferenced = "unreferenced" // nothing refers to an object
	FaultStray        = "stray"        // a name that is none of the store's
)

// Verified says what was looked at, and what is wrong.
type Verified struct {
	Segments, Steps, Objects int
	Running                  int // segments that are being written: their objects are not compared
	Faults                   []Fault
}
