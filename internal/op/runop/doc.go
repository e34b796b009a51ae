// Package runop has the operation that runs one command behind walls: [New] decides what it may
// do, and [Session.Start] runs it.
//
// In review mode it lays a layer over what the command may write, see package review, and puts it
// into the plan. It ends the command where the layer grows beyond its bound. What becomes of the
// layer afterwards is asked of package reviewop.
package runop

// Ended is what a command has left in its layer.
type Ended struct {
	ID                                string // "" where it has changed nothing, and the layer is forgotten
	Added, Modified, Removed, Refused int
	Conflicts                         int
	Full                              bool // the command was ended, as the layer took more than its bound
	Bound                             int64
}
