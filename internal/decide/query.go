package decide

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
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

// ReadSettings reads the configuration as [Prepare] does and decides nothing.
// Of the request only Cwd, Environ, Ceilings and Permissions count.
func ReadSettings(req Request) (*config.Loaded, Location, error) {
	p := newDecision(req)
	var err error
	if p.Place, err = hostfacts.FindPlace(req.Cwd, p.Getenv("HOME")); err != nil {
		return nil, Location{}, err
	}
	err = p.load()
	return p.Loaded, p.Location(), err
}

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

// Callbacks says whether a login inside may have its way back through the
// host's loopback: only where the user has links opened at all, and where the
// workspace has a loopback of its own that could answer.
func (p *Decision) Callbacks() bool {
	return p.Policy.OpenURLs == policy.LinksBrowser && p.Plan.NewNet && p.Plan.Loopback
}

// StrictlyHeld refuses a start that a strict profile does not allow: under
// walls that are weaker, with less than was asked for, or with anything to note
// before the command begins. Others start and say so. After [Decision.Preview] it says
// that ahead, but for what is only found out at the start.
func (p *Decision) StrictlyHeld() error {
	if p.profile == nil || !p.profile.Strict {
		return nil
	}
	refuse := func(what string) error {
		return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: "profile " + p.profile.Name, Rule: "strict", Source: "profile " + p.profile.Name,
			Message: "profile " + p.profile.Name + " is strict, and is not held wholly here: " + what, Hint: "mend that, or take strict out of the profile"}
	}
	if weaker := p.Engine().Weaker(p.Plan != nil && p.Plan.Landlock.Files); len(weaker) > 0 {
		return refuse("engine " + p.engine.String() + ", is weaker than carrel's own namespaces: " + weaker[0])
	}
	for _, f := range p.profile.Request.Files {
		places, err := policy.Resolve(p.Policy.Scope, f)
		if err != nil || f.Glob || f.Access == policy.Deny {
			continue
		}
		for _, place := range places {
			if _, kind := p.Facts.Resolve(place); kind == sandbox.KindNone {
				return refuse(fmt.Sprintf("%q is granted and not there (%s)", place, f.Source))
			}
		}
	}
	for _, w := range p.Policy.Warnings {
		if w.Source.Layer != policy.LayerProject { // which may only tighten, and has
			return refuse(w.Message)
		}
	}
	if notes := p.Noted(); len(notes) > 0 {
		return refuse(notes[0])
	}
	return nil
}

// Announcements are the sentences that the user has to read before the start:
// what the project file asked for and did not get, and each grant that is
// wider than it may look.
func (p *Decision) Announcements() []string {
	var out []string
	for _, w := range p.Loaded.Warnings {
		out = append(out, fmt.Sprintf("warning: %s: %s", w.Source, w.Message))
	}
	for _, w := range p.Policy.Warnings {
		out = append(out, fmt.Sprintf("warning: %s: %s", w.Source, w.Message))
	}
	if p.NoWalls() {
		return append(out, p.OpenAnnouncement())
	}
	out = append(out, p.hostAnnouncements()...)
	abi, err := landlock.ABI()
	if p.contained() {
		out = append(out, "container: "+p.engine.String())
	} else if p.inGvisor() {
		out = append(out, "sandbox: "+p.engine.String()+"; what it writes beside the project stays in its memory")
	} else if p.Machine != nil {
		out = append(out, "machine: "+p.engine.String()+"; of this host it has the project and what you grant")
	} else if p.engine.name != "" {
		out = append(out, fmt.Sprintf("engine %s; weaker than carrel's own namespaces: %s", p.engine, strings.Join(p.engine.name.Weaker(err == nil && abi >= FilesABI), "; ")))
	}
	out = append(out, p.networkAnnouncements(err == nil && abi >= ScopesABI)...)
	if p.Policy.Display == policy.DisplayHost && len(p.displayBinds()) > 0 {
		out = append(out, "display host: windows open on your screen, and the command can watch and type there ("+p.Reason(policy.DimDisplay).Source.String()+")")
	}
	if p.Policy.Clipboard == policy.ClipboardPaste {
		out = append(out, "clipboard paste: just after you press Ctrl+V here, the command can read what you copied on your desktop ("+p.Reason(policy.DimClip).Source.String()+")")
	}
	for _, said := range []string{p.agentMissing(), p.homeAnnouncement()} {
		if said != "" {
			out = append(out, said)
		}
	}
	if p.NoDisplay != "" {
		out = append(out, "warning: "+p.NoDisplaySaid())
	}
	return out
}

func locationOf(p *hostfacts.Place) Location {
	return Location{Cwd: p.Cwd, Project: p.Project, Home: p.Home}
}
