package decide

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/config"
	"carrel/internal/hostfile"
	"carrel/internal/hostview"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// decideOpen has the policy decided of a workspace without walls. What the machine
// has is in sight as it is, so nothing is looked for: no toolchain, no agent, no
// secret.
func (p *viewed) decideOpen(scope policy.Scope, layers []policy.Layer) error {
	if p.Request.Engine != "" {
		return fmt.Errorf("--engine %s: with --backend none nothing makes walls\nhint: leave one of them out", p.Request.Engine)
	}
	p.ForAgent = p.Agent != nil
	p.Agent, p.match.Index, p.programs, p.found, p.tools = nil, 0, nil, nil, nil
	p.view = &hostview.View{}
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
func (p *decided) recordedPlaces(scope policy.Scope, layers []policy.Layer) ([]string, error) {
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
func (p *asked) ownedFiles() []sandbox.Mount {
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
func (p *networked) openEnviron() []string {
	if p.lender != nil {
		short, _ := hostview.Environ(p.Request.Environ, p.Policy.Env, nil)
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
