//go:build !linux

package named

import (
	"context"
	"errors"

	"carrel/internal/api"
	"carrel/internal/audit"
)

var errHere = errors.New("workspaces with a name are kept on Linux only; not supported here")

// ErrTaken means that another process holds a name.
var ErrTaken = errHere

// List lists nothing here.
func List(string) ([]api.Desk, error) { return nil, errHere }

// Read reads nothing here.
func Read(string, string) (api.Desk, error) { return api.Desk{}, errHere }

// Sweep removes nothing here.
func Sweep(string, string, bool, bool) ([]api.Artifact, error) { return nil, errHere }

// RemoveFreed removes nothing here.
func RemoveFreed(context.Context, string, string) error { return errHere }

// Events reads nothing here.
func Events(string, string, uint64, func(api.Event) error) error { return errHere }

// Logs reads nothing here.
func Logs(context.Context, string, string, string, api.Request, func(*api.Output) error) error {
	return errHere
}

// OpenAudit opens nothing here.
func OpenAudit(string, string) (*audit.Snapshot, error) { return nil, errHere }

// Place is nothing here.
type Place struct{}

// OpenAudit opens nothing here.
func (*Place) OpenAudit(func(error)) (*audit.Log, error) { return nil, errHere }
