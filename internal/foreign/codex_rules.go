package foreign

import (
	"path"
	"slices"
	"strings"

	"carrel/internal/pathname"
	"carrel/sandbox/policyfile"

	"carrel/internal/policy/pathglob"
)

// emit writes the entries, and protects the names that Codex does.
func (c *codex) emit() {
	for _, e := range c.entries {
		if e.minimal && c.deniedAround(e.place) {
			continue
		}
		if e.access == policyfile.Deny || c.narrows(e) {
			c.rule(policyfile.Rule{Path: e.place, Access: e.access})
		} else {
			c.grant(e.place, e.access)
		}
	}
	c.out.Files = append(c.out.Files, c.globs...)
	for _, e := range c.entries {
		if e.access != policyfile.Write || e.place == "/" && c.wholeDisk() {
			continue
		}
		for _, name := range codexProtected {
			c.protect(strings.TrimSuffix(e.place, "/") + "/" + name)
		}
	}
	c.recorded()
}

// access resolves a path as Codex does: the most components win, and at equal
// depth deny beats write beats read.
func (c *codex) access(place string) policyfile.Access {
	order := []policyfile.Access{policyfile.Read, policyfile.Write, policyfile.Deny}
	at, access := "", policyfile.Deny
	for _, e := range c.entries {
		deeper := len(e.place) - len(at)
		if !e.minimal && pathname.Within(place, e.place) && (deeper > 0 || deeper == 0 && slices.Index(order, e.access) > slices.Index(order, access)) {
			at, access = e.place, e.access
		}
	}
	return access
}

// deniedAround says whether somebody denied a place by a rule that is about it,
// as one for "/" is not.
func (c *codex) deniedAround(place string) bool {
	return c.access(place) == policyfile.Deny && slices.ContainsFunc(c.entries, func(e codexEntry) bool {
		return e.access == policyfile.Deny && e.place != "/" && pathname.Within(place, e.place)
	})
}

// narrows says whether a rule for reading may take something away, which has to
// hold though nothing is there yet.
func (c *codex) narrows(e codexEntry) bool {
	return e.access == policyfile.Read && slices.ContainsFunc(c.entries, func(o codexEntry) bool {
		return o.access == policyfile.Write && o.place != e.place && pathname.Within(e.place, o.place)
	})
}

// protect keeps a name from being changed unless an entry speaks of it, or lets
// something in it be changed. What cannot be changed anyway gets no rule: it
// would show what is denied.
func (c *codex) protect(place string) {
	if c.access(place) != policyfile.Write {
		return
	}
	for _, e := range c.entries {
		if e.place == place || e.access == policyfile.Write && pathname.Within(e.place, place) {
			return
		}
	}
	c.rule(policyfile.Rule{Path: place, Access: policyfile.Read})
	c.repository(place)
}

// repository protects what a .git that is a file leads to, too.
func (c *codex) repository(place string) {
	if c.o.GitFile == nil || path.Base(place) != ".git" {
		return
	}
	to, ok := strings.CutPrefix(c.o.GitFile(place), "gitdir:")
	if to = strings.TrimSpace(to); !ok || to == "" || strings.IndexByte(to, 0) >= 0 {
		return
	}
	if !path.IsAbs(to) {
		to = path.Join(path.Dir(place), to)
	}
	if to = path.Clean(to); c.access(to) == policyfile.Write {
		c.rule(policyfile.Rule{Glob: pathglob.Literal(to), Access: policyfile.Protect})
	}
}

// wholeDisk says whether nothing narrows the right to change everything.
func (c *codex) wholeDisk() bool {
	if c.full {
		return true
	}
	return len(c.globs) == 0 && !slices.ContainsFunc(c.entries, func(e codexEntry) bool {
		if e.access == policyfile.Write {
			return false
		}
		over := slices.ContainsFunc(c.entries, func(o codexEntry) bool { return o.access == policyfile.Write && o.place == e.place })
		return e.access == policyfile.Deny || !over
	})
}
