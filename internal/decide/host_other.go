//go:build !linux

package decide

import (
	"errors"

	"carrel/internal/display"
	"carrel/internal/sandbox"
)

// ErrHere is the honest answer on a system without the namespaces that the
// walls are made of.
var ErrHere = errors.New("carrel runs commands behind walls on Linux only; not supported here")

func (p *Decision) terminal() string { return "" }

func (p *Decision) holdable() error { return ErrHere }

func (p *Decision) displayBinds() []sandbox.Mount { return nil }

func (p *Decision) displayHeld() error { return nil }

func (p *Decision) desktopMounts() (binds, files []sandbox.Mount, sockets []string) {
	return nil, nil, nil
}

func (p *Decision) desktopOptions(*display.Options) {}

// ForDesk completes nothing here.
func (*Decision) ForDesk() error { return ErrHere }

// ProjectOf knows no project here.
func ProjectOf(string, func(string) string) (string, error) { return "", ErrHere }

// PreviewEngine is never asked where nothing can be started.
func (p *Decision) PreviewEngine() error { return nil }
