//go:build !linux

package audit

import (
	"errors"
	"os"
)

// ErrTaken means that another process writes the log.
var ErrTaken = errors.New("another process writes it")

// errHere is the honest answer on a system where no workspace writes one.
var errHere = errors.New("workspaces run on Linux only; not supported here")

// noWait says nothing here.
const noWait = 0

func openAt(*os.File, string, int) (*os.File, error) { return nil, errHere }

func renameAt(*os.File, string, string) error { return errHere }

func unlinkAt(*os.File, string) error { return errHere }

func lockFile(*os.File) error { return errHere }
