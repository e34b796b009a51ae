package decide

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/agenthome"
	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/config"
	"carrel/internal/credentials"
	"carrel/internal/egress"
	"carrel/internal/globscan"
	"carrel/internal/hostfacts"
	"carrel/internal/machine"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/told"
	"carrel/internal/toolchain"
	"carrel/internal/view"
)

// Decision is what was decided for one command or one workspace that stays: all is known,
// and nothing is started yet. A session fills in what only stands later: the state
// directory, the desktop, the terminal and the audit log.
type Decision struct {
	Policy *policy.Effective
	Loaded *config.Loaded
	Agent  *agents.Agent // nil for a command that is no known agent
	Plan   *sandbox.Plan // nil until Compile

	told.Log

	Request     Request
	profile     *profile.Profile // its places absolute; nil without
	mounts      []shown          // of the configuration, then of the profile
	from        string           // where relative names of the command line start, if that is not the working directory
	match       agents.Match
	Place       hostfacts.Place
	Facts       *hostfacts.Facts
	view        *view.View
	State       *statedir.Dir
	Home        agenthome.Home   // of the agent, once it was opened
	Upstream    *egress.Upstream // the host's own proxy, nil for none
	socketNames []string         // of granted sockets, as they were written
	engine      engine
	promptsOff  bool
	UID, GID    int
	programs    []policy.FileRequest // rules that show the command's own program
	allowed     []string             // programs that may be started, where the policy limits that
	starts      []string             // and the loaders that they name
	found       []foundProgram
	binds       []sandbox.Mount
	recorded    []string // without walls: places whose changes go through the broker
	Plain       bool     // without walls, and without namespaces
	ForAgent    bool     // without walls: the command is a known agent, which gets nothing for it
	expanded    []policy.Rule
	later       []string // where globs are decided by the broker
	TrapsReads  bool     // globs of roots are decided at each open for reading
	Guarded     protectednames.Names
	Private     string               // stands in for what is private, with an engine without mounts
	HistoryAt   string               // where the history of the project is kept, "" for nowhere
	Desktop     Desktop              // the virtual one, as soon as it is there
	Console     string               // the terminal of the command, "" for the process's own
	NoDisplay   string               // why there is none although the policy has one
	Keyring     *credentials.Keyring // what of the person's credentials may be used; nil for nothing
	Audit       *auditor.Auditor     // of a workspace that stays; nil for a run
	lender      *lender              // of walls for host commands: the run that they belong to; nil for all others
	HostToken   string               // of the host protocol; "" without
	Container   *Container           // with backend container; nil for all others
	Machine     *machine.Machine     // with backend lima; nil for all others
	tools       *toolchain.Toolchain // that the agent is started in; nil for none

	HostPrograms map[string]string // of walls for host commands: their files, by name
}

// Prepare gathers, decides and checks. The error is an *api.Denial where the
// request itself is refused; config and policy errors come as they are.
func Prepare(req Request) (*Decision, error) {
	p := &Decision{Request: req, Facts: hostfacts.New(), UID: os.Getuid(), GID: os.Getgid()}
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

// ExpandGlobs finds what globs match where mounts have to hold it. A match that is a link counts only where
// it leads to a file of the project: anything else is shown or hidden by its
// own rules, not by whoever wrote the link.
func (p *Decision) ExpandGlobs() error {
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

// load reads the configuration layers. Warnings of the project file become
// denials: somebody asked for something and did not get it.
func (p *Decision) load() error {
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
func (p *Decision) preset() error {
	if p.Request.Preset == "" {
		return nil
	}
	if b, ok := agents.BuiltinPreset(p.Request.Preset); ok {
		if b.Command == nil {
			b.Command = []string{UserShell(p.Getenv)}
		}
		if p.Request.Flags.Persona != nil && p.Request.Flags.Persona.V != b.Persona {
			return fmt.Errorf("preset %q always has persona %s; leave --persona out or use a preset of your own", b.Name, b.Persona)
		}
		p.Request.Flags.Persona = &policy.Value[policy.Persona]{V: b.Persona,
			Source: policy.Source{Layer: policy.LayerCommandLine, Text: "--preset " + b.Name + " (its persona is fixed)"}}
		p.setArgv(b.Command)
		return nil
	}
	i := slices.IndexFunc(p.Loaded.Presets, func(c config.Preset) bool { return c.Name == p.Request.Preset })
	if i < 0 {
		return fmt.Errorf("no preset %q; `carrel preset list` names them", p.Request.Preset)
	}
	own := p.Loaded.Presets[i]
	if len(own.Command) == 0 && len(p.Request.Argv) == 0 {
		return fmt.Errorf("preset %q has no command of its own: carrel run --preset %s -- COMMAND", own.Name, own.Name)
	}
	p.Loaded.Layers = append(p.Loaded.Layers, own.Layer())
	p.setArgv(own.Command)
	return nil
}

func (p *Decision) configOptions() config.Options {
	cwd := p.Place.Cwd
	if p.from != "" {
		cwd = p.from
	}
	return config.Options{
		Home: p.Place.Home, ConfigHome: p.Getenv("XDG_CONFIG_HOME"), Project: p.Place.Project, Cwd: cwd,
		Environ: p.Request.Environ, Permissions: p.Request.Permissions, Ceilings: p.Request.Ceilings, BuiltinPresets: builtinPresets(),
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

func (p *Decision) setArgv(command []string) {
	if len(p.Request.Argv) == 0 {
		p.Request.Argv = slices.Clone(command)
	}
}

// decide inspects the host for defaults and has the policy decided. Home mode
// decides what of home is visible by default, and is itself decided: so it is
// settled first, with no files in the question.
func (p *Decision) decide() error {
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
	ceiling, layers := policy.Canonical(scope, p.Loaded.Ceiling, layers, p.Facts.Canonical)
	p.Policy, err = policy.Decide(scope, ceiling, layers)
	if err != nil {
		return err
	}
	p.warned()
	return nil
}

// inspected says for whom and for what the host is looked at.
func (p *Decision) inspected(home policy.HomeMode, granted bool) view.Options {
	return view.Options{
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

// warned makes denials of what somebody asked for and did not get.
func (p *Decision) warned() {
	for _, w := range p.Policy.Warnings {
		rule, hint := "a project file may only tighten", "put it in your own configuration if you want it"
		if w.Source.Layer != policy.LayerProject {
			rule, hint = "one policy is decided from what all ask for", "`carrel explain` says who asks for what"
		}
		if p.NoWalls() {
			rule, hint = "nothing holds it without walls", "--backend process holds it"
		}
		p.Deny(api.Denial{Code: api.CodeProject, Operation: "start", Subject: w.Source.Text, Message: w.Message, Rule: rule, Source: w.Source.String(), Hint: hint})
	}
}

// leadsOut refuses a grant that is written as a place in the project and is a
// link out of it: whoever wrote the project would choose what is granted.
func (p *Decision) leadsOut(scope policy.Scope, layers []policy.Layer) error {
	for _, l := range layers {
		for _, f := range l.Request.Files {
			places, err := policy.Resolve(scope, f)
			if err != nil || f.Glob || f.Access == policy.Deny {
				continue // Decide reports what cannot be resolved
			}
			for _, place := range places {
				if real := p.Facts.Canonical(place); pathname.Within(place, p.Place.Project) && !pathname.Within(real, p.Place.Project) {
					return &api.Denial{Code: api.CodeProject, Operation: "start", Subject: place, Rule: "no link leads out of the project", Source: f.Source.String(),
						Message: fmt.Sprintf("%s: %q is a link that leads out of the project, to %q", f.Source.Text, place, real),
						Hint:    "name the place itself if you mean it"}
				}
			}
		}
	}
	return nil
}

func (p *Decision) viewRules() []policy.FileRequest {
	rules := slices.Clone(p.programs)
	for _, r := range p.view.Rules {
		// Nothing that lies in the project may lead out of it: a grant there
		// that is a link was made by whoever wrote the project.
		if r.Access == policy.Deny && p.unreadable(r.Place) {
			continue
		}
		if !pathname.Within(r.Place, p.Place.Project) || p.staysInside(r) {
			rules = append(rules, r)
		}
	}
	for _, extra := range p.view.ExtraRead {
		rules = append(rules, policy.FileRequest{Place: extra, Access: policy.Read,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "a system file points there"}})
	}
	for _, c := range p.view.Caches {
		if _, kind := p.Facts.Resolve(c.Path); kind == sandbox.KindDir && !c.Private {
			rules = append(rules, policy.FileRequest{Place: c.Path, Access: policy.Read,
				Source: policy.Source{Layer: policy.LayerDefault, Text: c.Reason + ", copy-on-write"}})
		}
	}
	return append(rules, p.ownRules()...)
}

// staysInside says whether a default rule for a place in the project speaks of
// a file or directory there. A link made by whoever wrote the project must
// neither grant nor hide anything elsewhere, and a FIFO is nobody's settings.
func (p *Decision) staysInside(r policy.FileRequest) bool {
	if r.Glob {
		return true
	}
	real, kind := p.Facts.Resolve(r.Place)
	switch {
	case kind == sandbox.KindOther:
		return false
	case r.Access == policy.Deny:
		return kind == sandbox.KindNone || pathname.Within(real, p.Place.Project) && (real == r.Place || kind == sandbox.KindFile)
	}
	return real == r.Place
}

// unreadable says that a system file needs no mask: an ordinary user cannot
// read it outside either, and inside has fewer rights than outside.
func (p *Decision) unreadable(path string) bool {
	return p.UID != 0 && strings.HasPrefix(path, "/etc/") && !hostfacts.Readable(path)
}

// buildable refuses what this version cannot hold.
func (p *Decision) buildable() error {
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

// Reason says why a dimension of the policy is what it is.
func (p *Decision) Reason(dim policy.Dimension) policy.Reason {
	for _, r := range p.Policy.Reasons {
		if r.Dimension == dim {
			return r
		}
	}
	return policy.Reason{Dimension: dim}
}

// grantedRoots are the project and whatever was granted beyond the defaults.
func (p *Decision) grantedRoots() []string {
	roots := []string{p.Place.Project}
	for _, r := range p.Policy.Rules {
		if r.Path != "" && r.Access != policy.Deny && r.Source.Layer != policy.LayerDefault {
			roots = append(roots, r.Path)
		}
	}
	if p.Policy.Home == policy.HomeFull && p.Place.Home != "" {
		roots = append(roots, p.Place.Home)
	}
	return sandbox.Outermost(roots)
}

// globRoots are the places that globs can matter in: the caches as well.
func (p *Decision) globRoots() []string {
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
