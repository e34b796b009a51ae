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

func terminal(string) string { return "" }

func (p *decided) holdable() error { return ErrHere }

func (p *displayed) displayBinds() []sandbox.Mount { return nil }

func (p *displayed) displayHeld() error { return nil }

func (p *displayed) desktopMounts() (binds, files []sandbox.Mount, sockets []string) {
	return nil, nil, nil
}

func (p *displayed) desktopOptions(*display.Options) {}

// ForDesk completes nothing here.
func (*Decision) ForDesk() error { return ErrHere }

// ProjectOf knows no project here.
func ProjectOf(string, func(string) string) (string, error) { return "", ErrHere }

func (*Decision) withoutDesktop(string) {}

func (p *Decision) useEngine(name sandbox.Engine) error {
	p.engine.name = name
	return nil
}

// PreviewEngine says what would make the walls: a machine, as nothing else can here.
func (p *Decision) PreviewEngine() error {
	if p.inMachine() {
		return chooseMachine(p)
	}
	return nil
}
