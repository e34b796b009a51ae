// Package reviewop has the operations on layers: what a command that ran in review mode has
// changed, and what becomes of it. See package review.
//
// [Reviews.Apply] carries changes out in a workspace that ends with the operation: it is under
// the policy and the ceilings of the project, and has its history. So what is applied is decided
// and recorded as if a program there had done it. Package runop makes layers.
package reviewop

import (
	"encoding/hex"

	"carrel/internal/api"
	"carrel/internal/op"
)

// Reviews are the layers of a caller's project.
type Reviews struct {
	c       *op.Caller
	project string
}

// Open finds the project.
func Open(c *op.Caller) (*Reviews, error) {
	project, err := c.ProjectOf("")
	if err != nil {
		return nil, err
	}
	return &Reviews{c, project}, nil
}

// IsID says whether a word is the id of a layer.
func IsID(word string) bool {
	_, err := hex.DecodeString(word)
	return err == nil && len(word) == 6
}

// Layer is a layer as it is told.
type Layer struct {
	ID      string     `json:"id"`
	State   string     `json:"state"` // running, ended, full or "cut short"
	Command []api.Text `json:"command"`
	Begun   string     `json:"begun"`
	Exit    int        `json:"exit"`
	Bytes   int64      `json:"bytes"` // of the disk
	Trees   []api.Text `json:"trees"`
}

// States of a layer.
const (
	StateRunning = "running"
	StateEnded   = "ended"
	StateFull    = "full"      // its command was ended as it grew too large
	StateCut     = "cut short" // its command was ended with all of carrel
)

// Change is one path that a layer changes.
type Change struct {
	Path     api.Text `json:"path"` // absolute
	What     string   `json:"what"`
	Kind     string   `json:"kind"`
	Conflict string   `json:"conflict,omitempty"`
	Refused  string   `json:"refused,omitempty"`
}

// Left is a path that was not applied.
type Left struct {
	Path api.Text `json:"path"`
	Why  string   `json:"why"`
}

// ApplyRequest says what of a layer is applied.
type ApplyRequest struct {
	ID    string
	Paths []string // with what is in them; none is all
	Skip  bool     // conflicts are left out
	Force bool     // what others have changed is replaced
	Dry   bool     // nothing is done

	// Choose is asked about each change, where it is not nil.
	Choose func(*Change) (bool, error)
}

// Applied is what came of it.
type Applied struct {
	ID        string   `json:"id"`
	Applied   []Change `json:"applied"` // that were tried; those in Failed were not done
	Conflicts []Change `json:"conflicts,omitempty"`
	Refused   []Change `json:"refused,omitempty"`
	Failed    []Left   `json:"failed,omitempty"`
	More      int      `json:"more_failed,omitempty"` // that are not listed
	Steps     []uint64 `json:"steps,omitempty"`       // of the history; one undo takes the last of them back
	Left      int      `json:"left"`                  // changes that the layer has still
	Dropped   bool     `json:"dropped,omitempty"`     // as there was nothing left
	Dry       bool     `json:"dry_run,omitempty"`
}
