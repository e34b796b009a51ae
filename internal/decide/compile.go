package decide

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/hostexec"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp"
	"carrel/internal/statedir"
)

// Compile makes the plan. durable directories are made when prepare is set;
// `explain --plan` leaves it false and shows where they would be.
func (p *Decision) Compile(prepare bool) error {
	if p.NoWalls() {
		return p.compileOpen(prepare)
	}
	in := sandbox.Input{
		Policy: p.planned(), UID: uint32(p.UID), GID: uint32(p.GID),
		Engine: p.engine.name, Terminal: terminal(p.Console),
		Broker: p.History(), Reads: p.TrapsReads,
		Expanded: append(slices.Clone(p.expanded), p.mounted()...),
		Pins:     append(slices.Clone(p.Guarded.Pins), p.globPins()...),
		Command:  lifecycle(p, sandbox.Command{Argv: p.agentArgv(), Env: p.Environ(), Dir: p.Place.Cwd, Path: p.programPath()}),
	}
	var err error
	if in.Self, err = hostfacts.OwnProgram(); err != nil {
		return err
	}
	for _, f := range p.Loaded.Files {
		path := p.Facts.Canonical(f.Path)
		if f.Present && f.Kind != config.KindProject && p.Policy.Lookup(path).Access == policy.Write {
			in.Expanded = append(in.Expanded, policy.Rule{Path: path, Access: policy.Read,
				Source: policy.Source{Layer: policy.LayerDefault, Text: "carrel's own configuration"}})
		}
	}
	in.Expanded = append(in.Expanded, hostfacts.OwnProgramRules(p.Policy, in.Self)...)
	if prepare {
		p.makeOwnDirs()
		if p.UID == 0 && p.Policy.Nested == policy.NestedFull {
			p.Note("as root a sandbox inside cannot map its user: nested full works for ordinary users")
		}
	}
	for _, dir := range p.Guarded.Write {
		in.Expanded = append(in.Expanded, policy.Rule{Path: dir, Access: policy.Write,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "the project's repository"}})
	}
	kernel, err := p.withoutKernel()
	if err != nil {
		return err
	}
	in.Expanded = append(in.Expanded, kernel...)
	host := p.sockets()
	sockets, links, err := host.Binds()
	if err != nil && prepare { // what is asked before the start may be there by then
		return err
	}
	for _, s := range host.All() {
		if host.Granted(s) || in.Engine == sandbox.EngineLandlock { // which refuses all
			continue
		}
		in.Expanded = append(in.Expanded, policy.Rule{Path: s, Access: policy.Deny,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "a socket of a program outside"}})
	}
	if in.Overlays, err = p.overlays(prepare); err != nil {
		return err
	}
	if in.Draft = p.Policy.History == policy.HistoryDraft; in.Draft {
		layers, err := p.layersOver(prepare)
		if err != nil {
			return err
		}
		in.Overlays = append(in.Overlays, layers...)
	}
	if prepare {
		if err := p.openAgentHome(); err != nil {
			return err
		}
	}
	in.HostPorts = p.HostPorts()
	desktop, desktopFiles, listening := p.desktopMounts()
	in.Sockets = append(listening, p.Keyring.Sockets()...)
	if p.ServesHost() {
		in.Sockets = append(in.Sockets, hostexec.Socket)
		if at, ok := p.rpcAddress(); ok {
			in.Listen = append(in.Listen, at.String())
		}
	}
	in.Binds, in.Symlinks = slices.Concat(p.binds, p.displayBinds(), desktop, sockets), links
	in.Files = append(in.Files, desktopFiles...)
	top, topLinks, err := p.rootEntries()
	if err != nil {
		return err
	}
	in.Expanded, in.Symlinks = append(in.Expanded, top...), append(in.Symlinks, topLinks...)
	p.fill(&in)
	if err := p.layers(&in); err != nil {
		return err
	}
	before := p.Plan
	if p.Plan, err = sandbox.Compile(in, p.Facts); err != nil {
		return err
	}
	if before != nil { // a start that is tried again is in the container's place of before
		p.Plan.Container = before.Container
	}
	if in.Broker && len(p.Plan.Roots) == 0 { // nothing can be changed, and nobody answers what the filter would hold
		if p.Plan.Seccomp, err = p.filter(&in, false); err != nil {
			return err
		}
	}
	p.Plan.Private = p.Private
	remask.Uncover(p.Plan, p.Policy, p.Place.Project)
	lendTmp(p)
	if err := p.mountLinksHeld(); err != nil {
		return err
	}
	return p.checkLater()
}

// fill adds generated files, links and the helpers' names.
func (p *Decision) fill(in *sandbox.Input) {
	for _, f := range p.withMaskedIgnored(p.view.Files, in.Expanded) {
		if f.Reason == hostview.Passwords && !p.hidesPassword(f.Path) {
			continue
		}
		in.Files = append(in.Files, sandbox.Mount{Kind: sandbox.MountData, Target: f.Path, Data: f.Data, Perm: f.Perm, Optional: true, Bare: f.Reason == hostview.Passwords, Reason: f.Reason})
	}
	if passed := p.stepHooks(); passed.File != "" {
		in.Files = append(in.Files, sandbox.Mount{Kind: sandbox.MountData, Target: passed.File, Data: passed.Data, Perm: 0o644,
			Reason: "hooks: each tool call of " + p.Agent.Title + " is a step"})
	}
	for _, l := range p.view.Symlinks {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: l.Path, Source: l.Target, Optional: true})
	}
	in.Symlinks = append(in.Symlinks, p.mountLinks()...)
	if p.contained() {
		if file, ok := p.terminalIn(map[string]string{}); ok {
			in.Files = append(in.Files, file)
		}
	}
	p.shims(in)
	if p.Request.Exact == nil {
		helpers(p, in)
	}
	in.Symlinks = append(in.Symlinks, p.programLinks(in)...)
}

// helpers are the names by which programs inside start our own.
func helpers(p *Decision, in *sandbox.Input) {
	at := inside.Dir + "/" + inside.FileHelper
	if small, ok := hostfacts.FileProgram(in.Self); ok && p.Request.Stays && p.Policy.Programs == nil {
		in.Binds = append(in.Binds, sandbox.Mount{Kind: sandbox.MountBind, Target: at, Source: small, ReadOnly: true, Reason: "tools for files"})
	} else {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: at, Source: sandbox.SelfPath})
	}
	if p.Policy.Display != policy.DisplayHost { // there, the real ones lead to the person's clipboard
		for _, name := range inside.ClipHelpers() {
			in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
		}
	}
	if !p.soundGranted() {
		in.Symlinks = append(in.Symlinks, helperLinks(inside.SoundHelpers())...)
	}
	if !p.busGranted() {
		in.Symlinks = append(in.Symlinks, helperLinks(inside.NoteHelpers())...)
	}
	in.Symlinks = append(in.Symlinks, p.Keyring.Links()...)
	for _, name := range inside.LinkHelpers() {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
		if p.contained() {
			continue
		}
		// Only an opener is replaced: x-www-browser may lead to a browser, and that one stays.
		real, kind := p.Facts.Resolve("/usr/bin/" + name)
		if kind == sandbox.KindFile && filepath.Dir(real) == "/usr/bin" && inside.IsHelper(real) && name != "open" {
			in.Binds = append(in.Binds, sandbox.Mount{Kind: sandbox.MountBind, Target: real, Source: in.Self, ReadOnly: true, Reason: "links go to the person outside"})
		}
	}
}

// helperLinks are the names of helpers that nothing of the system stands for.
func helperLinks(names []string) []sandbox.Mount {
	var out []sandbox.Mount
	for _, name := range names {
		out = append(out, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
	}
	return out
}

// ScopesABI is the version of Landlock that keeps abstract sockets and signals
// apart, Linux 6.12.
const ScopesABI = 6

// FilesABI is the version of which the rules about files are used, Linux 6.2.
const FilesABI = 3

// layers adds the second layer and the system call filter.
func (p *guarded) layers(in *sandbox.Input) error {
	abi, err := landlock.ABI()
	if err != nil {
		return err
	}
	in.Landlock, in.Scopes = abi >= FilesABI, abi >= ScopesABI
	in.Limited = p.Policy.Programs != nil
	in.Execute = p.starts
	if in.Seccomp, err = p.filter(in, p.History()); err != nil {
		return err
	}
	in.HighestPID = hostfacts.HighestPID()
	in.Inotify = sandbox.Inotify{Instances: hostfacts.KernelNumber("/proc/sys/fs/inotify/max_user_instances"), Watches: hostfacts.KernelNumber("/proc/sys/fs/inotify/max_user_watches")}
	return nil
}

// filter makes the system call filter, with a broker that answers what it holds or
// without one.
func (p *guarded) filter(in *sandbox.Input, brokered bool) ([]byte, error) {
	arch, err := seccomp.HostArch()
	if err != nil {
		return nil, err
	}
	nesting := p.Policy.Nested
	if in.Engine == sandbox.EngineLandlock {
		nesting = policy.NestedNone
	}
	prog, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: nesting, Debug: true, Broker: brokered, Programs: in.Limited, Opens: brokered && p.TrapsReads, NoGroupSignals: !in.Scopes,
		Alone: in.Engine == sandbox.EngineLandlock, Internet: p.Policy.Network == policy.NetOpen})
	if err != nil {
		return nil, err
	}
	return seccomp.Marshal(prog), nil
}

// overlays are the caches that a command may change without the host seeing it.
func (p *viewed) overlays(make bool) ([]sandbox.Overlay, error) {
	if p.State == nil {
		if make && len(p.view.Caches) > 0 {
			p.Note("no state directory: caches of the host are not visible inside")
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
			if err := statedir.MakeDirs(o.Upper, o.Work, o.Spare); err != nil {
				p.Note("cache %s is not kept: %v", c.Name, err)
				continue
			}
		}
		out = append(out, o)
	}
	return out, nil
}

// layersOver gives the layers of a draft. They are made before the plan is to be held.
func (p *Decision) layersOver(prepare bool) ([]sandbox.Overlay, error) {
	if prepare && len(p.Layers) == 0 {
		return nil, &advice.Error{Err: errors.New("nothing keeps a layer for this workspace, so its changes cannot be reviewed"),
			Hint: "`carrel run --review -- COMMAND` keeps one; a workspace that stays has --history on"}
	}
	layers := slices.Clone(p.Layers)
	for _, dir := range p.Drafted() {
		if len(p.Layers) == 0 {
			layers = append(layers, sandbox.Overlay{Path: dir, Lower: dir, Upper: "a layer to review", Kept: true, Reason: "--review"})
		}
	}
	return layers, nil
}

// overlay plans one cache. What lies in home shares one overlay; a cache that
// the host has not, or must not be seen, is a private directory. Where somebody
// wrote a rule for the place or above it, that rule holds and there is no
// overlay; where a ceiling took the default away, nothing of the host is shown.
func (p *decided) overlay(c hostview.Cache) (sandbox.Overlay, bool) {
	o := sandbox.Overlay{Path: c.Path, Reason: c.Reason, Private: c.Private}
	real, kind := p.Facts.Resolve(c.Path)
	switch d := p.Policy.Lookup(real); {
	case d.Access == policy.Deny, d.Rule != nil && d.Rule.Source.Layer != policy.LayerDefault:
		return o, false
	case d.Access == policy.Unset && kind != sandbox.KindNone:
		o.Private = true
	}
	base := filepath.Join(p.State.Project(p.Place.Project), p.cacheDir())
	switch {
	case kind == sandbox.KindNone && !c.Create:
		return o, false
	case kind == sandbox.KindNone || o.Private || real != c.Path:
		o.Private, o.Upper = true, filepath.Join(base, "private", c.Name)
	case pathname.Within(c.Path, p.Place.Home) && p.Place.Home != "":
		o.Lower, o.Upper, o.Work = p.Place.Home, base+"/home/upper", base+"/home/work"
	default:
		o.Lower, o.Upper, o.Work = c.Path, filepath.Join(base, c.Name, "upper"), filepath.Join(base, c.Name, "work")
	}
	if o.Lower != "" && !c.Keep {
		o.Spare = filepath.Join(base, "private", c.Name)
	}
	return o, true
}

// compileOpen makes the plan of a workspace without walls.
func (p *Decision) compileOpen(prepare bool) error {
	if prepare {
		p.makeOwnDirs()
	}
	in := sandbox.OpenInput{
		UID: uint32(p.UID), GID: uint32(p.GID), Pids: p.Policy.Resources.Pids,
		Roots: p.recordedRoots(), Hidden: p.ownDirsHere(), Helpers: []string{inside.FileHelper}, Files: p.ownedFiles(),
		Command: sandbox.Command{Argv: p.Request.Argv, Env: p.Environ(), Dir: p.Place.Cwd},
	}
	var err error
	if in.Self, err = hostfacts.OwnProgram(); err != nil {
		return err
	}
	if in.Entries, err = hostEntries("/", "/run"); err != nil {
		return err
	}
	if len(in.Roots) > 0 {
		if in.Seccomp, err = openFilter(); err != nil {
			return err
		}
	}
	p.Plan = sandbox.CompileOpen(in, p.Facts)
	p.Plan.Plain = p.Plain
	return p.mountLinksHeld()
}

// openFilter is what the broker needs of a filter.
func openFilter() ([]byte, error) {
	arch, err := seccomp.HostArch()
	if err != nil {
		return nil, err
	}
	prog, err := seccomp.Build(seccomp.Options{Arch: arch, Nesting: policy.NestedFull, Debug: true, Broker: true, Open: true})
	if err != nil {
		return nil, err
	}
	return seccomp.Marshal(prog), nil
}

// checkLater makes sure that the plan gives the broker what was left to it.
func (p *Decision) checkLater() error {
	for _, dir := range p.later {
		if _, kind := p.Facts.Resolve(dir); kind == sandbox.KindNone {
			continue
		}
		if !slices.ContainsFunc(p.Plan.Roots, func(root string) bool { return pathname.Within(dir, root) }) {
			return fmt.Errorf("globs below %q cannot be held: it is no place whose changes are decided one by one; run with --history off", dir)
		}
	}
	return nil
}

// mountLinksHeld looks at the plan: a link has to lie in memory that is the
// workspace's own, on nothing, around nothing and in nothing of the host. In a container it
// is in place of what the image has there.
func (p *Decision) mountLinksHeld() error {
	for i := range p.mounts {
		m := &p.mounts[i]
		switch {
		case !p.elsewhere(m):
			continue
		case p.engine.name == sandbox.EngineLandlock || p.NoWalls():
			return movedRefused(m, "engine "+string(p.engine.name)+" shows files where they are and nowhere else")
		}
		for i := range p.Plan.Mounts {
			at := &p.Plan.Mounts[i]
			link := at.Kind == sandbox.MakeSymlink && at.Target == m.Workspace && at.Source == m.real
			room := at.Kind == sandbox.MountTmpfs || at.Kind == sandbox.MakeDir || at.Kind == sandbox.MountImage
			if !link && (pathname.Within(at.Target, m.Workspace) || pathname.Within(m.Workspace, at.Target) && !room) {
				return movedRefused(m, fmt.Sprintf("%q is there, or around it, or in it", at.Target))
			}
		}
	}
	return nil
}
