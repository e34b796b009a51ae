// Package projecthistory is the history of one project for those who look at it and take steps
// back: it finds and opens it, and decides by the project's policy and the ceilings what may be
// undone. It tells of former contents no more than what a workspace shows of their paths now.
// Package history keeps what is told here; package decide decides the policy.
package projecthistory

import (
	"carrel/internal/api"
	"carrel/internal/decide"
)

// Request says which project is meant, and which policy an undo is held to.
type Request = decide.Request

// Sighted says how much of each path may be told.
type Sighted func(paths []string) ([]api.Sight, error)
