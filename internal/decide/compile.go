package decide

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/config"
	"carrel/internal/globscan"
	"carrel/internal/hostexec"
	"carrel/internal/hostfacts"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/sandbox/landlock"
	"carrel/internal/seccomp"
	"carrel/internal/statedir"
	"carrel/internal/view"
)

// History says whether changes go through the broker.
func (p *Decision) History() bool { return p.Policy.History != policy.HistoryOff }

// globPins are the directories that a glob names by letter: one that could be
// renamed would take the next run's matches with it.
func (p *Decision) globPins() []string {
	var pins []string
	for _, r := range p.Policy.Rules {
		if r.Glob == "" {
			continue
		}
		for dir := globscan.Base(r.Glob); dir != "/"; dir = filepath.Dir(dir) {
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
func (p *Decision) Compile(prepare bool) error {
	if p.NoWalls() {
		return p.compileOpen(prepare)
	}
	in := sandbox.Input{
		Policy: p.planned(), UID: uint32(p.UID), GID: uint32(p.GID),
		Engine: p.engine.name,
		Broker: p.History(), Reads: p.TrapsReads,
		Expanded: append(slices.Clone(p.expanded), p.mounted()...),
		Pins:     append(slices.Clone(p.Guarded.Pins), p.globPins()...),
		Command:  lifecycle(p, sandbox.Command{Argv: p.agentArgv(), Env: p.Environ(), Dir: p.Place.Cwd, Path: p.programPath()}),
	}
	if !Contained(p) { // which has no terminal of the host's
		in.Terminal = p.terminal()
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
	if p.Plan, err = sandbox.Compile(in, p.Facts); err != nil {
		return err
	}
	if in.Broker && len(p.Plan.Roots) == 0 { // nothing can be changed, and nobody answers what the filter would hold
		if p.Plan.Seccomp, err = p.filter(&in, false); err != nil {
			return err
		}
	}
	p.Plan.Private = p.Private
	uncover(p)
	lendTmp(p)
	if err := p.mountLinksHeld(); err != nil {
		return err
	}
	return p.checkLater()
}

// withoutKernel hides the kernel's file systems in what is granted, and refuses
// grants of what they show: processes outside, and through them all files.
func (p *Decision) withoutKernel() ([]policy.Rule, error) {
	mounts, err := p.Facts.KernelMounts()
	if err != nil {
		return nil, err
	}
	for _, r := range p.Policy.Rules {
		if r.Path == "" || r.Access == policy.Deny || r.Source.Layer == policy.LayerDefault {
			continue
		}
		real := p.Facts.Canonical(r.Path)
		if ownPlace(real) || slices.ContainsFunc(mounts, func(at string) bool { return pathname.Within(real, at) }) {
			return nil, &advice.Error{Err: fmt.Errorf("%s: %q is not granted: what is there shows the machine around the workspace", r.Source.Text, r.Path),
				Hint: "leave it out: a workspace has a /proc, /dev and /run of its own; name what you need below /run, devices with --device"}
		}
	}
	rules := make([]policy.Rule, len(mounts))
	for i, at := range mounts {
		rules[i] = policy.Rule{Path: at, Access: policy.Deny, Source: policy.Source{Layer: policy.LayerDefault, Text: "a file system of the kernel's"}}
	}
	return rules, nil
}

// mounted are the protected names that mounts hold. A repository's config is
// not among them where the broker holds it: git replaces the file for harmless
// changes, and a mount point cannot be replaced.
func (p *Decision) mounted() []policy.Rule {
	if !p.History() {
		return p.Guarded.Rules
	}
	return slices.DeleteFunc(slices.Clone(p.Guarded.Rules), func(r policy.Rule) bool { return p.isGitConfig(r.Path) })
}

// isGitConfig says whether path is the configuration of one of the project's
// repositories.
func (p *Decision) isGitConfig(path string) bool {
	base := filepath.Base(path)
	return (base == "config" || base == "config.worktree") && slices.Contains(p.Guarded.Pins, filepath.Dir(path))
}

// fill adds generated files, links and the helpers' names.
func (p *Decision) fill(in *sandbox.Input) {
	for _, f := range p.withMaskedIgnored(p.view.Files, in.Expanded) {
		if f.Reason == view.Passwords && !p.hidesPassword(f.Path) {
			continue
		}
		in.Files = append(in.Files, sandbox.Mount{Kind: sandbox.MountData, Target: f.Path, Data: f.Data, Perm: f.Perm, Optional: true, Bare: f.Reason == view.Passwords, Reason: f.Reason})
	}
	if passed := stepHooks(p); passed.File != "" {
		in.Files = append(in.Files, sandbox.Mount{Kind: sandbox.MountData, Target: passed.File, Data: passed.Data, Perm: 0o644,
			Reason: "hooks: each tool call of " + p.Agent.Title + " is a step"})
	}
	for _, l := range p.view.Symlinks {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: l.Path, Source: l.Target, Optional: true})
	}
	in.Symlinks = append(in.Symlinks, p.mountLinks()...)
	if Contained(p) {
		if file, ok := terminalIn(p, map[string]string{}); ok {
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
		if Contained(p) {
			continue
		}
		// Only an opener is replaced: x-www-browser may lead to a browser, and that one stays.
		real, kind := p.Facts.Resolve("/usr/bin/" + name)
		if kind == sandbox.KindFile && filepath.Dir(real) == "/usr/bin" && inside.IsHelper(real) && name != "open" {
			in.Binds = append(in.Binds, sandbox.Mount{Kind: sandbox.MountBind, Target: real, Source: in.Self, ReadOnly: true, Reason: "links go to the person outside"})
		}
	}
}

// uncover has the broker see the project's files of secrets below their masks, and the
// directories on the way without a mount, so that a directory with a secret in it can be
// removed whole. It reads and changes none of them.
func uncover(p *Decision) {
	var bare []string
	for i := range p.Plan.Mounts {
		m := &p.Plan.Mounts[i]
		if m.Kind != sandbox.MountMask || m.Dir || !pathname.Within(m.Target, p.Place.Project) {
			continue
		}
		r := p.Policy.Lookup(m.Target).Rule
		own := r != nil && r.Path == m.Target && r.Source.Layer == policy.LayerDefault
		if own && strings.HasPrefix(r.Source.Text, view.SecretPrefix) {
			m.Bare = true
			bare = append(bare, m.Target)
		}
	}
	for i := range p.Plan.Mounts {
		m := &p.Plan.Mounts[i]
		if m.Kind != sandbox.MountSelf || !m.Dir || m.ReadOnly || m.Target == p.Place.Project {
			continue
		}
		m.Bare = slices.ContainsFunc(bare, func(secret string) bool { return pathname.Within(secret, m.Target) }) &&
			pathname.Within(m.Target, p.Place.Project)
	}
}

// hidesPassword says whether nobody has named a configuration with a password in it.
func (p *Decision) hidesPassword(at string) bool {
	r := p.Policy.Lookup(at).Rule
	return !p.AsIs() && (r == nil || r.Path != at || r.Source.Layer >= policy.LayerProject)
}

// Passwords are the configurations of repositories that others stand for inside.
func (p *Decision) Passwords() (all []string) {
	for _, f := range p.view.Files {
		if f.Reason == view.Passwords && p.hidesPassword(f.Path) {
			all = append(all, f.Path)
		}
	}
	return all
}

// helperLinks are the names of helpers that nothing of the system stands for.
func helperLinks(names []string) []sandbox.Mount {
	var out []sandbox.Mount
	for _, name := range names {
		out = append(out, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + name, Source: sandbox.SelfPath})
	}
	return out
}

// withMaskedIgnored tells git inside of the project's masked files: an untracked
// one that cannot be read would make every `git add -A` fail.
func (p *Decision) withMaskedIgnored(files []view.File, expanded []policy.Rule) []view.File {
	var names []byte
	for _, r := range slices.Concat(p.Policy.Rules, expanded) {
		if rel, ok := strings.CutPrefix(r.Path, p.Place.Project+"/"); ok && r.Access == policy.Deny && !strings.Contains(rel, "\n") {
			names = append(names, "/"+gitPattern(rel)+"\n"...)
		}
	}
	names = append(names, p.ignoredGlobs()...)
	if len(names) == 0 || p.Place.Home == "" {
		return files
	}
	file := p.Place.Home + "/.config/git/ignore"
	files = slices.Clone(files)
	for i := range files {
		if files[i].Path == file {
			files[i].Data = append(append(slices.Clone(files[i].Data), '\n'), names...)
			return files
		}
	}
	return append(files, view.File{Path: file, Data: names, Perm: 0o644, Reason: "masked files for Git to ignore"})
}

// gitPattern makes a name plain in a gitignore(5) file.
func gitPattern(name string) string {
	var b strings.Builder
	for _, c := range []byte(name) {
		if strings.IndexByte(`*?[]\! #`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
	}
	return b.String()
}

// ScopesABI is the version of Landlock that keeps abstract sockets and signals
// apart, Linux 6.12.
const ScopesABI = 6

// FilesABI is the version of which the rules about files are used, Linux 6.2.
const FilesABI = 3

// layers adds the second layer and the system call filter.
func (p *Decision) layers(in *sandbox.Input) error {
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
	in.HighestPID = HighestPID()
	in.Inotify = sandbox.Inotify{Instances: kernelNumber("/proc/sys/fs/inotify/max_user_instances"), Watches: kernelNumber("/proc/sys/fs/inotify/max_user_watches")}
	return nil
}

// filter makes the system call filter, with a broker that answers what it holds or
// without one.
func (p *Decision) filter(in *sandbox.Input, brokered bool) ([]byte, error) {
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

// HighestPID is half of the process numbers that there are, or of the threads that
// the kernel makes; 0 where a pid namespace has no limit of its own, before Linux
// 6.14: there the setting is everybody's.
func HighestPID() uint64 {
	const fewest = 1000
	text, err := os.ReadFile("/proc/sys/kernel/osrelease")
	var major, minor int
	if _, scan := fmt.Sscanf(string(text), "%d.%d", &major, &minor); err != nil || scan != nil || major < 6 || major == 6 && minor < 14 {
		return 0
	}
	n := min(kernelNumber("/proc/sys/kernel/pid_max"), kernelNumber("/proc/sys/kernel/threads-max")) / 2
	if n < fewest {
		return 0
	}
	return n
}

// kernelNumber reads a setting of the kernel, 0 where there is none.
func kernelNumber(file string) uint64 {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	n, _ := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
	return n
}

// overlays are the caches that a command may change without the host seeing it.
func (p *Decision) overlays(make bool) ([]sandbox.Overlay, error) {
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

// overlay plans one cache. What lies in home shares one overlay; a cache that
// the host has not, or must not be seen, is a private directory. Where somebody
// wrote a rule for the place or above it, that rule holds and there is no
// overlay; where a ceiling took the default away, nothing of the host is shown.
func (p *Decision) overlay(c view.Cache) (sandbox.Overlay, bool) {
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
