package runop

import (
	"fmt"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/session"
)

// Session is a command behind walls, with the layer that it changes in review mode.
type Session struct{ *session.Session }

// Changed is what a command has left in its project.
type Changed = session.Changed

// New decides what a command may do. It is started at once.
func New(req decide.Request) (*Session, error) {
	s, err := session.New(req)
	if err != nil {
		return nil, err
	}
	return &Session{s}, nil
}

// Start runs the command until it has ended. In review mode there is what it has left in its
// layer, too; nil for any other.
func (s *Session) Start() (*api.Result, *Ended, error) {
	reviewed, err := begin(s.Decision)
	if err != nil {
		return &api.Result{Exit: api.ExitOurs}, nil, err
	}
	if reviewed == nil {
		r, err := s.Session.Start()
		return r, nil, err
	}
	s.Until = reviewed.until
	r, err := s.Session.Start()
	left, problem := reviewed.finish(r.Exit)
	if problem != nil {
		r.Notes = append(r.Notes, fmt.Sprintf("the layer: %v", problem))
	}
	if left != nil {
		r.Layer = left.ID
	}
	return r, left, err
}
