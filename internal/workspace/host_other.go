//go:build !linux

package workspace

import (
	"errors"

	"carrel/internal/api"
	"carrel/internal/display"
	"carrel/internal/sandbox"
)

// errHere is the honest answer on a system without the namespaces that the
// walls are made of.
var errHere = errors.New("carrel runs commands behind walls on Linux only; not supported here")

// brokered is nothing here.
type brokered struct{}

func supervisorDirs(func(string) string) []string { return nil }

func (p *Prepared) terminal() string { return "" }

func (p *Prepared) holdable() error { return errHere }

func (p *Prepared) displayBinds() []sandbox.Mount { return nil }

func (p *Prepared) displayHeld() error { return nil }

func (p *Prepared) desktopMounts() (binds, files []sandbox.Mount, sockets []string) {
	return nil, nil, nil
}

func (p *Prepared) desktopOptions(*display.Options) {}

// PrepareStart cannot start anything here.
func PrepareStart(Request) (*Prepared, error) { return nil, errHere }

// Start cannot build walls here.
func (p *Prepared) Start() (*api.Result, error) { return &api.Result{Exit: api.ExitOurs}, errHere }

// Changes has nothing to look at here.
func (p *Prepared) Changes(*api.Result) Changed { return Changed{} }

// Lost says that nothing is kept here.
func (p *Prepared) Lost() bool { return false }

// Steps has none to read here.
func (p *Prepared) Steps(*api.Result) {}
