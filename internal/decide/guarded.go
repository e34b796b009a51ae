package decide

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/globscan"
	"carrel/internal/hostview"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/policy/pathglob"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
)

// GuardNames finds what is protected by its name. Without walls nothing is, but the
// project's repository belongs to it all the same.
func (p *guarded) GuardNames() {
	s := protectednames.Search{Place: &p.Place, Policy: p.Policy, Brokered: p.History(), Getenv: p.Getenv, Note: p.Note}
	if p.view != nil {
		s.Repositories, p.Directories = p.view.Repositories, p.view.Directories
	}
	p.Guarded = s.Find()
	if p.NoWalls() {
		p.Guarded = protectednames.Names{Write: p.Guarded.Write}
	}
}

// ExpandGlobs finds what globs match where mounts have to hold it. A match that is a link counts only where
// it leads to a file of the project: anything else is shown or hidden by its
// own rules, not by the author of the link.
func (p *guarded) ExpandGlobs() error {
	roots := p.globRoots()
	p.later = p.decidedLater()
	p.TrapsReads = p.strictSecrets() || slices.ContainsFunc(p.later, p.deniesBelow)
	for tries := 0; ; tries++ {
		found, err := globscan.Find(p.Policy, roots, p.later)
		var linked []policy.Rule
		if err == nil {
			linked, err = p.linkedLater()
		}
		if errors.Is(err, globscan.ErrMoved) && tries < maxExpansions {
			continue
		}
		if err != nil {
			return err
		}
		found = append(found, linked...)
		for _, r := range p.Policy.Rules {
			if r.Path == "" || r.Access == policy.Write {
				continue
			}
			if dir := globscan.Closed(r.Path, p.Place.Project); dir != "" {
				found = append(found, globscan.Hide(dir))
			}
		}
		p.expanded = slices.DeleteFunc(found, func(r policy.Rule) bool {
			real, kind := p.Facts.Resolve(r.Path)
			return real != r.Path && (kind != sandbox.KindFile || !pathname.Within(real, p.Place.Project))
		})
		return nil
	}
}

// maxExpansions bounds how often a search for globs is begun again because
// directories were moved under it.
const maxExpansions = 5

// linkedLater are the links that a denying glob matches where the broker decides:
// it goes by the name of what is opened, and in the low-level form a pattern
// hides the same with the history and without.
func (p *guarded) linkedLater() ([]policy.Rule, error) {
	if p.Request.Exact == nil || !p.TrapsReads {
		return nil, nil
	}
	found, err := globscan.Find(p.Policy, p.later, nil)
	return slices.DeleteFunc(found, func(r policy.Rule) bool {
		real, _ := p.Facts.Resolve(r.Path)
		return r.Access != policy.Deny || real == r.Path
	}), err
}

// ignoredGlobs are the patterns that hide something of the project by the
// broker, for gitignore(5): what cannot be read would make `git add` fail.
func (p *guarded) ignoredGlobs() []byte {
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

// mounted are the protected names that mounts hold. A repository's config is
// not among them where the broker holds it: git replaces the file for harmless
// changes, and a mount point cannot be replaced.
func (p *guarded) mounted() []policy.Rule {
	if !p.History() {
		return p.Guarded.Rules
	}
	return slices.DeleteFunc(slices.Clone(p.Guarded.Rules), func(r policy.Rule) bool { return p.isGitConfig(r.Path) })
}

// isGitConfig says whether path is the configuration of one of the project's
// repositories.
func (p *guarded) isGitConfig(path string) bool {
	base := filepath.Base(path)
	return (base == "config" || base == "config.worktree") && slices.Contains(p.Guarded.Pins, filepath.Dir(path))
}

// withMaskedIgnored tells git inside of the project's masked files: an untracked
// one that cannot be read would make every `git add -A` fail.
func (p *guarded) withMaskedIgnored(files []hostview.File, expanded []policy.Rule) []hostview.File {
	var names []byte
	for _, r := range slices.Concat(p.Policy.Rules, expanded) {
		if rel, ok := strings.CutPrefix(r.Path, p.Place.Project+"/"); ok && r.Access == policy.Deny && !strings.Contains(rel, "\n") {
			names = append(names, "/"+hostview.GitPattern(rel)+"\n"...)
		}
	}
	return hostview.WithIgnored(files, p.Place.Home, append(names, p.ignoredGlobs()...))
}

// Drafted are the places whose changes a draft keeps in layers over them: all that file rules
// open for writing, with the project's repository.
func (p *guarded) Drafted() []string {
	dirs := slices.Clone(p.Guarded.Write)
	for _, r := range p.planned().Rules {
		private := r.Path == p.Policy.Scope.Tmp && r.Source.Layer == policy.LayerDefault
		if real, kind := p.Facts.Resolve(r.Path); r.Path != "" && r.Access == policy.Write && !private && kind != sandbox.KindNone {
			dirs = append(dirs, real)
		}
	}
	return sandbox.Outermost(dirs)
}

// Protected are the rules of names that make the user run code later. They
// hold beside the rules of the policy.
func (p *guarded) Protected() []policy.Rule { return slices.Clone(p.Guarded.Rules) }

// everything is the policy with what protects and opens repositories: one set
// of rules to look a path up in.
func (p *guarded) everything() *policy.Effective {
	all := &policy.Effective{Scope: p.Policy.Scope, Rules: slices.Concat(p.Policy.Rules, p.Guarded.Rules)}
	for _, dir := range p.Guarded.Write {
		all.Rules = append(all.Rules, policy.Rule{Path: dir, Access: policy.Write,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "the project's repository"}})
	}
	return all
}

// recordedRoots are those of the plan. The repository of a worktree or a submodule
// is part of the project, wherever it lies.
func (p *guarded) recordedRoots() []string {
	if !p.History() {
		return nil
	}
	return sandbox.Outermost(slices.Concat(p.recorded, p.Guarded.Write))
}

// OpenAnnouncement says what a command can do, and what of it is kept.
func (p *guarded) OpenAnnouncement() string {
	kept := "NOTHING IS RECORDED, no change can be undone"
	if roots := p.recordedRoots(); len(roots) > 0 {
		var names []string
		for _, r := range roots {
			names = append(names, cmp.Or(strings.Trim(fmt.Sprintf("%q", r), `"`), r))
		}
		kept = "recorded and can be undone: changes of " + strings.Join(names, ", ") + "; nothing else is"
	}
	return "NO WALLS (" + p.Reason(policy.DimBackend).Source.String() + "): commands run as you and reach what you reach: your home and its secrets, the network, your desktop, the sockets of your programs; " + kept
}
