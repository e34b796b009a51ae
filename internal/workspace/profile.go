package workspace

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/sandbox"
	"carrel/internal/view"
)

// openProfile finds the profile of the request and makes its directory the
// request's, where that names none. What the command line says relatively
// keeps meaning the directory that it was given in.
func (p *Prepared) openProfile() error {
	saved := p.req.Draft
	switch {
	case p.req.Profile == "" && saved == nil:
		return nil
	case p.req.Preset != "":
		return &hintError{err: fmt.Errorf("profile %q and preset %q: both say what is asked of the policy", p.req.Profile, p.req.Preset), hint: "give one of them"}
	case saved == nil:
		dir := profile.Dir(p.getenv)
		var err error
		if saved, err = profile.Load(dir, p.req.Profile); err != nil {
			if errors.Is(err, profile.ErrNone) {
				return &hintError{err: err, hint: "carrel profile list names them"}
			}
			return err
		}
	}
	here, err := workingDirectory(p.req.Cwd)
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	home := p.getenv("HOME")
	if filepath.IsAbs(home) {
		home = p.facts.canonical(home) // as the workspace has it
	}
	placed, err := saved.At(home, here)
	if err != nil {
		return err
	}
	p.profile = placed
	if p.req.Cwd != "" || saved.Cwd == "" {
		return nil
	}
	p.req.Cwd, p.from = placed.Cwd, here
	p.req.Flags.Files = slices.Clone(p.req.Flags.Files)
	for i := range p.req.Flags.Files {
		if f := &p.req.Flags.Files[i]; f.Base == "" && !f.Glob {
			f.Base = here
		}
	}
	return nil
}

// Profile is the profile that the workspace is made by, its places absolute;
// nil without one.
func (p *Prepared) Profile() *profile.Profile { return p.profile }

// applyProfile adds the profile's layer. A mount has to be there: what shows
// nothing would look like an empty directory, and the work in it be lost.
func (p *Prepared) applyProfile() error {
	if p.profile == nil {
		return nil
	}
	if err := p.mountsPlaced(); err != nil {
		return err
	}
	for _, m := range p.profile.Mounts {
		if _, kind := p.facts.Resolve(m.Host); kind != sandbox.KindDir && kind != sandbox.KindFile {
			return &hintError{err: fmt.Errorf("%s: the mount %q is no file or directory that is there", m.Source, m.Host), hint: "make it, or take it out of the profile"}
		}
	}
	p.Loaded.Layers = append(p.Loaded.Layers, p.profile.Layer())
	return nil
}

// ownTrees are the places in which no mount shows elsewhere: they are the
// workspace's own or the system's, and programs trust what they find there.
var ownTrees = []string{"/proc", "/sys", "/dev", "/run", "/etc", "/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/boot"}

// badPlace says what stands against a mount's place inside by its name alone,
// "" if nothing. Other mounts of the profile are looked at, too: a link in a
// link would be made in a directory of the host.
func badPlace(m profile.Mount, all []profile.Mount) string {
	switch {
	case m.Workspace == m.Host:
		return ""
	case m.Workspace == "/":
		return "it is everything"
	}
	for _, tree := range ownTrees {
		if within(m.Workspace, tree) {
			return "what is in " + tree + " is the workspace's own"
		}
	}
	for _, o := range all {
		for _, taken := range []string{o.Host, o.Workspace} {
			if within(m.Workspace, taken) && (o != m || taken == o.Host) || within(taken, m.Workspace) && taken != m.Workspace {
				return fmt.Sprintf("the mount %q is there, or around it, or in it", taken)
			}
		}
	}
	return ""
}

func movedRefused(m profile.Mount, why string) error {
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: m.Workspace, Rule: "a mount elsewhere shows where nothing else is", Source: m.Source.String(),
		Message: fmt.Sprintf("the mount %q cannot show at %q: %s", m.Host, m.Workspace, why), Hint: "give it another workspace_path, or leave that out: it shows at its host_path"}
}

// mountsPlaced refuses mounts that cannot show where the profile wants them, as
// far as that can be told without a plan.
func (p *Prepared) mountsPlaced() error {
	for _, m := range p.profile.Mounts {
		if why := badPlace(m, p.profile.Mounts); why != "" {
			return movedRefused(m, why)
		}
	}
	return nil
}

// mountLinks are what shows mounts at another path than their own: links in the
// workspace's own file system. The host's path stays the one at which a mount is
// decided, recorded and undone, and what a rule hides or protects below it holds
// whichever way it is reached.
func (p *Prepared) mountLinks() []sandbox.Mount {
	if p.profile == nil {
		return nil
	}
	var links []sandbox.Mount
	for _, m := range p.profile.Mounts {
		if m.Workspace != m.Host {
			links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: m.Workspace, Source: p.facts.canonical(m.Host), Reason: m.Source.String()})
		}
	}
	return links
}

// mountLinksHeld looks at the plan: a link has to lie in memory that is the
// workspace's own, on nothing, around nothing and in nothing of the host.
func (p *Prepared) mountLinksHeld() error {
	if p.profile == nil {
		return nil
	}
	for _, m := range p.profile.Mounts {
		if m.Workspace == m.Host {
			continue
		}
		if p.engine.name == sandbox.EngineLandlock {
			return movedRefused(m, "engine landlock shows files where they are and nowhere else")
		}
		for i := range p.Plan.Mounts {
			at := &p.Plan.Mounts[i]
			link := at.Kind == sandbox.MakeSymlink && at.Target == m.Workspace && at.Source == p.facts.canonical(m.Host)
			if !link && (within(at.Target, m.Workspace) || within(m.Workspace, at.Target) && at.Kind != sandbox.MountTmpfs && at.Kind != sandbox.MakeDir) {
				return movedRefused(m, fmt.Sprintf("%q is there, or around it, or in it", at.Target))
			}
		}
	}
	return nil
}

// CheckProfile decides a profile against the operator's file and the ceiling
// alone, as it is done before one is saved. Of the request only Cwd, Environ,
// Ceilings and Permissions count. No project is looked at: what a project's file takes
// away holds where the profile is used. The error is that of Prepare.
func CheckProfile(draft *profile.Profile, req Request) error {
	p := &Prepared{req: Request{Draft: draft, Cwd: req.Cwd, Environ: req.Environ, Permissions: req.Permissions, Ceilings: req.Ceilings, Default: policy.Agent}, facts: newFacts(), uid: os.Getuid(), gid: os.Getgid()}
	if err := p.openProfile(); err != nil {
		return err
	}
	if err := p.mountsPlaced(); err != nil {
		return err
	}
	var err error
	if p.place, err = findPlace(p.req.Cwd, p.getenv("HOME")); err != nil {
		// It need not be there yet.
		p.place = place{cwd: p.profile.Cwd, project: p.profile.Cwd, home: p.facts.canonical(p.getenv("HOME"))}
	}
	if p.from == "" {
		p.from = p.place.cwd
	}
	project := p.place.project
	p.place.project = "" // its file is not read
	err = p.load()
	p.place.project = project
	if err != nil {
		return err
	}
	if err := p.underCeilings().CheckTime("profile", time.Now()); err != nil {
		return err
	}
	p.Loaded.Layers = append(p.Loaded.Layers, p.profile.Layer())
	err = p.ofProfile(p.decide())
	programs := p.programsOfProfile()
	var errs policy.Errors
	switch {
	case err != nil && !errors.As(err, &errs):
		return err
	case err != nil && p.view == nil: // decided without files, which have a say of their own
		files := p.ofProfile(p.decideFiles())
		var more policy.Errors
		if errors.As(files, &more) {
			errs = append(errs, more...)
		}
		return append(errs, programs...)
	case len(errs)+len(programs) == 0:
		return nil
	}
	return append(errs, programs...)
}

// decideFiles has what the profile asks of files decided alone, so that all that
// is beyond a ceiling is told at once.
func (p *Prepared) decideFiles() error {
	v, err := view.InspectSystem(view.Options{Home: p.place.home, Project: p.place.project, UID: p.uid, GID: p.gid, Environ: p.req.Environ, HomeMode: policy.HomeNone}, false)
	if err != nil {
		return err
	}
	files := func(c *policy.Ceiling) *policy.Ceiling {
		if c == nil {
			return nil
		}
		only := &policy.Ceiling{Mounts: c.Mounts}
		for _, also := range c.Also {
			only.Also = append(only.Also, &policy.Ceiling{Mounts: also.Mounts})
		}
		return only
	}
	var layers []policy.Layer
	for _, l := range p.Loaded.Layers {
		if l.Kind == policy.LayerOperator || l.Kind == policy.LayerProfile {
			layers = append(layers, policy.Layer{Kind: l.Kind, Name: l.Name, Request: policy.Request{Files: l.Request.Files}, Ceiling: files(l.Ceiling)})
		}
	}
	scope := p.place.scope(v.System)
	ceiling, layers := policy.Canonical(scope, files(p.Loaded.Ceiling), append(layers, policy.Defaults(p.req.Default)), p.facts.canonical)
	_, err = policy.Decide(scope, ceiling, layers)
	return err
}

// ofProfile keeps of a decision's errors what the profile asked for: the others
// are of the directory that it is saved in.
func (p *Prepared) ofProfile(err error) error {
	var all, kept policy.Errors
	if !errors.As(err, &all) {
		return err
	}
	for _, e := range all {
		var refused *policy.Refusal
		var wrong *policy.RequestError
		if errors.As(e, &refused) && refused.Asked.Layer == policy.LayerProfile || errors.As(e, &wrong) && wrong.Source.Layer == policy.LayerProfile {
			kept = append(kept, e)
		}
	}
	if len(kept) == 0 {
		return nil
	}
	return kept
}

// programsOfProfile refuses commands that a ceiling does not let start.
func (p *Prepared) programsOfProfile() (errs policy.Errors) {
	if p.profile == nil {
		return nil
	}
	ceilings := p.underCeilings().All()
	for _, c := range slices.Concat(p.profile.Setup, p.profile.Apps) {
		for _, ceiling := range ceilings {
			if len(ceiling.ProgramsAllow) == 0 || p.mayStart(ceiling.ProgramsAllow, c.Argv[0]) {
				continue
			}
			names := make([]string, len(ceiling.ProgramsAllow))
			for i, v := range ceiling.ProgramsAllow {
				names[i] = v.V
			}
			errs = append(errs, &policy.Refusal{Dimension: policy.DimPrograms, Requested: c.Argv[0], Allowed: strings.Join(names, ", "),
				Source: ceiling.ProgramsAllow[0].Source, Asked: c.Source})
		}
	}
	return errs
}

// Missing are the profile's programs that are not found, as far as PATH
// tells: what a setup installs is found later.
func (p *Prepared) Missing() []string {
	var out []string
	if p.profile == nil {
		return nil
	}
	for _, c := range slices.Concat(p.profile.Setup, p.profile.Apps) {
		if _, err := p.lookPath(c.Argv[0]); err != nil && !slices.Contains(out, c.Argv[0]) {
			out = append(out, c.Argv[0])
		}
	}
	return out
}

// mayStart says whether a list names a program, by the name that was written or
// by the file that it is.
func (p *Prepared) mayStart(list []policy.Value[string], program string) bool {
	full := program
	if !strings.Contains(program, "/") {
		if found, err := p.lookPath(program); err == nil {
			full = found
		}
	}
	real := p.facts.canonical(p.absolute(full))
	return slices.ContainsFunc(list, func(v policy.Value[string]) bool {
		switch {
		case v.V == program, v.V == full, v.V == real:
			return true
		case filepath.IsAbs(v.V):
			return p.facts.canonical(v.V) == real
		}
		return filepath.IsAbs(program) && v.V == path.Base(program)
	})
}

// strictlyHeld refuses a start that a strict profile does not allow: under
// walls that are weaker, with less than was asked for, or with anything to note
// before the command begins. Others start and say so.
func (p *Prepared) strictlyHeld() error {
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
			if _, kind := p.facts.Resolve(place); kind == sandbox.KindNone {
				return refuse(fmt.Sprintf("%q is granted and not there (%s)", place, f.Source))
			}
		}
	}
	for _, w := range p.Policy.Warnings {
		if w.Source.Layer != policy.LayerProject { // which may only tighten, and has
			return refuse(w.Message)
		}
	}
	if len(p.notes) > 0 {
		return refuse(p.notes[0])
	}
	return nil
}

// PreviewStrict says ahead what a strict profile would refuse; it needs
// [Prepared.Preview]. What is only found out at the start is not among it.
func (p *Prepared) PreviewStrict() error { return p.strictlyHeld() }
