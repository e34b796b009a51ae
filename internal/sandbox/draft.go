package sandbox

import (
	"slices"
	"strings"

	"carrel/internal/pathname"
)

// layered has a mount show its source as it looks in the overlay that is kept over it or over
// what it lies in. It reports whether there is one.
func (c *compiler) layered(m *Mount) bool {
	for _, o := range c.in.Overlays {
		if o.Kept && pathname.Within(m.Source, o.Path) {
			m.Kind, m.Lower, m.Upper, m.Work, m.Kept = MountOverlay, o.Lower, o.Upper, o.Work, true
			return true
		}
	}
	return false
}

func (c *compiler) overlaid(p string) bool {
	return slices.ContainsFunc(c.in.Overlays, func(o Overlay) bool { return o.Path == p })
}

func (c *compiler) inOverlay(p string) bool {
	return slices.ContainsFunc(c.in.Overlays, func(o Overlay) bool { return strings.HasPrefix(p, o.Path+"/") })
}
