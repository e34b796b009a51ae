package decide

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/machine"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// Prepare gathers, decides and checks. The error is an *api.Denial where the
// request itself is refused; config and policy errors come as they are.
func Prepare(req Request) (*Decision, error) {
	p := newDecision(req)
	if req.Exact != nil {
		if err := p.prepareExact(); err != nil {
			return nil, err
		}
		return p, nil
	}
	if err := p.openProfile(); err != nil {
		return nil, err
	}
	var err error
	if p.Place, err = hostfacts.FindPlace(p.Request.Cwd, p.Getenv("HOME")); err != nil {
		if p.from != "" {
			err = fmt.Errorf("profile %s works in %q: %w", p.profile.Name, p.Request.Cwd, err)
		}
		return nil, err
	}
	if p.Request.Cwd == "" {
		if err := p.Facts.Pin(&p.Place); err != nil {
			return nil, err
		}
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	if !p.Request.Restores {
		if err := ceilings.Of(p.Loaded).CheckTime("start", time.Now()); err != nil {
			return nil, err
		}
	}
	if err := errors.Join(p.preset(), p.applyProfile()); err != nil {
		return nil, err
	}
	if err := errors.Join(p.recognise(), p.checkAgent()); err != nil {
		return nil, err
	}
	if p.tools, err = p.agentToolchain(); err != nil {
		return nil, err
	}
	p.findProgram()
	if err := p.openKeyring(); err != nil {
		return nil, err
	}
	if err := p.decide(); err != nil {
		return nil, err
	}
	p.Policy.AddCredentials(p.Loaded.Settings.Credentials)
	if err := p.Keyring.CheckTrust(); err != nil {
		return nil, err
	}
	if err := p.mountsAllowed(); err != nil {
		return nil, err
	}
	if err := p.agentHomeAllowed(); err != nil {
		return nil, err
	}
	if errs := p.programsOfProfile(); len(errs) > 0 {
		return nil, errs
	}
	if err := p.buildable(); err != nil {
		return nil, err
	}
	p.GuardNames()
	if err := p.ExpandGlobs(); err != nil {
		return nil, err
	}
	noteUnset(p)
	return p, nil
}

// load reads the configuration layers. Warnings of the project file become
// denials: somebody asked for something and did not get it.
func (p *recognised) load() error {
	loaded, err := config.Load(p.configOptions())
	if err != nil {
		return err
	}
	p.Loaded = loaded
	p.promptsOff = loaded.Settings.PromptsOff != nil && loaded.Settings.PromptsOff.V
	return loaded.Settings.VM.Override(&p.Request.VM)
}

// UserShell is the shell that the user has chosen, /bin/sh without one.
func UserShell(getenv func(string) string) string {
	if s := getenv("SHELL"); filepath.IsAbs(s) {
		return s
	}
	return "/bin/sh"
}

// ShellIn is the user's shell in a workspace of a backend: a machine of Lima has a system of its own.
func ShellIn(backend policy.Backend, getenv func(string) string) string {
	if backend == policy.BackendLima {
		return machine.Shell
	}
	return UserShell(getenv)
}

// decide inspects the host for defaults and has the policy decided. Home mode
// decides what of home is visible by default, and is itself decided: so it is
// settled first, with no files in the question.
func (p *homed) decide() error {
	layers := append(slices.Clone(p.Loaded.Layers), policy.Layer{Kind: policy.LayerCommandLine, Name: "command line", Request: p.Request.Flags})
	layers = append(layers, policy.Defaults(p.Request.Default), p.agentDefaults(false))
	scope := p.Place.Scope(nil)
	first, err := policy.Decide(scope, p.Loaded.Ceiling, withoutFiles(layers))
	if err != nil {
		return err
	}
	layers[len(layers)-1] = p.agentDefaults(first.OnlyAPI)
	if first.Backend == policy.BackendNone {
		return p.decideOpen(scope, layers)
	}
	host := p.inspected(first.Home, homeGranted(scope, layers))
	if first.Backend == policy.BackendContainer || first.Backend == policy.BackendLima { // the programs are the image's
		host.Image, p.programs, p.found, p.tools = true, nil, nil, nil
	}
	if first.Network == policy.NetFiltered {
		host.NameServer = sandbox.Gateway
	}
	p.view, err = hostview.Inspect(host)
	if err != nil {
		return err
	}
	layers = append(layers, p.agentEndpoints(first.Env))
	scope.System = p.view.System
	layers = append(layers, policy.Layer{Kind: policy.LayerDefault, Name: "view", Request: policy.Request{Files: p.viewRules()}})
	if err := p.leadsOut(scope, layers); err != nil {
		return err
	}
	p.socketNames = socketNames(layers)
	ceiling, layers := policy.Canonical(scope, p.Loaded.Ceiling, layers, p.Facts.Canonical)
	p.Policy, err = policy.Decide(scope, ceiling, layers)
	if err != nil {
		return err
	}
	p.warned()
	return nil
}

// inspected says for whom and for what the host is looked at.
func (p *homed) inspected(home policy.HomeMode, granted bool) hostview.Options {
	return hostview.Options{
		Home: p.Place.Home, Project: p.Place.Project, UID: p.UID, GID: p.GID, User: p.Getenv("USER"), Environ: p.Request.Environ,
		HomeMode: home, HomeGranted: granted, Git: p.Keyring.Git(),
		Looked: statedir.At(statedir.Path(p.Getenv)).Looked(p.Place.Project),
	}
}

// KeepLooked keeps what the look at the project found for the next one, see
// [statedir.Dir.KeepLooked].
func KeepLooked(p *Decision) (wait func()) {
	return p.State.KeepLooked(p.Place.Project, p.view.Looked)
}

// buildable refuses what this version cannot hold.
func (p *displayed) buildable() error {
	if err := machine.CheckFlags(&p.Request.VM, p.Policy.Backend); err != nil {
		return err
	}
	if err := p.displayHeld(); err != nil {
		return err
	}
	if err := p.networkHeld(); err != nil {
		return err
	}
	var err error
	if p.Upstream, err = p.hostProxy(); err != nil {
		return err
	}
	if d := p.Policy.Lookup(p.Place.Project); !p.AsIs() && p.Place.Project == p.Policy.Scope.Tmp && (d.Rule == nil || d.Rule.Source.Layer == policy.LayerDefault) {
		return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: p.Place.Project, Rule: "the workspace has a private " + p.Place.Project, Source: "default",
			Message: fmt.Sprintf("%s itself as the project would be an empty, private one, and the work in it lost", p.Place.Project),
			Hint:    "change to a directory below it, or give --write " + p.Place.Project}
	}
	if err := p.programsHeld(); err != nil {
		return err
	}
	return p.holdable()
}

// homeGranted says whether all of home is asked for.
func homeGranted(scope policy.Scope, layers []policy.Layer) bool {
	for _, l := range layers {
		for _, f := range l.Request.Files {
			if f.Access == policy.Deny || f.Glob || l.Kind == policy.LayerDefault { // not asked for: /tmp is private
				continue
			}
			places, _ := policy.Resolve(scope, f)
			if slices.ContainsFunc(places, func(place string) bool { return pathname.Within(scope.Home, place) }) {
				return scope.Home != ""
			}
		}
	}
	return false
}

func withoutFiles(layers []policy.Layer) []policy.Layer {
	out := slices.Clone(layers)
	for i := range out {
		out[i].Request.Files = nil
	}
	return out
}
