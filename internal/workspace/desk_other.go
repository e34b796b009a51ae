//go:build !linux

package workspace

import (
	"carrel/internal/api"
	"carrel/internal/config"
)

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
func StartDesk([]string, []config.CeilingText, func(string)) (Ready, error) { return Ready{}, errHere }

// Reporter is what a supervisor tells its starter with; there is none here.
type Reporter struct{}

// NewReporter has nobody to report to here.
func NewReporter() *Reporter { return nil }

// Failed tells nobody here.
func (*Reporter) Failed(error) {}

// Serve serves nothing here.
func (*Prepared) Serve(DeskRequest, *Reporter) (*api.Result, error) { return nil, errHere }

// ForDesk completes nothing here.
func (*Prepared) ForDesk() error { return errHere }

// ProjectOf knows no project here.
func ProjectOf(string, func(string) string) (string, error) { return "", errHere }
