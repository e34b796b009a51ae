package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"carrel/internal/agenthome"
	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/clipboard"
	"carrel/internal/config"
	"carrel/internal/credentials"
	"carrel/internal/egress"
	"carrel/internal/globscan"
	"carrel/internal/gui"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/stdio"
	"carrel/internal/steps"
	"carrel/internal/toolchain"
	"carrel/internal/view"
)

// Prepared is a decided run: all is known, and nothing is started or written yet.
type Prepared struct {
	Policy *policy.Effective
	Loaded *config.Loaded
	Agent  *agents.Agent // nil for a command that is no known agent
	Plan   *sandbox.Plan // nil until Compile

	req                 Request
	profile             *profile.Profile // its places absolute; nil without
	mounts              []shown          // of the configuration, then of the profile
	from                string           // where relative names of the command line start, if that is not the working directory
	match               agents.Match
	place               hostfacts.Place
	facts               *hostfacts.Facts
	view                *view.View
	state               *statedir.Dir
	home                agenthome.Home   // of the agent, once it was opened
	upstream            *egress.Upstream // the host's own proxy, nil for none
	socketNames         []string         // of granted sockets, as they were written
	early               *sandbox.Stage   // started ahead; nil when there is none
	engine              engine
	promptsOff          bool
	interrupted         []uint64 // steps that an earlier run left open
	uid, gid            int
	programs            []policy.FileRequest // rules that show the command's own program
	allowed             []string             // programs that may be started, where the policy limits that
	starts              []string             // and the loaders that they name
	found               []foundProgram
	binds               []sandbox.Mount
	recorded            []string // without walls: places whose changes go through the broker
	plain               bool     // without walls, and without namespaces
	forAgent            bool     // without walls: the command is a known agent, which gets nothing for it
	expanded            []policy.Rule
	later               []string // where globs are decided by the broker
	trapsReads          bool     // globs of roots are decided at each open for reading
	guarded             protectednames.Names
	expected, removable func(path string) bool // of a broker that has ended: a protected name may be new, or gone
	hiddenSince         []string               // of the same: secrets that came
	said                sync.Mutex             // held for the next three
	heard               func(api.Denial)       // is told of each refusal at once, instead of at the end; nil for nobody
	notes               []string
	private             string // stands in for what is private, with an engine without mounts
	historyAt           string // where the history of the project is kept, "" for nowhere
	denials             []api.Denial
	kept                []steps.Segment
	desktop             *gui.Desktop // the virtual display; nil without
	noDisplay           string       // why there is none although the policy has one
	clipboard           *clipboard.Clipboard
	keyring             *credentials.Keyring // what of the person's credentials may be used; nil for nothing
	audit               *auditor.Auditor     // of a workspace that stays; nil for a run
	relay               *stdio.Relay         // of a run with keys that are seen; nil without
	lender              *lender              // of walls for host commands: the run that they belong to; nil for all others
	lentBroker          *brokered            // likewise: its history is written to
	hostToken           string               // of the host protocol; "" without
	tools               *toolchain.Toolchain // that the agent is started in; nil for none

	hostPrograms map[string]string // of walls for host commands: their files, by name
}

// Prepare gathers, decides and checks. The error is an *api.Denial where the
// request itself is refused; config and policy errors come as they are.
func Prepare(req Request) (*Prepared, error) {
	p := &Prepared{req: req, facts: hostfacts.New(), uid: os.Getuid(), gid: os.Getgid()}
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
	if p.place, err = hostfacts.FindPlace(p.req.Cwd, p.getenv("HOME")); err != nil {
		if p.from != "" {
			err = fmt.Errorf("profile %s works in %q: %w", p.profile.Name, p.req.Cwd, err)
		}
		return nil, err
	}
	if p.req.Cwd == "" {
		if err := p.facts.Pin(&p.place); err != nil {
			return nil, err
		}
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	if err := p.underCeilings().CheckTime("start", time.Now()); err != nil {
		return nil, err
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
	if err := p.keyring.CheckTrust(); err != nil {
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
	p.guardNames()
	if err := p.expandGlobs(); err != nil {
		return nil, err
	}
	return p, nil
}

// expandGlobs finds what globs match where mounts have to hold it. A match that is a link counts only where
// it leads to a file of the project: anything else is shown or hidden by its
// own rules, not by whoever wrote the link.
func (p *Prepared) expandGlobs() error {
	roots := p.globRoots()
	p.later = p.decidedLater()
	p.trapsReads = p.strictSecrets() || slices.ContainsFunc(p.later, p.deniesBelow)
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
			if dir := globscan.Closed(r.Path, p.place.Project); dir != "" {
				found = append(found, globscan.Hide(dir))
			}
		}
		p.expanded = slices.DeleteFunc(found, func(r policy.Rule) bool {
			real, kind := p.facts.Resolve(r.Path)
			return real != r.Path && (kind != sandbox.KindFile || !pathname.Within(real, p.place.Project))
		})
		return nil
	}
}

// load reads the configuration layers. Warnings of the project file become
// denials: somebody asked for something and did not get it.
func (p *Prepared) load() error {
	loaded, err := config.Load(p.configOptions())
	if err != nil {
		return err
	}
	p.Loaded = loaded
	p.promptsOff = loaded.Settings.PromptsOff != nil && loaded.Settings.PromptsOff.V
	return nil
}

// preset applies a named preset: a user's own one is a layer with a command of
// its own, a built-in one only names a command and fixes the persona.
func (p *Prepared) preset() error {
	if p.req.Preset == "" {
		return nil
	}
	if b, ok := agents.BuiltinPreset(p.req.Preset); ok {
		if b.Command == nil {
			b.Command = []string{UserShell(p.getenv)}
		}
		if p.req.Flags.Persona != nil && p.req.Flags.Persona.V != b.Persona {
			return fmt.Errorf("preset %q always has persona %s; leave --persona out or use a preset of your own", b.Name, b.Persona)
		}
		p.req.Flags.Persona = &policy.Value[policy.Persona]{V: b.Persona,
			Source: policy.Source{Layer: policy.LayerCommandLine, Text: "--preset " + b.Name + " (its persona is fixed)"}}
		p.setArgv(b.Command)
		return nil
	}
	i := slices.IndexFunc(p.Loaded.Presets, func(c config.Preset) bool { return c.Name == p.req.Preset })
	if i < 0 {
		return fmt.Errorf("no preset %q; `carrel preset list` names them", p.req.Preset)
	}
	own := p.Loaded.Presets[i]
	if len(own.Command) == 0 && len(p.req.Argv) == 0 {
		return fmt.Errorf("preset %q has no command of its own: carrel run --preset %s -- COMMAND", own.Name, own.Name)
	}
	p.Loaded.Layers = append(p.Loaded.Layers, own.Layer())
	p.setArgv(own.Command)
	return nil
}

func (p *Prepared) configOptions() config.Options {
	cwd := p.place.Cwd
	if p.from != "" {
		cwd = p.from
	}
	return config.Options{
		Home: p.place.Home, ConfigHome: p.getenv("XDG_CONFIG_HOME"), Project: p.place.Project, Cwd: cwd,
		Environ: p.req.Environ, Permissions: p.req.Permissions, Ceilings: p.req.Ceilings, BuiltinPresets: builtinPresets(),
	}
}

func builtinPresets() []string {
	var names []string
	for _, b := range agents.BuiltinPresets() {
		names = append(names, b.Name)
	}
	return names
}

// UserShell is the shell that the user has chosen, /bin/sh without one.
func UserShell(getenv func(string) string) string {
	if s := getenv("SHELL"); filepath.IsAbs(s) {
		return s
	}
	return "/bin/sh"
}

func (p *Prepared) setArgv(command []string) {
	if len(p.req.Argv) == 0 {
		p.req.Argv = slices.Clone(command)
	}
}

// decide inspects the host for defaults and has the policy decided. Home mode
// decides what of home is visible by default, and is itself decided: so it is
// settled first, with no files in the question.
func (p *Prepared) decide() error {
	layers := append(slices.Clone(p.Loaded.Layers), policy.Layer{Kind: policy.LayerCommandLine, Name: "command line", Request: p.req.Flags})
	layers = append(layers, policy.Defaults(p.req.Default), p.agentDefaults(false))
	scope := p.place.Scope(nil)
	first, err := policy.Decide(scope, p.Loaded.Ceiling, withoutFiles(layers))
	if err != nil {
		return err
	}
	layers[len(layers)-1] = p.agentDefaults(first.OnlyAPI)
	if first.Backend == policy.BackendNone {
		return p.decideOpen(scope, layers)
	}
	host := p.inspected(first.Home, homeGranted(scope, layers))
	if first.Network == policy.NetFiltered {
		host.NameServer = sandbox.Gateway
	}
	p.view, err = view.Inspect(host)
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
	ceiling, layers := policy.Canonical(scope, p.Loaded.Ceiling, layers, p.facts.Canonical)
	p.Policy, err = policy.Decide(scope, ceiling, layers)
	if err != nil {
		return err
	}
	p.warned()
	return nil
}

// inspected says for whom and for what the host is looked at.
func (p *Prepared) inspected(home policy.HomeMode, granted bool) view.Options {
	return view.Options{
		Home: p.place.Home, Project: p.place.Project, UID: p.uid, GID: p.gid, User: p.getenv("USER"),
		Environ: p.req.Environ, HomeMode: home, HomeGranted: granted, Git: p.keyring.Git(),
	}
}

// warned makes denials of what somebody asked for and did not get.
func (p *Prepared) warned() {
	for _, w := range p.Policy.Warnings {
		rule, hint := "a project file may only tighten", "put it in your own configuration if you want it"
		if w.Source.Layer != policy.LayerProject {
			rule, hint = "one policy is decided from what all ask for", "`carrel explain` says who asks for what"
		}
		if p.NoWalls() {
			rule, hint = "nothing holds it without walls", "--backend process holds it"
		}
		p.deny(api.Denial{Code: api.CodeProject, Operation: "start", Subject: w.Source.Text, Message: w.Message, Rule: rule, Source: w.Source.String(), Hint: hint})
	}
}

// leadsOut refuses a grant that is written as a place in the project and is a
// link out of it: whoever wrote the project would choose what is granted.
func (p *Prepared) leadsOut(scope policy.Scope, layers []policy.Layer) error {
	for _, l := range layers {
		for _, f := range l.Request.Files {
			places, err := policy.Resolve(scope, f)
			if err != nil || f.Glob || f.Access == policy.Deny {
				continue // Decide reports what cannot be resolved
			}
			for _, place := range places {
				if real := p.facts.Canonical(place); pathname.Within(place, p.place.Project) && !pathname.Within(real, p.place.Project) {
					return &api.Denial{Code: api.CodeProject, Operation: "start", Subject: place, Rule: "no link leads out of the project", Source: f.Source.String(),
						Message: fmt.Sprintf("%s: %q is a link that leads out of the project, to %q", f.Source.Text, place, real),
						Hint:    "name the place itself if you mean it"}
				}
			}
		}
	}
	return nil
}

func (p *Prepared) viewRules() []policy.FileRequest {
	rules := slices.Clone(p.programs)
	for _, r := range p.view.Rules {
		// Nothing that lies in the project may lead out of it: a grant there
		// that is a link was made by whoever wrote the project.
		if r.Access == policy.Deny && p.unreadable(r.Place) {
			continue
		}
		if !pathname.Within(r.Place, p.place.Project) || p.staysInside(r) {
			rules = append(rules, r)
		}
	}
	for _, extra := range p.view.ExtraRead {
		rules = append(rules, policy.FileRequest{Place: extra, Access: policy.Read,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "a system file points there"}})
	}
	for _, c := range p.view.Caches {
		if _, kind := p.facts.Resolve(c.Path); kind == sandbox.KindDir && !c.Private {
			rules = append(rules, policy.FileRequest{Place: c.Path, Access: policy.Read,
				Source: policy.Source{Layer: policy.LayerDefault, Text: c.Reason + ", copy-on-write"}})
		}
	}
	return append(rules, p.ownRules()...)
}

// staysInside says whether a default rule for a place in the project speaks of
// a file or directory there. A link made by whoever wrote the project must
// neither grant nor hide anything elsewhere, and a FIFO is nobody's settings.
func (p *Prepared) staysInside(r policy.FileRequest) bool {
	if r.Glob {
		return true
	}
	real, kind := p.facts.Resolve(r.Place)
	switch {
	case kind == sandbox.KindOther:
		return false
	case r.Access == policy.Deny:
		return kind == sandbox.KindNone || pathname.Within(real, p.place.Project) && (real == r.Place || kind == sandbox.KindFile)
	}
	return real == r.Place
}

// unreadable says that a system file needs no mask: an ordinary user cannot
// read it outside either, and inside has fewer rights than outside.
func (p *Prepared) unreadable(path string) bool {
	return p.uid != 0 && strings.HasPrefix(path, "/etc/") && !hostfacts.Readable(path)
}

// buildable refuses what this version cannot hold.
func (p *Prepared) buildable() error {
	if err := p.displayHeld(); err != nil {
		return err
	}
	if err := p.networkHeld(); err != nil {
		return err
	}
	var err error
	if p.upstream, err = p.hostProxy(); err != nil {
		return err
	}
	if d := p.Policy.Lookup(p.place.Project); !p.asIs() && p.place.Project == p.Policy.Scope.Tmp && (d.Rule == nil || d.Rule.Source.Layer == policy.LayerDefault) {
		return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: p.place.Project, Rule: "the workspace has a private " + p.place.Project, Source: "default",
			Message: fmt.Sprintf("%s itself as the project would be an empty, private one, and the work in it lost", p.place.Project),
			Hint:    "change to a directory below it, or give --write " + p.place.Project}
	}
	if err := p.programsHeld(); err != nil {
		return err
	}
	return p.holdable()
}

func (p *Prepared) reason(dim policy.Dimension) policy.Reason {
	for _, r := range p.Policy.Reasons {
		if r.Dimension == dim {
			return r
		}
	}
	return policy.Reason{Dimension: dim}
}

// grantedRoots are the project and whatever was granted beyond the defaults.
func (p *Prepared) grantedRoots() []string {
	roots := []string{p.place.Project}
	for _, r := range p.Policy.Rules {
		if r.Path != "" && r.Access != policy.Deny && r.Source.Layer != policy.LayerDefault {
			roots = append(roots, r.Path)
		}
	}
	if p.Policy.Home == policy.HomeFull && p.place.Home != "" {
		roots = append(roots, p.place.Home)
	}
	return sandbox.Outermost(roots)
}

// globRoots are the places that globs can matter in: the caches as well.
func (p *Prepared) globRoots() []string {
	roots := p.grantedRoots()
	for _, c := range p.view.Caches {
		if !c.Private {
			roots = append(roots, c.Path)
		}
	}
	return sandbox.Outermost(roots)
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

// maxExpansions bounds how often a search for globs is begun again because
// directories were moved under it.
const maxExpansions = 5
