//go:build !linux

package hostsockets

import (
	"errors"

	"carrel/internal/sandbox"
)

// All finds none here.
func (*Search) All() []string { return nil }

// Binds cannot grant any here.
func (*Search) Binds() (binds, links []sandbox.Mount, err error) {
	return nil, nil, errors.New("sockets of the host are granted on Linux only; not supported here")
}

// Granted knows of none here.
func (*Search) Granted(string) bool { return false }
