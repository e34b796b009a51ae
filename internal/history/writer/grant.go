package writer

import (
	"slices"
	"time"

	"carrel/internal/history/journal"
)

// A file belongs to the step from when the step opens it for writing until the last
// descriptor that can write is closed. What it is then is what the step left: a later
// difference is what another program wrote.

// grant is what is known of a file that the step writes to.
type grant struct {
	left  journal.State  // what the step left in it; Absent while it may be open for writing
	seen  *journal.State // when it was last looked at, while it was open
	made  *journal.State // as the step made it, nil where that found it
	kept  *journal.State // of what another program wrote, the last that was kept
	names []*object      // by which the step knows it

	tick  bool // the kernel's clock may give what is written now the time that left has
	late  bool // it cannot be watched
	busy  int  // changes of its names or metadata that are on their way
	same  bool // it was as left when the first of them began
	turn  int  // how often something began: what was seen across that says nothing
	pause time.Duration
	due   time.Time // when it is looked at next
}

// grantWeight is about how many bytes of memory a grant takes.
const grantWeight = 600

// maxGrantNames bounds the names of one file by which it is looked for.
const maxGrantNames = 8

// named notes a name of the file.
func (g *grant) named(o *object) {
	if len(g.names) < maxGrantNames && !slices.Contains(g.names, o) {
		g.names = append(g.names, o)
	}
}

// held gives a link of the file in the store, 0 for none.
func (g *grant) held() uint64 {
	for _, o := range g.names {
		if o.held > 0 {
			return o.held
		}
	}
	return 0
}

// closed reports whether it is known what the step left.
func (g *grant) closed() bool { return g != nil && g.left.Kind == journal.File }

// at gives a slot of the file, nil where the step knows none any more.
func (g *grant) at() *slot {
	for _, o := range g.names {
		if o.at != nil && o.at.is == o && o.at.placed() {
			return o.at
		}
	}
	return nil
}
