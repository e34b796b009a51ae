package decide

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/credentials"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Engine names what makes the walls.
func (p *decided) Engine() sandbox.Engine { return cmp.Or(p.engine.name, sandbox.EngineNamespaces) }

// EngineReason says why it is this one.
func (p *decided) EngineReason() string { return cmp.Or(p.engine.why, "the default") }

// AsIs says whether the policy is all that counts: no name is protected or hidden
// by itself.
func (p *decided) AsIs() bool { return p.Request.Exact != nil || p.NoWalls() }

// warned makes denials of what was asked for and not granted.
func (p *decided) warned() {
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

// strictSecrets says whether each open for reading is looked at for secrets.
func (p *decided) strictSecrets() bool { return p.Policy.Secrets == policy.SecretsStrict && !p.AsIs() }

// secretsHeld refuses what only the broker can look at where there is none that is asked.
func (p *decided) secretsHeld() error {
	why := ""
	switch {
	case !p.strictSecrets():
	case !p.History():
		why = "with --history off nobody is asked before a file is opened"
	case p.Policy.Nested == policy.NestedFull:
		why = "with --nested full mounts that are made inside are opened unseen"
	}
	if why == "" {
		return nil
	}
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: "secrets strict", Rule: "secrets strict", Source: p.Reason(policy.DimSecrets).Source.String(),
		Message: "secrets strict cannot be held: " + why, Hint: "leave one of them out"}
}

func (p *decided) credentialReach() credentials.Reach {
	switch {
	case p.NoWalls():
		return credentials.Unfiltered
	case p.engine.name == sandbox.EngineLandlock:
		return credentials.Unreachable
	}
	return credentials.Filtered
}

// grantedRoots are the project and whatever was granted beyond the defaults.
func (p *decided) grantedRoots() []string {
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

// hidesPassword says whether a configuration with a password in it was not named.
func (p *decided) hidesPassword(at string) bool {
	r := p.Policy.Lookup(at).Rule
	return !p.AsIs() && (r == nil || r.Path != at || r.Source.Layer >= policy.LayerProject)
}

// withoutKernel hides the kernel's file systems in what is granted, and refuses
// grants of what they show: processes outside, and through them all files.
func (p *decided) withoutKernel() ([]policy.Rule, error) {
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

// planned is the policy as mounts are made from it. "/" stands for what is in
// it: a mount there would hide what every workspace has of its own. A place that
// may be written and is protected by a pattern, by its own name or by one above
// it, is mounted read-only where no broker decides single changes. In the low-level
// form a rule of what is not there has no mount.
func (p *decided) planned() *policy.Effective {
	out := *p.Policy
	out.Rules = slices.Clone(out.Rules)
	for i, r := range out.Rules {
		if !p.History() && r.Path != "" && r.Access == policy.Write && p.Policy.Lookup(r.Path).Protected {
			out.Rules[i].Access = policy.Read
		}
	}
	out.Rules = slices.DeleteFunc(out.Rules, func(r policy.Rule) bool {
		if r.Path == "/" || p.Request.Exact == nil {
			return r.Path == "/"
		}
		_, kind := p.Facts.Resolve(r.Path)
		return r.Path != "" && r.Source.Layer != policy.LayerDefault && kind == sandbox.KindNone
	})
	return &out
}

// ownPlace says whether a place is one that every workspace has of its own. The
// machine's procfs would show its processes, and through them all its files.
func ownPlace(real string) bool {
	return real == "/run" || real == "/run/user" || path.Dir(real) == "/run/user" || pathname.Within(real, "/run/carrel") || pathname.Within(real, "/proc") || pathname.Within(real, "/sys") || pathname.Within(real, "/dev")
}

// ownInside says whether a place is one that the workspace makes anew, and has
// whatever the policy says. Of /sys and most of /dev there is nothing.
func (p *decided) ownInside(real string) bool {
	for _, dir := range []string{"/proc", "/run/carrel", "/dev/shm", "/dev/pts"} {
		if pathname.Within(real, dir) {
			return true
		}
	}
	switch real {
	case "/run", "/run/user", p.InsideRuntime(), "/dev":
		return true
	case "/var/tmp":
		return !p.visible("/var")
	}
	return path.Dir(real) == "/dev" && slices.Contains(sandbox.DeviceNodes, path.Base(real))
}

// makeOwnDirs makes our directories where a writable home would let a command
// make them first: only what exists can be covered.
func (p *decided) makeOwnDirs() {
	for _, dir := range p.OwnDirs() {
		if p.Policy.Lookup(filepath.Dir(dir)).Access == policy.Write {
			if err := os.MkdirAll(dir, 0o700); err != nil {
				p.Note("%s cannot be made and so not be covered: %v", dir, err)
			}
			p.Facts.Forget(dir)
		}
	}
}

// engine is what makes the walls of a run. The zero value is our own namespaces.
type engine struct {
	name    sandbox.Engine
	program string // with its version, for another's program
	why     string
	refused error // the system's answer to our own namespaces, where that is why
}

func (e engine) String() string {
	name := string(e.name)
	if e.program != "" {
		name += " (" + e.program + ")"
	}
	return name + ", " + e.why
}
