package decide

import (
	"path"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// Location is where a command would run. All paths are canonical.
type Location struct {
	Cwd     string
	Project string
	Home    string // "" when HOME is no directory
}

// Locate finds the project around a directory; cwd "" means the process's own.
func Locate(cwd, home string) (Location, error) {
	p, err := hostfacts.FindPlace(cwd, home)
	return locationOf(&p), err
}

func locationOf(p *hostfacts.Place) Location {
	return Location{Cwd: p.Cwd, Project: p.Project, Home: p.Home}
}

// ReadSettings reads the configuration as [Prepare] does and decides nothing.
// Of the request only Cwd, Environ, Ceilings and Permissions count.
func ReadSettings(req Request) (*config.Loaded, Location, error) {
	p := &Decision{Request: req}
	var err error
	if p.Place, err = hostfacts.FindPlace(req.Cwd, p.Getenv("HOME")); err != nil {
		return nil, Location{}, err
	}
	err = p.load()
	return p.Loaded, p.Location(), err
}

// Location is where the prepared command would run.
func (p *Decision) Location() Location { return locationOf(&p.Place) }

// Recognition says which known agent the command is and what it was recognised
// through; false for a command that is none.
func (p *Decision) Recognition() (agents.Match, bool) { return p.match, p.Agent != nil }

// Protected are the rules of names that make somebody run code later. They
// hold beside the rules of the policy.
func (p *Decision) Protected() []policy.Rule { return slices.Clone(p.Guarded.Rules) }

// Preview compiles the plan as a session would and makes nothing:
// directories that do not exist yet stand in it with the place that they would
// have.
func (p *Decision) Preview() error {
	defer p.Passing()()
	state, binds := p.State, p.binds
	defer func() { p.State, p.binds = state, binds }()
	if dir := statedir.Path(p.Getenv); dir != "" {
		p.State = statedir.At(p.Facts.Canonical(dir))
		p.binds = append(slices.Clone(binds), p.previewAgentHome()...)
	}
	return p.Compile(false)
}

// PathAnswer says what holds at one path and what holds it.
type PathAnswer struct {
	Asked string // absolute, as it was asked for
	policy.PathExplanation

	// Held is the step of the plan that puts there what a command finds; nil
	// where there is nothing. It needs a plan, see [Decision.Preview].
	Held *sandbox.Mount

	// Refused says that no mount hides the path: each open of it is refused.
	Refused bool
}

// AskPath explains the access to one place: absolute, relative to the working
// directory, or with a special name, as a file rule has it. Symlinks are
// resolved first.
func (p *Decision) AskPath(where string) (PathAnswer, error) {
	places, err := policy.Resolve(p.Policy.Scope, policy.FileRequest{Place: where})
	if err != nil {
		return PathAnswer{}, err
	}
	if len(places) == 0 {
		return PathAnswer{Asked: where}, nil
	}
	asked := places[0]
	real := p.Facts.Canonical(p.behind(asked))
	a := PathAnswer{Asked: asked, PathExplanation: *policy.Explain(p.everything(), policy.Query{Path: real}).Path}
	if p.Plan != nil {
		a.Held = holder(p.Plan, real)
		a.Refused = p.TrapsReads && a.Decision.Access == policy.Deny && a.Decision.Rule != nil && a.Decision.Rule.Glob != "" &&
			slices.ContainsFunc(p.Plan.Roots, func(root string) bool { return pathname.Within(real, root) })
	}
	return a, nil
}

// everything is the policy with what protects and opens repositories: one set
// of rules to look a path up in.
func (p *Decision) everything() *policy.Effective {
	all := &policy.Effective{Scope: p.Policy.Scope, Rules: slices.Concat(p.Policy.Rules, p.Guarded.Rules)}
	for _, dir := range p.Guarded.Write {
		all.Rules = append(all.Rules, policy.Rule{Path: dir, Access: policy.Write,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "the project's repository"}})
	}
	return all
}

// holder finds the step whose mount a path ends up in: the deepest, and of
// several at one place the last.
func holder(plan *sandbox.Plan, p string) *sandbox.Mount {
	var best *sandbox.Mount
	for i := range plan.Mounts {
		m := &plan.Mounts[i]
		switch m.Kind {
		case sandbox.Freeze, sandbox.MakeDir:
			continue
		case sandbox.MakeSymlink, sandbox.WriteFile, sandbox.MountData:
			if m.Target != p {
				continue
			}
		}
		if pathname.Within(p, m.Target) && (best == nil || len(m.Target) >= len(best.Target)) {
			best = m
		}
	}
	return best
}

// HeldSource is the host path behind a path inside, "" where the step shows
// nothing of the host.
func (a PathAnswer) HeldSource() string {
	if a.Held == nil || a.Held.Kind != sandbox.MountBind && a.Held.Kind != sandbox.MountOverlay {
		return ""
	}
	return path.Join(a.Held.Source, strings.TrimPrefix(a.Path, a.Held.Target))
}
