//go:build !linux

package sentry

import (
	"errors"

	"carrel/internal/machine"
)

// Choose refuses.
func Choose(engine, image string) (*machine.Machine, error) {
	return nil, errors.New("backend gvisor: gVisor runs on Linux")
}
