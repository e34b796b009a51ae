//go:build !linux

package tools

import (
	"context"
	"errors"

	"carrel/internal/api"
	"carrel/internal/fileops"
	"carrel/internal/supervisor"
)

var errUnsupported = errors.New("workspaces are not supported on this system")

// Run needs Linux.
func Run(context.Context, supervisor.Entry, api.Command, []byte, Limits) (*Result, error) {
	return nil, errUnsupported
}

// Bash needs Linux.
func Bash(context.Context, supervisor.Entry, BashRequest) (*BashResult, error) {
	return nil, errUnsupported
}

// Start needs Linux.
func Start(context.Context, supervisor.Entry, api.Command) (*supervisor.Conversation, *api.App, error) {
	return nil, nil, errUnsupported
}

// Shell needs Linux.
func Shell(context.Context, supervisor.Entry, string, api.Command) (*supervisor.Conversation, *api.App, error) {
	return nil, nil, errUnsupported
}

// FilesBeneath needs Linux.
func FilesBeneath(context.Context, supervisor.Entry, string, string, fileops.Request) (any, uint64, error) {
	return nil, 0, errUnsupported
}

// Files needs Linux.
func Files(context.Context, supervisor.Entry, string, fileops.Request) (any, uint64, error) {
	return nil, 0, errUnsupported
}
