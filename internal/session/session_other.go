//go:build !linux

package session

import (
	"context"

	"carrel/internal/api"
	"carrel/internal/decide"
	"carrel/internal/protectednames"
)

// Session is nothing that could be started here.
type Session struct {
	*decide.Decision
	Until context.Context
}

// New cannot start anything here.
func New(decide.Request) (*Session, error) { return nil, decide.ErrHere }

// Start cannot build walls here.
func (s *Session) Start() (*api.Result, error) {
	return &api.Result{Exit: api.ExitOurs}, decide.ErrHere
}

// Changes has nothing to look at here.
func (s *Session) Changes(*api.Result) protectednames.Changed { return protectednames.Changed{} }

// Lost says that nothing is kept here.
func (s *Session) Lost() bool { return false }

// Steps has none to read here.
func (s *Session) Steps(*api.Result) {}

// DeskArg0 is the name of a supervisor of a workspace that stays.
const DeskArg0 = "carrel-workspace"

// Ready is what a workspace says when it stands.
type Ready struct {
	Status        api.WorkspaceStatus `json:"status"`
	Announcements []string            `json:"announcements,omitempty"`
	Notes         []string            `json:"notes,omitempty"`
	Interrupted   []uint64            `json:"interrupted,omitempty"`
	Failed        *api.App            `json:"failed,omitempty"`
}

// IsDesk says no: nothing stays here.
func IsDesk(string) bool { return false }

// StartDesk starts nothing here.
func StartDesk(context.Context, DeskStart) (Ready, error) { return Ready{}, decide.ErrHere }

// DetachArg0 is the name of a program that starts a supervisor.
const DetachArg0 = "carrel-detached-start"

// Detach starts nothing here.
func Detach([]string) int { return api.ExitOurs }

// Reporter is what a supervisor tells its starter with; there is none here.
type Reporter struct{}

// NewReporter has nobody to report to here.
func NewReporter() *Reporter { return nil }

// Failed tells nobody here.
func (*Reporter) Failed(error) {}

// Serve serves nothing here.
func (*Session) Serve(DeskRequest, *Reporter) (*api.Result, error) { return nil, decide.ErrHere }
