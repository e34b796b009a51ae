package decide

import (
	"slices"
	"strings"

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

// soundGranted and busGranted say that the person gave the workspace their sound server
// or session bus itself: there the real programs work.
func (p *Decision) soundGranted() bool {
	return p.grantsSocket("/pulse/native", "/pipewire-0") || slices.ContainsFunc(p.Policy.Devices, func(d policy.Value[string]) bool { return strings.HasPrefix(d.V, "/dev/snd") })
}

func (p *Decision) busGranted() bool {
	return p.grantsSocket(p.InsideRuntime() + "/bus")
}

func (p *Decision) grantsSocket(ends ...string) bool {
	return slices.ContainsFunc(p.Policy.UnixSockets, func(at policy.Value[string]) bool {
		return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(at.V, end) })
	})
}
