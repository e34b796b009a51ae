package policy

import "fmt"

// reach is what one ceiling's mounts let through at any path.
type reach struct {
	match *matcher
	point []Rule // where the reach changes: the mounts, and the system directories
	first Source
	tmp   string // the private temporary directory, "" if unknown
}

// reaches builds one for every ceiling that has mounts. The system directories
// stay readable and the private temporary directory writable below each.
func (f *fileDecision) reaches() []reach {
	var out []reach
	for _, c := range f.of.ceilings {
		if len(c.Mounts) == 0 {
			continue
		}
		r := reach{first: c.Mounts[0].Source, tmp: f.of.scope.Tmp}
		for _, m := range c.Mounts {
			if !isCleanAbs(m.HostPath) {
				f.of.fail(DimFiles, m.Source, "host_path %q is not a clean absolute path", m.HostPath)
				continue
			}
			r.point = append(r.point, Rule{Path: m.HostPath, Access: mountAccess(m), Source: m.Source})
		}
		for _, s := range f.of.scope.System {
			r.point = append(r.point, Rule{Path: s, Access: Read, Source: builtIn})
		}
		r.point = narrowest(r.point)
		m, err := newMatcher(r.point)
		if err != nil {
			continue // there are no globs among them
		}
		r.match = m
		out = append(out, r)
	}
	return out
}

func mountAccess(m Mount) Access {
	if m.Write {
		return Write
	}
	return Read
}

// narrowest leaves, of several mounts of one path, the one that grants least:
// a ceiling that contradicts itself means the narrower.
func narrowest(rules []Rule) []Rule {
	least := map[string]Rule{}
	for _, r := range rules {
		old, ok := least[r.Path]
		// What is always allowed here never narrows a mount that says more.
		switch {
		case !ok, old.Source.Layer == LayerDefault && r.Access > old.Access:
			least[r.Path] = r
		case r.Source.Layer != LayerDefault && old.Source.Layer != LayerDefault && r.Access < old.Access:
			least[r.Path] = r
		}
	}
	out := make([]Rule, 0, len(least))
	for _, r := range least {
		out = append(out, r)
	}
	return out
}

// refuseBeyond refuses every explicit grant of more than a ceiling's mounts.
func (f *fileDecision) refuseBeyond(rules []Rule) {
	for _, c := range f.reaches() {
		for _, r := range rules {
			if r.Glob != "" || !r.Source.Layer.explicit() {
				continue
			}
			allowed := c.at(r.Path)
			if r.Access.grants() > allowed.Access.grants() {
				by := c.first
				if allowed.Rule != nil {
					by = allowed.Rule.Source
				}
				f.of.refuse(DimFiles, r.Source, by, fmt.Sprintf("%s of %s", r.Access, printable(r.Path)),
					allowedText(allowed.Access))
			}
		}
	}
}

func allowedText(a Access) string {
	if a.grants() == 0 {
		return "nothing there"
	}
	return a.String() + " there"
}

// underMounts cuts the rules down to every ceiling's mounts and says how many
// it changed. After it, no path has more than the rules gave and more than the
// mounts allow: at each path of a rule or a mount the lesser of both is
// written down, and between those points neither changes.
func (f *fileDecision) underMounts(rules []Rule) ([]Rule, int) {
	changed := 0
	for _, c := range f.reaches() {
		paths, globs := splitRules(fold(rules))
		have, err := newMatcher(paths)
		if err != nil {
			continue // there are no globs among them
		}
		var out []Rule
		for _, r := range paths {
			low, keep := c.cap(r)
			if keep {
				out = append(out, low)
			}
			if !keep || low.Access != r.Access {
				changed++
			}
		}
		out = append(out, c.inner(have, out)...)
		rules = append(out, globs...)
	}
	return rules, changed
}

// inner returns the rules for mounts that lie below a rule and allow less, or
// still allow something where the rule itself is gone. Their layer is the
// ceiling's: they never re-open what a default glob denies.
func (c reach) inner(have *matcher, capped []Rule) []Rule {
	left, err := newMatcher(capped)
	if err != nil {
		return nil // there are no globs among them
	}
	var out []Rule
	for _, m := range c.point {
		w := have.lookup(m.Path)
		if w.Rule == nil || w.Rule.Path == m.Path || w.Rule.Path == c.tmp {
			continue
		}
		low := min(w.Access.grants(), c.at(m.Path).Access.grants())
		if low == left.lookup(m.Path).Access.grants() {
			continue
		}
		src := m.Source
		src.Layer = LayerCeiling
		note := "limits " + describe(w.Rule)
		out = append(out, Rule{Path: m.Path, Access: Access(low), Source: src, Note: note})
	}
	return out
}

// at is what the mounts allow at one path. The temporary directory is the
// workspace's own; what lies below it by name is the host's.
func (c reach) at(p string) Decision {
	if p == c.tmp {
		return Decision{Access: Write, Rule: &Rule{Path: p, Access: Write, Source: builtIn}}
	}
	return c.match.lookup(p)
}

// cap lowers one rule to what the mounts allow; keep is false where that is
// nothing.
func (c reach) cap(r Rule) (low Rule, keep bool) {
	if r.Access == Deny {
		return r, true
	}
	allowed := c.at(r.Path)
	if allowed.Access.grants() == 0 {
		return r, false
	}
	if allowed.Access.grants() < r.Access.grants() {
		r.Access = allowed.Access
		r.Note = limitedBy(allowed.Rule.Source)
	}
	return r, true
}

func limitedBy(src Source) string { return fmt.Sprintf("limited by the ceiling (%s)", src) }

func splitRules(rules []Rule) (paths, globs []Rule) {
	for _, r := range rules {
		if r.Glob == "" {
			paths = append(paths, r)
		} else {
			globs = append(globs, r)
		}
	}
	return paths, globs
}
