// Package stage is the part of carrel that runs inside the walls: PID 1 of the
// workspace's namespaces. It reads a plan from an inherited descriptor, builds
// the view, gives up every capability and starts commands on request.
//
// Its rules: it holds no secret, never dumps core, resolves no host path twice, and talks to its
// supervisor alone. When the supervisor goes it goes too, and everything inside with it. What a
// step could not do is reported with the step, the path and the errno; nothing is skipped unless
// the plan says so.
//
// It must not import any surface (cli, config): its start is part of the start
// of every command.
package stage

import (
	"errors"
	"fmt"
	"syscall"

	"carrel/internal/sandbox"
)

const controlFD = sandbox.ControlFD

// stepError is what cannot be built, in the form that the supervisor gets.
type stepError struct {
	step string
	path string
	err  error
}

func (e *stepError) Error() string {
	if e.path == "" {
		return fmt.Sprintf("%s: %v", e.step, e.err)
	}
	return fmt.Sprintf("%s %q: %v", e.step, e.path, e.err)
}

func (e *stepError) Unwrap() error { return e.err }

// failed wraps err with its step and path, or gives nil for nil.
func failed(step, path string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{step: step, path: path, err: err}
}

// errno gives the system error number in err, or 0.
func errno(err error) int {
	var n syscall.Errno
	if errors.As(err, &n) {
		return int(n)
	}
	return 0
}

// Is says whether a program that was started as argv0 is the stage.
func Is(argv0 string) bool { return sandbox.IsStage(argv0) }
