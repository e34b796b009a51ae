// Package stepview shows steps of a history: as JSON for programs, and for people as a
// list, one step with its changes, a diff of it, and what an undo did. Paths are shown
// relative to the project.
//
// What may be told of a history is decided before; the package opens none, and changes
// nothing.
package stepview
