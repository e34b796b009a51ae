package policy

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"carrel/internal/pathname"
)

// fileDecision decides the rules for files.
type fileDecision struct{ of *decision }

// decide decides the rules: what the layers grant, cut down to the ceilings,
// then what the project takes away.
func (f *fileDecision) decide() {
	rules := f.layerRules()
	home := f.homeRules(rules)
	f.refuseBeyond(append(rules[:len(rules):len(rules)], home...))
	for _, r := range home {
		// Home as a mode grants what nobody else spoke of; it re-opens nothing.
		r.Source.Layer = LayerDefault
		rules = append(rules, r)
	}
	base, err := newMatcher(rules)
	if err != nil {
		f.of.fail(DimFiles, builtIn, "%v", err) // cannot happen: Resolve compiled every pattern
		return
	}
	rules = fold(append(rules, f.projectRules(base)...))
	f.checkProject(rules)
	rules, narrowed := f.underMounts(rules)
	f.of.out.Rules = fold(rules)
	if f.of.out.match, err = newMatcher(f.of.out.Rules); err != nil {
		f.of.fail(DimFiles, builtIn, "%v", err)
		return
	}
	f.reportUseless()
	note := ""
	if narrowed > 0 {
		note = fmt.Sprintf("%d rules limited by the ceiling", narrowed)
	}
	f.of.reason(DimFiles, fmt.Sprintf("%d rules", len(f.of.out.Rules)), ruleSource(f.of.out.Rules), note)
}

// layerRules resolves the requests of every layer but the project's.
func (f *fileDecision) layerRules() []Rule {
	var rules []Rule
	for _, l := range f.of.layers {
		for _, r := range l.Request.Files {
			r.Source.Layer = l.Kind
			if r.MinHome == "" || homeRank(f.of.out.Home) >= homeRank(r.MinHome) {
				rules = append(rules, f.resolve(r)...)
			}
		}
	}
	return rules
}

// homeRules is the rule that home mode full stands for. Where the home
// directory is writable by another rule, it must not take that away.
func (f *fileDecision) homeRules(rules []Rule) []Rule {
	if f.of.out.Home != HomeFull || f.of.scope.Home == "" {
		return nil
	}
	paths, _ := splitRules(rules)
	m, err := newMatcher(paths)
	if err != nil || m.lookup(f.of.scope.Home).Access == Write {
		return nil
	}
	return []Rule{{Path: f.of.scope.Home, Access: Read, Source: f.of.homeSource()}}
}

func (d *findings) homeSource() Source {
	for _, r := range d.out.Reasons {
		if r.Dimension == DimHome {
			return r.Source
		}
	}
	return builtIn
}

// resolve turns one request into rules. A default grant below a home that
// nobody knows grants nothing; a deny there must not be lost.
func (f *fileDecision) resolve(r FileRequest) []Rule {
	if msg := badRequest(r); msg != "" {
		f.of.fail(DimFiles, r.Source, "%s", msg)
		return nil
	}
	places, err := Resolve(f.of.scope, r)
	if err != nil {
		if errors.Is(err, errUnknownRoot) && r.Source.Layer == LayerDefault && r.Access != Deny && !r.Glob {
			f.of.warn(r.Source, "%s is not granted: %v", shortened(printable(r.Place)), err)
			return nil
		}
		f.of.fail(DimFiles, r.Source, "%s: %v", shortened(printable(r.Place)), err)
		return nil
	}
	rules := make([]Rule, 0, len(places))
	for _, p := range places {
		if r.Glob {
			rules = append(rules, Rule{Glob: p, Access: r.Access, Source: r.Source})
		} else {
			rules = append(rules, Rule{Path: p, Access: r.Access, Source: r.Source})
		}
	}
	return rules
}

func badRequest(r FileRequest) string {
	switch {
	case r.Access != Read && r.Access != Write && r.Access != Deny:
		return fmt.Sprintf("access %d of %s is not known", r.Access, printable(r.Place))
	case r.Glob && r.Access == Write:
		return fmt.Sprintf("a glob cannot grant: %s can only be denied or protected", printable(r.Place))
	case r.MinHome != "" && homeRank(r.MinHome) < 0:
		return fmt.Sprintf("home mode %q is not known", string(r.MinHome))
	}
	return ""
}

// projectRules keeps of the project's requests what tightens.
func (f *fileDecision) projectRules(base *matcher) []Rule {
	var rules []Rule
	for _, l := range f.of.project {
		for _, r := range l.Request.Files {
			r.Source.Layer = LayerProject
			for _, rule := range f.resolve(r) {
				if f.of.tightens(base, rule) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules
}

func (d *findings) tightens(base *matcher, r Rule) bool {
	if r.Glob != "" || r.Access == Deny {
		return true
	}
	have := base.lookup(r.Path).Access
	switch {
	case r.Access.grants() > have.grants():
		d.ignored(r.Source, fmt.Sprintf("%s of %s widens", r.Access, printable(r.Path)))
		return false
	case r.Access == Read && have == Write:
		return true
	}
	return false // asks for no more than is there, and for no less
}

// fold leaves one rule for each path, one of each kind for each glob, sorted
// by depth, then bytes.
func fold(rules []Rule) []Rule {
	type key struct {
		path, glob string
		access     Access // of a glob: denying and protecting live side by side
		isDefault  bool   // of a glob: a default can be re-opened, others not
	}
	best := map[key]Rule{}
	for _, r := range rules {
		k := key{path: r.Path, glob: r.Glob}
		if r.Glob != "" {
			k.access, k.isDefault = r.Access, r.Source.Layer == LayerDefault
		}
		if old, ok := best[k]; !ok || overrides(&r, &old) {
			best[k] = r
		}
	}
	out := make([]Rule, 0, len(best))
	for _, r := range best {
		out = append(out, r)
	}
	slices.SortFunc(out, func(a, b Rule) int {
		return cmp.Or(
			cmp.Compare(depth(a.Path+a.Glob), depth(b.Path+b.Glob)),
			cmp.Compare(a.Path+a.Glob, b.Path+b.Glob),
			cmp.Compare(a.Glob, b.Glob),
			cmp.Compare(a.Access, b.Access),
			cmp.Compare(a.Source.Layer, b.Source.Layer),
		)
	})
	return out
}

// checkProject refuses to make a home directory or "/" writable by default:
// that is never what "the current project" means.
func (f *fileDecision) checkProject(rules []Rule) {
	p := f.of.scope.Project
	isHome := f.of.scope.Home != "" && pathname.Within(f.of.scope.Home, p)
	if p != "/" && !isHome {
		return
	}
	m, err := newMatcher(rules)
	if err != nil {
		return // reported where the rules were resolved
	}
	w := m.lookup(p)
	if w.Access != Write || w.Rule.Source.Layer != LayerDefault {
		return
	}
	f.of.errs = append(f.of.errs, &RequestError{
		Dimension: DimFiles, Source: w.Rule.Source,
		Message: fmt.Sprintf("$HOME or / as the project needs --write: %s is not made writable by default", printable(p)),
		Hint:    fmt.Sprintf("change to a project directory, or give --write %s", printable(p)),
	})
}

// reportUseless names explicit grants that another rule takes away, so that a
// flag without effect does not stay a riddle.
func (f *fileDecision) reportUseless() {
	for _, l := range f.of.layers {
		if !l.Kind.explicit() {
			continue
		}
		for _, r := range l.Request.Files {
			r.Source.Layer = l.Kind
			f.reportGrant(r)
		}
	}
}

func (f *fileDecision) reportGrant(r FileRequest) {
	if r.Glob || r.Access == Deny || r.MinHome != "" {
		return
	}
	places, err := Resolve(f.of.scope, r)
	if err != nil {
		return // reported where it was resolved
	}
	for _, p := range places {
		have := f.of.out.match.lookup(p)
		if have.Access.grants() < r.Access.grants() && have.Rule != nil {
			f.of.warn(r.Source, "%s of %s is not given: %s wins", r.Access, printable(p), describe(have.Rule))
		}
	}
}

// describe writes a rule as "deny **/.env (file:line: key)".
func describe(r *Rule) string {
	verb := r.Access.String()
	if r.Glob != "" && r.Access == Read {
		verb = "protect"
	}
	text := fmt.Sprintf("%s %s (%s)", verb, printable(r.Path+r.Glob), r.Source)
	if r.Note != "" {
		text += ", " + r.Note
	}
	return text
}

func ruleSource(rules []Rule) Source {
	best := builtIn
	for _, r := range rules {
		if r.Source.before(best) {
			best = r.Source
		}
	}
	return best
}
