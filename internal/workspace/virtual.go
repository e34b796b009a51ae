package workspace

import (
	"slices"
	"strings"

	"carrel/internal/policy"
)

// soundGranted and busGranted say that the person gave the workspace their sound server
// or session bus itself: there the real programs work.
func (p *Prepared) soundGranted() bool {
	return p.grantsSocket("/pulse/native", "/pipewire-0") || slices.ContainsFunc(p.Policy.Devices, func(d policy.Value[string]) bool { return strings.HasPrefix(d.V, "/dev/snd") })
}

func (p *Prepared) busGranted() bool {
	return p.grantsSocket(p.insideRuntime() + "/bus")
}

func (p *Prepared) grantsSocket(ends ...string) bool {
	return slices.ContainsFunc(p.Policy.UnixSockets, func(at policy.Value[string]) bool {
		return slices.ContainsFunc(ends, func(end string) bool { return strings.HasSuffix(at.V, end) })
	})
}
