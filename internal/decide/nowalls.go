package decide

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/config"
	"carrel/internal/hostfacts"
	"carrel/internal/hostfile"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/seccomp"
	"carrel/internal/view"
)

// NoWalls says whether commands run as their user without walls. Then the policy
// has one kind of place: what is recorded, and the rest, which is not.
func (p *Decision) NoWalls() bool { return p.Policy.Backend == policy.BackendNone }

// BackendTold is what is told of the backend; see [api.Manifest].
func (p *Decision) BackendTold() string {
	if b := p.Policy.Backend; b != policy.BackendProcess {
		return string(b)
	}
	return ""
}

// AsIs says whether the policy is all that counts: no name is protected or hidden
// by itself.
func (p *Decision) AsIs() bool { return p.Request.Exact != nil || p.NoWalls() }

// decideOpen has the policy decided of a workspace without walls. What the machine
// has is in sight as it is, so nothing is looked for: no toolchain, no agent, no
// secret.
func (p *Decision) decideOpen(scope policy.Scope, layers []policy.Layer) error {
	if p.Request.Engine != "" {
		return fmt.Errorf("--engine %s: with --backend none nothing makes walls\nhint: leave one of them out", p.Request.Engine)
	}
	p.ForAgent = p.Agent != nil
	p.Agent, p.match.Index, p.programs, p.found, p.tools = nil, 0, nil, nil, nil
	p.view = &view.View{}
	scope.Tmp = "" // the machine's
	layers = append(layers, policy.Layer{Kind: policy.LayerDefault, Name: "carrel", Request: policy.Request{Files: p.ownRules()}})
	if err := p.leadsOut(scope, layers); err != nil {
		return err
	}
	ceiling, canonical := policy.Canonical(scope, p.Loaded.Ceiling, layers, p.Facts.Canonical)
	var err error
	if p.Policy, err = policy.Decide(scope, ceiling, canonical); err != nil {
		return err
	}
	p.warned()
	p.engine = engine{name: sandbox.EngineNone, why: "no walls: " + p.Reason(policy.DimBackend).Source.String()}
	p.recorded, err = p.recordedPlaces(scope, layers)
	return err
}

// recordedPlaces are where changes go through the broker: the project, and what
// somebody opened for writing by its name. What is not there has no place for the
// mount that it takes.
func (p *Decision) recordedPlaces(scope policy.Scope, layers []policy.Layer) ([]string, error) {
	var out []string
	for _, l := range layers {
		for _, f := range l.Request.Files {
			if f.Access != policy.Write || f.Glob || l.Kind == policy.LayerProject || l.Kind == policy.LayerDefault && f.Place != ":project" {
				continue
			}
			places, err := policy.Resolve(scope, f)
			if err != nil {
				return nil, err
			}
			for _, place := range places {
				real, kind := p.Facts.Resolve(place)
				switch {
				case kind == sandbox.KindDir || kind == sandbox.KindFile:
					out = append(out, real)
				case l.Kind == policy.LayerCommandLine && p.History():
					return nil, notHeldRule(f, place, fmt.Sprintf("%q is no file or directory, so its changes could not be recorded", place), "make it first, or leave it out: without walls all can be written")
				default:
					p.Note("%s: %q is no file or directory: what is made there is not recorded", f.Source, place)
				}
			}
		}
	}
	return slices.DeleteFunc(out, func(place string) bool { return p.Policy.Lookup(place).Access != policy.Write }), nil
}

// recordedRoots are those of the plan. The repository of a worktree or a submodule
// is part of the project, wherever it lies.
func (p *Decision) recordedRoots() []string {
	if !p.History() {
		return nil
	}
	return sandbox.Outermost(slices.Concat(p.recorded, p.Guarded.Write))
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

// ownDirsHere are the directories of carrel's own that there are.
func (p *Decision) ownDirsHere() []string {
	var out []string
	for _, dir := range p.OwnDirs() {
		if real, kind := p.Facts.Resolve(dir); kind == sandbox.KindDir && !pathname.Within(p.Place.Project, real) {
			out = append(out, real)
		}
	}
	return out
}

// hostEntries lists directories of the host.
func hostEntries(dirs ...string) ([]sandbox.Entry, error) {
	var out []sandbox.Entry
	for _, dir := range dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("looking at what the host has: %w", err)
		}
		for _, e := range entries {
			at := sandbox.Entry{Path: filepath.Join(dir, e.Name()), Dir: e.IsDir()}
			if e.Type()&os.ModeSymlink != 0 {
				if at.Link, err = os.Readlink(at.Path); err != nil {
					continue // gone meanwhile
				}
			}
			out = append(out, at)
		}
	}
	return out, nil
}

// sshFiles are what ssh includes of the system's. It refuses them where neither root
// nor its user owns them, and in a user namespace what is root's shows nobody's owner.
const sshFiles = "/etc/ssh/ssh_config.d/*.conf"

// Bounds on files that are shown again as the user's own.
const (
	maxOwned     = 64
	maxOwnedSize = 256 << 10
)

// ownedFiles shows files that programs want to be root's or the user's as the user's.
func (p *Decision) ownedFiles() []sandbox.Mount {
	if p.UID == 0 {
		return nil
	}
	found, _ := filepath.Glob(sshFiles) // the pattern is right
	var out []sandbox.Mount
	for _, name := range found[:min(len(found), maxOwned)] {
		real, kind := p.Facts.Resolve(name)
		st, err := os.Stat(real)
		if kind != sandbox.KindFile || err != nil || st.Size() > maxOwnedSize || hostfile.OwnedByUs(st) {
			continue
		}
		if data, err := os.ReadFile(real); err == nil {
			out = append(out, sandbox.Mount{Kind: sandbox.MountData, Target: real, Data: data, Perm: 0o644, Optional: true, Reason: "ssh wants its owner to be root or you"})
		}
	}
	return out
}

// openEnviron is the environment outside, with what rules take out and set. Host commands
// get the short one that they have behind walls: programs inside call them, and could have
// them print what the walls do not pass.
func (p *Decision) openEnviron() []string {
	if p.lender != nil {
		short, _ := view.Environ(p.Request.Environ, p.Policy.Env, nil)
		return short
	}
	var out []string
	kept := func(name string) bool {
		return name != config.VarCeilingFD && name != EnvInside && !p.dropped(name)
	}
	for _, e := range p.Request.Environ {
		if name, _, _ := strings.Cut(e, "="); kept(name) {
			if _, set := p.Policy.Env.Set[name]; !set {
				out = append(out, e)
			}
		}
	}
	return append(out, p.setVariables()...)
}

// dropped says whether a rule takes a variable out.
func (p *Decision) dropped(name string) bool {
	_, passed, rule := p.Policy.Env.Lookup(name, "")
	return !passed && rule != nil
}

// setVariables are those that a rule sets, and what says where a command runs.
func (p *Decision) setVariables() []string {
	out := []string{EnvInside + "=1"}
	for name := range p.Policy.Env.Set {
		if value, ok, _ := p.Policy.Env.Lookup(name, ""); ok {
			out = append(out, name+"="+value)
		}
	}
	slices.Sort(out)
	return out
}

// OpenAnnouncement says what a command can do, and what of it is kept.
func (p *Decision) OpenAnnouncement() string {
	kept := "NOTHING IS RECORDED, no change can be undone"
	if roots := p.recordedRoots(); len(roots) > 0 {
		var names []string
		for _, r := range roots {
			names = append(names, cmp.Or(strings.Trim(fmt.Sprintf("%q", r), `"`), r))
		}
		kept = "recorded and can be undone: changes of " + strings.Join(names, ", ") + "; nothing else is"
	}
	return "NO WALLS (" + p.Reason(policy.DimBackend).Source.String() + "): commands run as you and reach what you reach: your home and its secrets, the network, your desktop, the sockets of your programs; " + kept
}
