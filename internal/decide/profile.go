package decide

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/advice"
	"carrel/internal/ceilings"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/policy"
	"carrel/internal/profile"
)

// openProfile finds the profile of the request and makes its directory the
// request's, where that names none. What the command line says relatively
// keeps meaning the directory that it was given in.
func (p *asked) openProfile() error {
	defer func() { p.Request.Cwd = cmp.Or(p.Request.Cwd, p.Request.Here) }()
	saved := p.Request.Draft
	switch {
	case p.Request.Profile == "" && saved == nil:
		return nil
	case p.Request.Preset != "":
		return &advice.Error{Err: fmt.Errorf("profile %q and preset %q: both say what is asked of the policy", p.Request.Profile, p.Request.Preset), Hint: "give one of them"}
	case saved == nil:
		dir := profile.Dir(p.Getenv)
		var err error
		if saved, err = profile.Load(dir, p.Request.Profile); err != nil {
			if errors.Is(err, profile.ErrNone) {
				return &advice.Error{Err: err, Hint: "`carrel profile list` names them"}
			}
			return err
		}
	}
	here, err := hostfacts.WorkingDirectory(cmp.Or(p.Request.Cwd, p.Request.Here))
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	home := p.Getenv("HOME")
	if filepath.IsAbs(home) {
		home = p.Facts.Canonical(home) // as the workspace has it
	}
	placed, err := saved.At(home, here)
	if err != nil {
		return err
	}
	p.profile = placed
	if p.Request.Cwd != "" || saved.Cwd == "" {
		return nil
	}
	p.Request.Cwd, p.from = placed.Cwd, here
	p.Request.Flags.Files = slices.Clone(p.Request.Flags.Files)
	for i := range p.Request.Flags.Files {
		if f := &p.Request.Flags.Files[i]; f.Base == "" && !f.Glob {
			f.Base = here
		}
	}
	return nil
}

// Profile is the profile that the workspace is made by, its places absolute;
// nil without one.
func (p *asked) Profile() *profile.Profile { return p.profile }

// applyProfile adds the profile's layer, and looks at all mounts. One has to be
// there: what shows nothing would look like an empty directory, and the work in it
// be lost.
func (p *mountable) applyProfile() error {
	if err := p.gatherMounts(); err != nil {
		return err
	}
	if p.profile != nil {
		p.Loaded.Layers = append(p.Loaded.Layers, p.profile.Layer())
	}
	return nil
}

// CheckProfile decides a profile against the operator's file and the ceiling
// alone, as it is done before one is saved. Of the request only Cwd, Here, Environ,
// Ceilings and Permissions count. No project is looked at: what a project's file takes
// away holds where the profile is used. The error is that of Prepare.
func CheckProfile(draft *profile.Profile, req Request) error {
	p := newDecision(Request{Draft: draft, Cwd: req.Cwd, Here: req.Here, Environ: req.Environ, Permissions: req.Permissions, Ceilings: req.Ceilings, Default: policy.Agent})
	if err := p.openProfile(); err != nil {
		return err
	}
	for _, m := range p.profile.Mounts { // they need not be there yet
		p.mounts = append(p.mounts, shown{Mount: m})
	}
	if err := p.mountsPlaced(); err != nil {
		return err
	}
	var err error
	if p.Place, err = hostfacts.FindPlace(p.Request.Cwd, p.Getenv("HOME")); err != nil {
		// It need not be there yet.
		p.Place = hostfacts.Place{Cwd: p.profile.Cwd, Project: p.profile.Cwd, Home: p.Facts.Canonical(p.Getenv("HOME"))}
	}
	if p.from == "" {
		p.from = p.Place.Cwd
	}
	project := p.Place.Project
	p.Place.Project = "" // its file is not read
	err = p.load()
	p.Place.Project = project
	if err != nil {
		return err
	}
	if err := ceilings.Of(p.Loaded).CheckTime("profile", time.Now()); err != nil {
		return err
	}
	p.Loaded.Layers = append(p.Loaded.Layers, p.profile.Layer())
	err = ofProfile(p.decide())
	programs := p.programsOfProfile()
	var errs policy.Errors
	switch {
	case err != nil && !errors.As(err, &errs):
		return err
	case err != nil && p.view == nil: // decided without files, which have a say of their own
		files := ofProfile(p.decideFiles())
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
func (p *configured) decideFiles() error {
	v, err := hostview.InspectSystem(hostview.Options{Home: p.Place.Home, Project: p.Place.Project, UID: p.UID, GID: p.GID, Environ: p.Request.Environ, HomeMode: policy.HomeNone}, false)
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
	scope := p.Place.Scope(v.System)
	ceiling, layers := policy.Canonical(scope, files(p.Loaded.Ceiling), append(layers, policy.Defaults(p.Request.Default)), p.Facts.Canonical)
	_, err = policy.Decide(scope, ceiling, layers)
	return err
}

// ofProfile keeps of a decision's errors what the profile asked for: the others
// are of the directory that it is saved in.
func ofProfile(err error) error {
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
func (p *configured) programsOfProfile() (errs policy.Errors) {
	if p.profile == nil {
		return nil
	}
	bounds := ceilings.Of(p.Loaded).All()
	for _, c := range slices.Concat(p.profile.Setup, p.profile.Apps) {
		for _, ceiling := range bounds {
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
func (p *asked) Missing() []string {
	var out []string
	if p.profile == nil {
		return nil
	}
	for _, c := range slices.Concat(p.profile.Setup, p.profile.Apps) {
		if _, err := p.LookPath(c.Argv[0]); err != nil && !slices.Contains(out, c.Argv[0]) {
			out = append(out, c.Argv[0])
		}
	}
	return out
}

// mayStart says whether a list names a program, by the name that was written or
// by the file that it is.
func (p *asked) mayStart(list []policy.Value[string], program string) bool {
	full := program
	if !strings.Contains(program, "/") {
		if found, err := p.LookPath(program); err == nil {
			full = found
		}
	}
	real := p.Facts.Canonical(p.absolute(full))
	return slices.ContainsFunc(list, func(v policy.Value[string]) bool {
		switch {
		case v.V == program, v.V == full, v.V == real:
			return true
		case filepath.IsAbs(v.V):
			return p.Facts.Canonical(v.V) == real
		}
		return filepath.IsAbs(program) && v.V == path.Base(program)
	})
}
