//go:build !linux

package seccomp

import (
	"fmt"
	"runtime"
)

// Install is not possible here: seccomp is a part of Linux.
func Install([]Instruction) error { return errHere() }

// InstallAllThreads is not possible here: seccomp is a part of Linux.
func InstallAllThreads([]Instruction) error { return errHere() }

func errHere() error {
	return fmt.Errorf("installing a filter program: seccomp needs Linux, this is %s", runtime.GOOS)
}
