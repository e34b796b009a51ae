package stepview

import (
	"time"

	"carrel/internal/api"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
)

// Step is one step in JSON.
type Step struct {
	Step     uint64     `json:"step"`
	Kind     string     `json:"kind"`
	Run      string     `json:"run,omitempty"`
	Command  []api.Text `json:"command,omitempty"`
	Label    string     `json:"label,omitempty"`
	Began    time.Time  `json:"began"`
	Ended    *time.Time `json:"ended,omitempty"`
	Exit     int        `json:"exit"`
	State    string     `json:"state"`
	Of       []uint64   `json:"of,omitempty"`
	UndoneBy uint64     `json:"undone_by,omitempty"`
	Kept     int64      `json:"kept_bytes"`
	Added    int        `json:"added"`
	Modified int        `json:"modified"`
	Removed  int        `json:"removed"`
	Renamed  int        `json:"renamed"`
	Lost     int        `json:"not_kept,omitempty"`
	Edited   int        `json:"edited,omitempty"`

	Changes []changeJSON `json:"changes,omitempty"`
	LeftOut *api.LeftOut `json:"left_out,omitempty"` // of Changes
}

type changeJSON struct {
	Path  api.Text `json:"path"`
	From  api.Text `json:"from,omitempty"`
	What  string   `json:"what"`
	Kind  string   `json:"kind"`
	Bytes *int64   `json:"bytes,omitempty"` // nil where it is not known
	Lost  string   `json:"not_kept,omitempty"`
}

// knownSize is a size in JSON, nil where it is not known.
func knownSize(n int64) *int64 {
	if n == journal.UnknownSize {
		return nil
	}
	return &n
}

// StepOf gives a step of a log.
func StepOf(l *history.Log, s *steplog.Step) Step {
	n := s.Counts()
	j := Step{
		Step: s.Number, Kind: s.Begin.Kind, Run: s.Begin.Run, Label: s.Begin.Label, Began: time.Unix(0, s.Begin.Time),
		State: stepState(l, s), Of: s.Begin.Of, UndoneBy: s.UndoneBy, Kept: n.Kept,
		Added: n.Added, Modified: n.Modified, Removed: n.Removed, Renamed: n.Renamed, Lost: n.Lost, Edited: n.Edited,
	}
	for _, w := range s.Begin.Command {
		j.Command = append(j.Command, api.Text(w))
	}
	if s.End != nil {
		t := time.Unix(0, s.End.Time)
		j.Ended, j.Exit = &t, s.End.Exit
	}
	return j
}

// stepState is what a person has to know of a step.
func stepState(l *history.Log, s *steplog.Step) string {
	switch {
	case s.Live && s.Open():
		return "running"
	case s.Open():
		return "interrupted"
	case l.Undone(s):
		return "undone"
	case s.End.Interrupted:
		return "interrupted"
	}
	return "done"
}

// AddChanges puts what a step changed beside it.
func (j *Step) AddChanges(changes []steplog.PathChange) {
	for _, c := range changes {
		j.Changes = append(j.Changes, changeJSON{api.Text(c.Path), api.Text(c.From), c.What, c.Kind.String(), knownSize(c.Bytes), c.Lost})
	}
}
