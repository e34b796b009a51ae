package writer

import "carrel/internal/history/journal"

// Op is what a change does to a path.
type Op uint8

const (
	Content  Op = iota // the content of Path may change
	Meta               // mode, owner, times, attributes
	Make               // a new name
	Link               // To becomes a second name of Path
	Remove             // the name goes
	Rename             // Path becomes To
	Exchange           // Path and To change places
)

// Change is one change about to be made. Paths are absolute and canonical.
type Change struct {
	Op       Op
	Path, To string

	// Dir and Name pin Path, ToDir and ToName pin To, and Pinned is what is at
	// Path: for where no path leads, below a directory that may not be searched.
	// 0 or less where they are not known.
	Dir, ToDir, Pinned int
	Name, ToName       string
	// Is is what Pinned is, In and ToIn are what Dir and ToDir are: without the time of
	// birth, and zero where that is not known.
	Is, In, ToIn journal.ID

	// Opens: from then on Path is open for writing, or was for a moment. Of a Content
	// that failed it may be taken back before After.
	Opens bool

	// Copied, of a rename: To becomes a copy of Path, which goes.
	Copied bool

	// Destroys is filled in by Before: the change takes something that was there
	// before the step, and that the step has not overwritten yet.
	Destroys bool

	// Hides, of Meta: the owner may not read what is at Path afterwards.
	Hides bool

	// Times, of Meta: it sets the times of what is at Path, and nothing else.
	Times bool

	// New, of a rename: it fails if something is at To.
	New bool

	// vain are those whose content cannot be kept, and that nobody was asked about, as the
	// change is going to fail.
	vain []*object
	// is is what was at Path when the change began.
	is *object
	// at is where the change puts or changes something, while it is on its way.
	at *slot
	// changes are the counts of what the change touches, taken by Before.
	changes [8]*int

	// Lose is asked before something is destroyed that cannot be kept; an error
	// of it refuses the change. It may take its time. nil: it is lost, and that
	// is written down.
	Lose func(path, why string) error
}
