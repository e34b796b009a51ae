//go:build !linux

package attach

import (
	"context"
	"errors"

	"carrel/internal/api"
	"carrel/internal/supervisor"
)

var errHere = errors.New("named workspaces run on Linux only; not supported here")

// Exec reaches no workspace here.
func Exec(context.Context, supervisor.Entry, api.Command) (api.App, int, error) {
	return api.App{}, api.ExitOurs, errHere
}

// To reaches no terminal here.
func To(context.Context, supervisor.Entry, string) (api.App, bool, error) {
	return api.App{}, false, errHere
}
