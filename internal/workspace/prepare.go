package workspace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp"
	"carrel/internal/view"
)

// Prepared is a decided run: everything is known and frozen, nothing is
// started and nothing was written yet.
type Prepared struct {
	Policy *policy.Effective
	Loaded *config.Loaded
	Agent  *agents.Agent // nil for a command that is no known agent
	Plan   *sandbox.Plan // nil until Compile

	req        Request
	match      agents.Match
	place      place
	facts      *facts
	view       *view.View
	state      *stateDir
	snapshot   agents.Snapshot
	early      *sandbox.Stage // started ahead; nil when there is none
	promptsOff bool
	uid, gid   int
	programs   []policy.FileRequest
	found      []foundProgram
	binds      []sandbox.Mount
	expanded   []policy.Rule
	guarded    protection
	notes      []string
	denials    []api.Denial
}

// Prepare gathers, decides and checks. The error is an *api.Denial where the
// request itself is refused; config and policy errors come as they are.
func Prepare(req Request) (*Prepared, error) {
	p := &Prepared{req: req, facts: newFacts(), uid: os.Getuid(), gid: os.Getgid()}
	var err error
	if p.place, err = findPlace(req.Cwd, p.getenv("HOME")); err != nil {
		return nil, err
	}
	if req.Cwd == "" {
		if err := p.facts.pin(p.place); err != nil {
			return nil, err
		}
	}
	if err := p.load(); err != nil {
		return nil, err
	}
	if err := p.preset(); err != nil {
		return nil, err
	}
	if m, ok := agents.Recognise(p.req.Argv, p.agentHost()); ok {
		p.match, p.Agent = m, &m.Agent
	}
	p.findProgram()
	if err := p.decide(); err != nil {
		return nil, err
	}
	if err := p.buildable(); err != nil {
		return nil, err
	}
	p.guarded = protect(&p.place, p.Policy)
	p.expanded, err = expand(p.Policy, p.globRoots())
	return p, err
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
		p.req.Default = b.Persona
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
	return config.Options{
		Home: p.place.home, ConfigHome: p.getenv("XDG_CONFIG_HOME"), Project: p.place.project, Cwd: p.place.cwd,
		Environ: p.req.Environ, Permissions: p.req.Permissions, BuiltinPresets: builtinPresets(),
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
	layers = append(layers, policy.Defaults(p.req.Default), p.agentDefaults())
	scope := p.place.scope(nil)
	first, err := policy.Decide(scope, p.Loaded.Ceiling, withoutFiles(layers))
	if err != nil {
		return err
	}
	p.view, err = view.Inspect(view.Options{
		Home: p.place.home, Project: p.place.project, UID: p.uid, GID: p.gid, User: p.getenv("USER"),
		Environ: p.req.Environ, HomeMode: first.Home,
	})
	if err != nil {
		return err
	}
	scope.System = p.view.System
	layers = append(layers, policy.Layer{Kind: policy.LayerDefault, Name: "view", Request: policy.Request{Files: p.viewRules()}})
	ceiling, layers := policy.Canonical(scope, p.Loaded.Ceiling, layers, p.facts.canonical)
	p.Policy, err = policy.Decide(scope, ceiling, layers)
	if err != nil {
		return err
	}
	for _, w := range p.Policy.Warnings {
		p.deny(api.Denial{Code: api.CodeProject, Operation: "start", Subject: w.Source.Text, Message: w.Message,
			Rule: "a project file may only tighten", Source: w.Source.String(), Hint: "put it in your own configuration if you want it"})
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
		if real, _ := p.facts.Resolve(r.Place); r.Access == policy.Deny || !within(r.Place, p.place.project) || real == r.Place {
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

// unreadable says that a system file needs no mask: an ordinary user cannot
// read it outside either, and inside has fewer rights than outside.
func (p *Prepared) unreadable(path string) bool {
	return p.uid != 0 && strings.HasPrefix(path, "/etc/") && !readable(path)
}

// ownRules keep our own files from what we run: a command that may write home
// must not be able to widen the next run.
func (p *Prepared) ownRules() []policy.FileRequest {
	var rules []policy.FileRequest
	for _, dir := range p.ownDirs() {
		rules = append(rules, policy.FileRequest{Place: dir, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "carrel's own files"}})
	}
	return rules
}

func (p *Prepared) ownDirs() []string {
	var dirs []string
	if state := StatePath(p.getenv); state != "" {
		dirs = append(dirs, state)
	}
	if file := config.UserFile(p.configOptions()); file != "" {
		dirs = append(dirs, filepath.Dir(file))
	}
	return dirs
}

// makeOwnDirs makes our directories where a writable home would let a command
// make them first: only what exists can be covered.
func (p *Prepared) makeOwnDirs() {
	for _, dir := range p.ownDirs() {
		if p.Policy.Lookup(filepath.Dir(dir)).Access == policy.Write {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				p.note("%s cannot be made and so not be covered: %v", dir, err)
			}
			p.facts.forget(dir)
		}
	}
}

// agentDefaults is what a known agent needs to work at all. Until the filtered
// network is built, that is the open one; everything else stays closed.
func (p *Prepared) agentDefaults() policy.Layer {
	l := policy.Layer{Kind: policy.LayerDefault, Name: "agent"}
	if p.Agent == nil {
		return l
	}
	src := policy.Source{Layer: policy.LayerDefault, Text: "agent " + p.Agent.Name + " has to reach its model"}
	l.Request.Network = &policy.Value[policy.NetworkMode]{V: policy.NetOpen, Source: src}
	return l
}

func withoutFiles(layers []policy.Layer) []policy.Layer {
	out := slices.Clone(layers)
	for i := range out {
		out[i].Request.Files = nil
	}
	return out
}

// buildable refuses what this version cannot hold.
func (p *Prepared) buildable() error {
	refuse := func(dim policy.Dimension, asked, hint string) error {
		r := p.reason(dim)
		return &api.Denial{Code: api.CodeUnsupported, Operation: "start", Subject: asked, Rule: string(dim), Source: r.Source.String(),
			Message: fmt.Sprintf("%s %q is not built yet", dim, asked), Hint: hint}
	}
	switch {
	case p.Policy.Network == policy.NetFiltered:
		return refuse(policy.DimNetwork, "filtered", "use --network closed, local or open")
	case p.Policy.Display == policy.DisplayVirtual:
		return refuse(policy.DimDisplay, "virtual", "use --display none or host")
	}
	if err := p.programAllowed(); err != nil {
		return err
	}
	return p.holdable()
}

// programAllowed holds the program list for the launched command. What that
// program starts in turn is its own affair until the view can hold the list.
func (p *Prepared) programAllowed() error {
	if p.Policy.Programs == nil {
		return nil
	}
	name := p.req.Argv[0]
	full, err := p.lookPath(name)
	if err == nil {
		full = p.facts.canonical(full)
	}
	for _, allowed := range p.Policy.Programs {
		if filepath.IsAbs(allowed.V) && err == nil && p.facts.canonical(allowed.V) == full || !filepath.IsAbs(allowed.V) && allowed.V == name {
			return nil
		}
	}
	r := p.reason(policy.DimPrograms)
	return &api.Denial{Code: api.CodeCeiling, Operation: "exec", Subject: name, Rule: r.Value, Source: r.Source.String(),
		Message: fmt.Sprintf("%q is not among the programs that may be launched: %s", name, r.Value),
		Hint:    "add it to programs.allow (in a ceiling file: apps.allow)"}
}

func (p *Prepared) reason(dim policy.Dimension) policy.Reason {
	for _, r := range p.Policy.Reasons {
		if r.Dimension == dim {
			return r
		}
	}
	return policy.Reason{Dimension: dim}
}

// globRoots are the places that globs can matter in: the project and whatever
// was granted beyond the defaults.
func (p *Prepared) globRoots() []string {
	roots := []string{p.place.project}
	for _, r := range p.Policy.Rules {
		if r.Path != "" && r.Access != policy.Deny && r.Source.Layer != policy.LayerDefault {
			roots = append(roots, r.Path)
		}
	}
	if p.Policy.Home == policy.HomeFull && p.place.home != "" {
		roots = append(roots, p.place.home)
	}
	for _, c := range p.view.Caches {
		if !c.Private {
			roots = append(roots, c.Path)
		}
	}
	return outermost(roots)
}

// globPins are the directories that a glob names by letter: one that could be
// renamed would take the next run's matches with it.
func (p *Prepared) globPins() []string {
	var pins []string
	for _, r := range p.Policy.Rules {
		if r.Glob == "" {
			continue
		}
		for dir := staticPart(r.Glob); dir != "/"; dir = filepath.Dir(dir) {
			if p.Policy.Lookup(dir).Access != policy.Write || p.Policy.Lookup(filepath.Dir(dir)).Access != policy.Write {
				break
			}
			pins = append(pins, dir)
		}
	}
	return pins
}

// Compile makes the plan. durable directories are made when prepare is set;
// `explain --plan` leaves it false and shows where they would be.
func (p *Prepared) Compile(prepare bool) error {
	in := sandbox.Input{
		Policy: p.Policy, UID: uint32(p.uid), GID: uint32(p.gid),
		Expanded: append(slices.Clone(p.expanded), p.guarded.rules...),
		Pins:     append(slices.Clone(p.guarded.pins), p.globPins()...),
		Terminal: terminalName(),
		Command:  sandbox.Command{Argv: p.agentArgv(), Env: p.environ(), Dir: p.place.cwd, Path: p.programPath()},
	}
	var err error
	if in.Self, err = ownExecutable(); err != nil {
		return err
	}
	if p.Policy.Lookup(in.Self).Access == policy.Write {
		in.Expanded = append(in.Expanded, policy.Rule{Path: in.Self, Access: policy.Read,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "carrel's own program"}})
	}
	if prepare {
		p.makeOwnDirs()
		if p.uid == 0 && p.Policy.Nested == policy.NestedFull {
			p.note("as root a sandbox inside cannot map its user: nested full works for ordinary users")
		}
	}
	for _, dir := range p.guarded.write {
		in.Expanded = append(in.Expanded, policy.Rule{Path: dir, Access: policy.Write,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "the project's repository"}})
	}
	for _, s := range hostSockets(p.globRoots()) {
		in.Expanded = append(in.Expanded, policy.Rule{Path: s, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "a socket of a program outside"}})
	}
	if in.Overlays, err = p.overlays(prepare); err != nil {
		return err
	}
	if prepare {
		if err := p.mirrorAgent(); err != nil {
			return err
		}
	}
	in.Binds = append(p.binds, p.displayBinds()...)
	p.fill(&in)
	if err := p.layers(&in); err != nil {
		return err
	}
	p.Plan, err = sandbox.Compile(in, p.facts)
	return err
}

// fill adds generated files, links and the helpers' names.
func (p *Prepared) fill(in *sandbox.Input) {
	for _, f := range p.view.Files {
		in.Files = append(in.Files, sandbox.Mount{Kind: sandbox.MountData, Target: f.Path, Data: f.Data, Perm: f.Perm, Optional: true, Reason: f.Reason})
	}
	for _, l := range p.view.Symlinks {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: l.Path, Source: l.Target, Optional: true})
	}
	in.Symlinks = append(in.Symlinks, p.programLinks()...)
	for _, name := range inside.LinkHelpers() {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
		if real, kind := p.facts.Resolve("/usr/bin/" + name); kind == sandbox.KindFile && strings.HasPrefix(real, "/usr/bin/") && name != "open" {
			in.Binds = append(in.Binds, sandbox.Mount{Kind: sandbox.MountBind, Target: real, Source: in.Self, ReadOnly: true, Reason: "links go to the person outside"})
		}
	}
}

// layers adds the second layer and the system call filter.
func (p *Prepared) layers(in *sandbox.Input) error {
	abi, err := landlock.ABI()
	if err != nil {
		return err
	}
	in.Landlock, in.Scopes = abi >= 3, abi >= 6
	arch, err := seccomp.HostArch()
	if err != nil {
		return err
	}
	prog, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: p.Policy.Nested, Debug: true, NoGroupSignals: !in.Scopes})
	if err != nil {
		return err
	}
	in.Seccomp = seccomp.Marshal(prog)
	return nil
}

// overlays are the caches that a command may change without the host seeing it.
func (p *Prepared) overlays(make bool) ([]sandbox.Overlay, error) {
	if p.state == nil {
		if make && len(p.view.Caches) > 0 {
			p.note("no state directory: caches of the host are not visible inside")
		}
		return nil, nil
	}
	var out []sandbox.Overlay
	for _, c := range p.view.Caches {
		o, ok := p.overlay(c)
		if !ok {
			continue
		}
		if make {
			if err := makeDirs(o.Upper, o.Work); err != nil {
				p.note("cache %s is not kept: %v", c.Name, err)
				continue
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// overlay plans one cache. What lies in home shares one overlay; a cache that
// the host has not, or must not be seen, is a private directory. Where somebody
// wrote a rule for the place or above it, that rule holds and there is no
// overlay; where a ceiling took the default away, nothing of the host is shown.
func (p *Prepared) overlay(c view.Cache) (sandbox.Overlay, bool) {
	o := sandbox.Overlay{Path: c.Path, Reason: c.Reason, Private: c.Private}
	real, kind := p.facts.Resolve(c.Path)
	switch d := p.Policy.Lookup(real); {
	case d.Access == policy.Deny, d.Rule != nil && d.Rule.Source.Layer != policy.LayerDefault:
		return o, false
	case d.Access == policy.Unset && kind != sandbox.KindNone:
		o.Private = true
	}
	base := filepath.Join(p.state.project(p.place.project), "caches")
	switch {
	case kind == sandbox.KindNone && !c.Create:
		return o, false
	case kind == sandbox.KindNone || o.Private || real != c.Path:
		o.Private, o.Upper = true, filepath.Join(base, "private", c.Name)
	case within(c.Path, p.place.home) && p.place.home != "":
		o.Lower, o.Upper, o.Work = p.place.home, base+"/home/upper", base+"/home/work"
	default:
		o.Lower, o.Upper, o.Work = c.Path, filepath.Join(base, c.Name, "upper"), filepath.Join(base, c.Name, "work")
	}
	return o, true
}

func makeDirs(dirs ...string) error {
	for _, d := range dirs {
		if d == "" {
			continue
		}
		if err := os.MkdirAll(d, 0o700); err != nil {
			return err
		}
	}
	return nil
}

func (p *Prepared) note(format string, args ...any) {
	p.notes = append(p.notes, fmt.Sprintf(format, args...))
}

func (p *Prepared) deny(d api.Denial) { p.denials = append(p.denials, d) }

// ownExecutable is the canonical path of this program.
func ownExecutable() (string, error) {
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("finding our own program: %w", err)
	}
	if strings.HasSuffix(self, " (deleted)") {
		return "", errors.New("our own program was replaced while it ran; start it again")
	}
	return self, nil
}
