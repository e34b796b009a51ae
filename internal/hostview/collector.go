package hostview

import (
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"fmt"
	"path"
	"sort"
)

// collector puts the parts of a View together, each once.
type collector struct {
	seen map[string]bool
	view *View
}

// inSystem tells whether p comes with one of the system directories.
func (c *collector) inSystem(p string) bool {
	for _, dir := range c.view.System {
		if pathname.Within(p, dir) {
			return true
		}
	}
	return false
}

// shown tells whether a read rule or a cache covers p.
func (c *collector) shown(p string) bool {
	for ; p != "/"; p = path.Dir(p) {
		if c.seen[string(rune('0'+policy.Read))+p] || c.seen["c"+p] {
			return true
		}
	}
	return false
}

// rule adds a default rule once.
func (c *collector) rule(place string, a policy.Access, reason string) {
	key := string(rune('0'+a)) + place
	if c.seen[key] {
		return
	}
	c.seen[key] = true
	c.view.Rules = append(c.view.Rules, policy.FileRequest{
		Place:  place,
		Access: a,
		Source: policy.Source{Layer: policy.LayerDefault, Text: reason},
	})
}

// link adds the links of a walk that lie outside the system directories: the
// ones inside come with their directory.
func (c *collector) link(hops []Symlink) {
	for _, l := range hops {
		key := "l" + l.Path
		if c.seen[key] || c.inSystem(l.Path) {
			continue
		}
		c.seen[key] = true
		c.view.Symlinks = append(c.view.Symlinks, l)
	}
}

// homeFile adds a generated file below home, at exactly this path: home is ours
// inside, so links of the host do not matter.
func (c *collector) homeFile(p string, data []byte, perm uint32, reason string) {
	c.view.Files = append(c.view.Files, File{Path: p, Data: data, Perm: perm, Reason: reason})
}

func (c *collector) note(format string, args ...any) {
	c.view.Notes = append(c.view.Notes, fmt.Sprintf(format, args...))
}

// finish orders what came out of maps and drops what another entry covers.
func (c *collector) finish() {
	v := c.view
	sort.Slice(v.Caches, func(i, j int) bool { return v.Caches[i].Path < v.Caches[j].Path })
	sort.Strings(v.ExtraRead)
}
