package review

import (
	"errors"
	"time"

	"carrel/internal/api"
)

// ErrNone means that there is no layer of an id.
var ErrNone = errors.New("there is no such layer")

// Meta is the record of a layer.
type Meta struct {
	Version int        `json:"version"`
	ID      string     `json:"id"`
	Project api.Text   `json:"project"`
	Granted []api.Text `json:"granted,omitempty"` // of the trees, those that were opened for writing by their names
	Trees   []api.Text `json:"trees"`             // absolute paths; the upper directory of the first is 0/upper
	Command []api.Text `json:"command"`
	Bound   int64      `json:"bound"` // the most bytes that it may take
	Begun   time.Time  `json:"begun"`
	Ended   *time.Time `json:"ended,omitempty"` // not where the run was cut short
	Exit    int        `json:"exit"`
	Full    bool       `json:"full,omitempty"` // the run was ended as the layer reached its bound
}
