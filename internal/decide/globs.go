package decide

import (
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/globscan"
	"carrel/internal/guard"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/policy/pathglob"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
)

// brokered says whether the changes of a place and all that lies in it go
// through the broker.
func (p *Decision) brokered(place string) bool {
	d := p.Policy.Lookup(place)
	return p.History() && d.Access == policy.Write && d.Rule != nil && d.Rule.Path != p.Policy.Scope.Tmp && !guard.FoldsCase(place)
}

// decidedLater are the roots in which globs need not be looked for at the
// start: the broker decides by them whenever something is opened or changed. Who
// may make mounts of its own inside (nesting full) sees the roots where the
// broker does not look, so that there what is denied has to be hidden by mounts,
// which it cannot take away. Where names are compared without case, they would
// not be compared as the file system does.
func (p *Decision) decidedLater() []string {
	roots := append([]string{p.Place.Project}, p.writeRoots()...)
	var later []string
	for _, root := range roots {
		if p.brokered(root) && p.someBelow(root, policy.Unset) && (p.Policy.Nested != policy.NestedFull || !p.deniesBelow(root)) {
			later = append(later, root)
		}
	}
	return later
}

// strictSecrets says whether each open for reading is looked at for secrets.
func (p *Decision) strictSecrets() bool { return p.Policy.Secrets == policy.SecretsStrict && !p.AsIs() }

// secretsHeld refuses what only the broker can look at where there is none that is asked.
func (p *Decision) secretsHeld() error {
	why := ""
	switch {
	case !p.strictSecrets():
	case !p.History():
		why = "with --history off nobody is asked before a file is opened"
	case p.Policy.Nested == policy.NestedFull:
		why = "with --nested full mounts that are made inside are opened unseen"
	}
	if why == "" {
		return nil
	}
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: "secrets strict", Rule: "secrets strict", Source: p.Reason(policy.DimSecrets).Source.String(),
		Message: "secrets strict cannot be held: " + why, Hint: "leave one of them out"}
}

// checkLater makes sure that the plan gives the broker what was left to it.
func (p *Decision) checkLater() error {
	for _, dir := range p.later {
		if _, kind := p.Facts.Resolve(dir); kind == sandbox.KindNone {
			continue
		}
		if !slices.ContainsFunc(p.Plan.Roots, func(root string) bool { return pathname.Within(dir, root) }) {
			return fmt.Errorf("globs below %q cannot be held: it is no place whose changes are decided one by one; run with --history off", dir)
		}
	}
	return nil
}

// deniesBelow says whether some glob could keep something in a place from being
// read.
func (p *Decision) deniesBelow(place string) bool { return p.someBelow(place, policy.Deny) }

// someBelow finds a glob of the given access, or of any, that could match in a
// place.
func (p *Decision) someBelow(place string, access policy.Access) bool {
	return slices.ContainsFunc(p.Policy.Rules, func(r policy.Rule) bool {
		if r.Glob == "" || access != policy.Unset && r.Access != access {
			return false
		}
		base := globscan.Base(r.Glob)
		return pathname.Within(base, place) || pathname.Within(place, base)
	})
}

// ignoredGlobs are the patterns that hide something of the project by the
// broker, for gitignore(5): what cannot be read would make `git add` fail.
func (p *Decision) ignoredGlobs() []byte {
	if !p.TrapsReads {
		return nil
	}
	var lines []byte
	for _, r := range p.Policy.Rules {
		if r.Glob == "" || r.Access != policy.Deny {
			continue
		}
		alternatives, err := pathglob.Alternatives(r.Glob)
		if err != nil {
			continue // Decide has refused it
		}
		for _, glob := range alternatives {
			rest, ok := strings.CutPrefix(glob, pathglob.Literal(p.Place.Project)+"/")
			if ok && !strings.Contains(rest, "\n") && rest != "" {
				lines = append(lines, "/"+strings.TrimSuffix(rest, "/")+"\n"...)
			}
		}
	}
	return lines
}

// GuardNames finds what is protected by its name. Without walls nothing is, but the
// project's repository belongs to it all the same.
func (p *Decision) GuardNames() {
	s := protectednames.Search{Place: &p.Place, Policy: p.Policy, Brokered: p.History(), Getenv: p.Getenv, Note: p.Note}
	if p.view != nil {
		s.Repositories = p.view.Repositories
	}
	p.Guarded = s.Find()
	if p.NoWalls() {
		p.Guarded = protectednames.Names{Write: p.Guarded.Write}
	}
}
