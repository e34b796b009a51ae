package decide

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/globscan"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Exact is the low-level form: what is asked for is the policy, or the start is
// refused. No configuration is read, no project looked for, no agent known, no
// name protected by itself; the working directory stands where others have the
// project. Beside the policy there are only the file systems that every
// workspace has of its own, and masks over carrel's own files and over sockets
// that are not granted.
type Exact struct {
	Tmp    bool // a private /tmp
	System bool // the system directories, and the links at the root that belong to them
}

// prepareExact is Prepare for the low-level form.
func (p *guarded) prepareExact() error {
	real, err := hostfacts.WorkingDirectory(p.Request.Cwd)
	if err != nil {
		return fmt.Errorf("finding the working directory: %w", err)
	}
	p.Place = hostfacts.Place{Cwd: real, Project: real}
	if p.Request.Cwd == "" {
		if err := p.Facts.Pin(&p.Place); err != nil {
			return err
		}
	}
	p.Loaded = &config.Loaded{}
	if err := p.decideExact(); err != nil {
		return err
	}
	if err := p.buildable(); err != nil {
		return err
	}
	if err := p.allHeld(); err != nil {
		return err
	}
	return p.ExpandGlobs()
}

// decideExact has the policy decided: one layer, and what is carrel's own below.
func (p *viewed) decideExact() error {
	if err := p.viewExact(); err != nil {
		return err
	}
	scope := p.Place.Scope(p.view.System)
	own := policy.Request{Files: p.ownRules()}
	if p.Request.Exact.Tmp {
		own.Files = append(own.Files, policy.FileRequest{Place: ":tmp", Access: policy.Write,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "private temporary directory"}})
	} else {
		scope.Tmp = "" // the machine's, where a rule shows it
	}
	for _, dir := range p.view.ExtraRead {
		own.Files = append(own.Files, policy.FileRequest{Place: dir, Access: policy.Read,
			Source: policy.Source{Layer: policy.LayerDefault, Text: "a system file points there"}})
	}
	asked := p.Request.Flags
	var err error
	if asked.Files, err = p.present(scope, asked.Files); err != nil {
		return err
	}
	layers := []policy.Layer{
		{Kind: policy.LayerCommandLine, Name: "policy", Request: asked},
		{Kind: policy.LayerDefault, Name: "carrel", Request: own},
	}
	p.socketNames = socketNames(layers)
	_, canonical := policy.Canonical(scope, nil, layers, p.Facts.Canonical)
	if p.Policy, err = policy.Decide(scope, nil, canonical); err != nil {
		return err
	}
	p.exactPath = lookupEnv(p.exactEnviron(), "PATH")
	for _, w := range p.Policy.Warnings {
		p.Note("%s: %s", w.Source, w.Message)
	}
	return p.throughLinks(scope, asked.Files)
}

// viewExact looks at what of the machine belongs to the policy's own words.
func (p *viewed) viewExact() error {
	o := hostview.Options{Project: p.Place.Project, UID: p.UID, GID: p.GID, Environ: p.Request.Environ, HomeMode: policy.HomeNone}
	mode := p.Request.Flags.Network
	if mode != nil && mode.V == policy.NetFiltered {
		o.NameServer = sandbox.Gateway
	}
	v, err := hostview.InspectSystem(o, mode != nil && (mode.V == policy.NetFiltered || mode.V == policy.NetOpen))
	if err != nil {
		return err
	}
	if !p.Request.Exact.System {
		v.Symlinks, v.ExtraRead = nil, nil
	}
	p.view = v
	return nil
}

// present leaves out the optional grants of what is not there, and refuses the
// others. Rules that take something away stay: see allHeld.
func (p *asked) present(scope policy.Scope, files []policy.FileRequest) ([]policy.FileRequest, error) {
	var out []policy.FileRequest
	for _, f := range files {
		places, err := policy.Resolve(scope, f)
		if err != nil || f.Glob || f.Access != policy.Write {
			out = append(out, f) // Decide reports what cannot be resolved
			continue
		}
		there := true
		for _, place := range places {
			_, kind := p.Facts.Resolve(p.Facts.Canonical(place))
			there = there && kind != sandbox.KindNone
		}
		switch {
		case there:
			out = append(out, f)
		case !f.Optional:
			return nil, missing(f, places[0])
		}
	}
	return out, nil
}

func missing(f policy.FileRequest, place string) error {
	return notHeldRule(f, place, fmt.Sprintf("%q does not exist or cannot be seen", place), `name what exists, or say "if_missing": "skip"`)
}

// notHeldRule is the refusal of one rule.
func notHeldRule(f policy.FileRequest, place, message, hint string) error {
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: place, Rule: string(policy.DimFiles), Source: f.Source.String(),
		Message: f.Source.String() + ": " + message, Hint: hint}
}

// throughLinks finds the links on the way to what is granted, to be made anew
// inside. One that a command could exchange would choose what the next one is
// granted or denied: that is refused.
func (p *viewed) throughLinks(scope policy.Scope, files []policy.FileRequest) error {
	made := map[string]bool{"/var/run": true} // every workspace has that
	for _, l := range p.view.Symlinks {
		made[l.Path] = true
	}
	for _, f := range files {
		places, err := policy.Resolve(scope, f)
		if err != nil || f.Glob {
			continue
		}
		if err := p.steady(f, places...); err != nil {
			return err
		}
		for _, l := range hostview.Links(places) {
			if !made[l.Path] && f.Access != policy.Deny {
				made[l.Path] = true
				p.view.Symlinks = append(p.view.Symlinks, l)
			}
		}
	}
	if p.Request.Cwd != "" {
		err := p.steady(policy.FileRequest{Source: policy.Source{Layer: policy.LayerCommandLine, Text: "cwd"}}, p.Request.Cwd)
		if err != nil {
			return err
		}
	}
	for _, v := range slices.Concat(p.Request.Flags.UnixSockets, p.Request.Flags.Devices, p.Request.Flags.ProgramsAllow) {
		if err := p.steady(policy.FileRequest{Source: v.Source}, v.V); err != nil {
			return err
		}
	}
	return nil
}

// allHeld refuses rules that cannot be held here: what is not there has no place
// for a mount. What is taken away is no matter where nobody inside could make
// it: where nothing may be written, or changes are decided one by one.
func (p *viewed) allHeld() error {
	scope := p.Policy.Scope
	later := p.decidedLater()
	for _, f := range p.Request.Flags.Files {
		places, err := policy.Resolve(scope, f)
		if err != nil {
			continue
		}
		for _, place := range places {
			if f.Glob && !f.Optional && p.escapes(place, later) {
				return notHeldRule(f, place, "what does not exist yet and would match could be made inside", `"history": "on" holds it, or say "if_missing": "skip"`)
			}
			real := p.Facts.Canonical(place)
			if f.Glob {
				real = globscan.Base(place)
			}
			if (f.Glob || f.Access == policy.Deny) && p.ownInside(real) {
				return notHeldRule(f, place, fmt.Sprintf("%q is the workspace's own, which every command has", real), "leave the rule out")
			}
			if p.Request.Exact.Tmp && real == scope.Tmp {
				return notHeldRule(f, place, fmt.Sprintf("%q is private by another rule", real), "leave one of them out")
			}
			if f.Glob {
				continue
			}
			if f.Access != policy.Deny && ownPlace(real) {
				return notHeldRule(f, place, fmt.Sprintf("%q is the workspace's own: the machine's would show what is outside", real), "leave the rule out, or name what you need below /run; devices have a list of their own")
			}
			around := p.Policy.Lookup(path.Dir(real))
			made := around.Access == policy.Write && p.visible(path.Dir(real)) // by who is inside
			if _, kind := p.Facts.Resolve(real); kind != sandbox.KindNone || f.Optional {
				continue
			}
			if f.Access == policy.Read && !made || made && !p.brokered(path.Dir(real)) {
				return missing(f, place)
			}
		}
	}
	return nil
}

// exactEnviron is the environment of the policy, sorted by name.
func (p *networked) exactEnviron() []string {
	env := p.proxyEnv()
	if env == nil {
		env = make(map[string]string)
	}
	passed := make(map[string]bool)
	for _, v := range p.Policy.Env.Pass {
		passed[v.V] = true
	}
	for _, e := range p.Request.Environ {
		if name, value, ok := strings.Cut(e, "="); ok && passed[name] {
			env[name] = value
		}
	}
	for name, v := range p.Policy.Env.Set {
		env[name] = v.V
	}
	env[EnvInside] = "1"
	out := make([]string, 0, len(env))
	for name, value := range env {
		out = append(out, name+"="+value)
	}
	slices.Sort(out)
	return out
}
