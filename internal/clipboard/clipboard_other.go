//go:build !linux

package clipboard

import (
	"context"
	"errors"

	"carrel/internal/supervisor"
)

// Clipboard is nothing here.
type Clipboard struct{}

var errHere = errors.New("carrying a clipboard is not supported here: workspaces need Linux")

// Send has nowhere to send to here.
func Send(context.Context, supervisor.Entry, func(string) string, bool) (Carried, error) {
	return Carried{}, errHere
}

// Take has nothing to take here.
func Take(context.Context, supervisor.Entry, func(string) string, []string, bool) (Carried, error) {
	return Carried{}, errHere
}

// Hold holds nothing here.
func Hold(string, func(string) string) error { return errHere }
