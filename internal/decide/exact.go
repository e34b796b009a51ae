package decide

import (
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/globscan"
	"carrel/internal/hostfacts"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/view"
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
func (p *Decision) prepareExact() error {
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
func (p *Decision) decideExact() error {
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
	for _, w := range p.Policy.Warnings {
		p.Note("%s: %s", w.Source, w.Message)
	}
	return p.throughLinks(scope, asked.Files)
}

// viewExact looks at what of the machine belongs to the policy's own words.
func (p *Decision) viewExact() error {
	o := view.Options{Project: p.Place.Project, UID: p.UID, GID: p.GID, Environ: p.Request.Environ, HomeMode: policy.HomeNone}
	mode := p.Request.Flags.Network
	if mode != nil && mode.V == policy.NetFiltered {
		o.NameServer = sandbox.Gateway
	}
	v, err := view.InspectSystem(o, mode != nil && (mode.V == policy.NetFiltered || mode.V == policy.NetOpen))
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
func (p *Decision) present(scope policy.Scope, files []policy.FileRequest) ([]policy.FileRequest, error) {
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
func (p *Decision) throughLinks(scope policy.Scope, files []policy.FileRequest) error {
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
		for _, l := range view.Links(places) {
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

// linkedLater are the links that a denying glob matches where the broker decides:
// it goes by the name of what is opened, and in the low-level form a pattern
// hides the same with the history and without.
func (p *Decision) linkedLater() ([]policy.Rule, error) {
	if p.Request.Exact == nil || !p.TrapsReads {
		return nil, nil
	}
	found, err := globscan.Find(p.Policy, p.later, nil)
	return slices.DeleteFunc(found, func(r policy.Rule) bool {
		real, _ := p.Facts.Resolve(r.Path)
		return r.Access != policy.Deny || real == r.Path
	}), err
}

// steady refuses what is named by a link that can be changed.
func (p *Decision) steady(f policy.FileRequest, places ...string) error {
	for _, l := range view.Links(places) {
		if p.changeable(l.Path) {
			return notHeldRule(f, l.Path, fmt.Sprintf("the way to %q leads over the link %q, which the policy lets be changed", places[0], l.Path), "name the place that it leads to")
		}
	}
	return nil
}

// changeable says whether somebody inside could put something else in the place
// of a link. The root directory is the workspace's own, and fixed; what is taken
// away there keeps a link only where changes are decided one by one.
func (p *Decision) changeable(link string) bool {
	dir := path.Dir(link)
	if dir == "/" || p.Policy.Lookup(dir).Access != policy.Write || !p.visible(dir) {
		return false
	}
	d := p.Policy.Lookup(link)
	return !p.brokered(dir) || d.Access == policy.Write && !d.Protected
}

// allHeld refuses rules that cannot be held here: what is not there has no place
// for a mount. What is taken away is no matter where nobody inside could make
// it: where nothing may be written, or changes are decided one by one.
func (p *Decision) allHeld() error {
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

// escapes says whether something that a glob matches could be made inside.
func (p *Decision) escapes(glob string, later []string) bool {
	base := globscan.Base(glob)
	return slices.ContainsFunc(p.writeRoots(), func(root string) bool {
		return root != p.Policy.Scope.Tmp && !slices.Contains(later, root) && (pathname.Within(base, root) || pathname.Within(root, base))
	})
}

// writeRoots are the places that rules let be written; "/" stands for what is in
// it.
func (p *Decision) writeRoots() []string {
	var roots []string
	for _, r := range p.Policy.Rules {
		if r.Path == "" || r.Access != policy.Write || r.Path == "/" {
			continue
		}
		roots = append(roots, r.Path)
	}
	top, _, _ := p.rootEntries() // an error ends the compilation
	for _, r := range top {
		if r.Access == policy.Write {
			roots = append(roots, r.Path)
		}
	}
	return roots
}

// planned is the policy as mounts are made from it. "/" stands for what is in
// it: a mount there would hide what every workspace has of its own. A place that
// may be written and is protected by a pattern, by its own name or by one above
// it, is mounted read-only where nobody decides single changes. In the low-level
// form a rule of what is not there has no mount.
func (p *Decision) planned() *policy.Effective {
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
func (p *Decision) ownInside(real string) bool {
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

// rootEntries are the rules that a grant of "/" stands for, and the links
// there. What has a rule of its own is left to that.
func (p *Decision) rootEntries() (rules []policy.Rule, links []sandbox.Mount, err error) {
	d := p.Policy.Lookup("/")
	if d.Access != policy.Read && d.Access != policy.Write {
		return nil, nil, nil
	}
	entries, err := os.ReadDir("/")
	if err != nil {
		return nil, nil, fmt.Errorf("reading the root directory: %w", errors.Unwrap(err))
	}
	for _, e := range entries {
		full := "/" + e.Name()
		switch real, kind := p.Facts.Resolve(full); {
		case slices.Contains(hostfacts.OwnTops, e.Name()), slices.ContainsFunc(p.Policy.Rules, func(r policy.Rule) bool { return r.Path == full }):
		case e.Type()&os.ModeSymlink != 0:
			if text, err := os.Readlink(full); err == nil && !slices.ContainsFunc(p.view.Symlinks, func(l view.Symlink) bool { return l.Path == full }) {
				links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: full, Source: text, Optional: true})
			}
		case real == full && (kind == sandbox.KindDir || kind == sandbox.KindFile):
			top := p.Policy.Lookup(full).Access // a pattern may take it away
			if top == policy.Read || top == policy.Write {
				rules = append(rules, policy.Rule{Path: full, Access: top, Source: d.Rule.Source})
			}
		}
	}
	return rules, links, nil
}

// exactEnviron is the environment of the policy, sorted by name.
func (p *Decision) exactEnviron() []string {
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
