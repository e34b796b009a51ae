package session

import (
	"fmt"
	"os"

	"carrel/internal/named"
)

// belongs writes down with which process the place of the workspace with an id goes, before
// anything else is in it.
func belongs(place *named.Place, id string, req DeskRequest) error {
	owner := 0
	if req.Passing {
		owner = req.Owner
	}
	return place.BelongTo(id, owner)
}

// leaveNothing removes the place of a workspace that goes with its owner, where that has
// ended. One that was stopped before leaves it to the owner, or to the next start.
func leaveNothing(place *named.Place, state string, req DeskRequest) {
	if !req.Passing || !place.OwnerEnded() {
		return
	}
	if err := place.Remove(state); err != nil {
		fmt.Fprintf(os.Stderr, "%v\n", err)
	}
}

// sweepPassed removes what owners and supervisors that were killed together have left.
func sweepPassed(state string) {
	if err := named.SweepEnded(state); err != nil {
		fmt.Fprintf(os.Stderr, "removing what ended workspaces have left: %v\n", err)
	}
}
