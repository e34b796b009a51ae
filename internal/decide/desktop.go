package decide

import (
	"fmt"

	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Desktop is what a plan takes from a hidden desktop that is there already.
type Desktop interface {
	// Mounts are what programs inside see of it.
	Mounts() (binds, files []sandbox.Mount, sockets []string)
	// Display is the value of DISPLAY inside.
	Display() string
	// Bus is the address of its session bus inside, "" where it has none.
	Bus() string
}

// busGranted is soundGranted for the session bus.
func (p *displayed) busGranted() bool { return p.grantsSocket(p.InsideRuntime() + "/bus") }

// NoDisplaySaid tells of a virtual display that cannot be had.
func (p *displayed) NoDisplaySaid() string {
	return fmt.Sprintf("no virtual display (%s): %s; the workspace has none, and windows open nowhere", p.Reason(policy.DimDisplay).Source, p.NoDisplay)
}
