//go:build !linux

package doctor

import (
	"errors"
	"runtime"
)

// This is the machine that we run on; here only its name is known.
func This(func(string) string, string, string) *Machine { return &Machine{OS: runtime.GOOS} }

// Open gives no answers: there are no questions here.
func Open(*Machine, string, bool) *Answers { return newAnswers() }

// Save has nothing to keep.
func (a *Answers) Save(string) error { return nil }

// Canonical gives the path as it is.
func Canonical(path string) string { return path }

var errLinuxOnly = errors.New("for Linux only")

// openKVM is for Linux only: elsewhere limactl has other ways to run machines.
func openKVM() (string, error) { return "", errLinuxOnly }

// GvisorHere is for Linux only.
func GvisorHere(bool) *Gvisor { return nil }

// relayHere is for Linux only: elsewhere Carrel works in the machine.
func relayHere() (string, error) { return "", errLinuxOnly }
