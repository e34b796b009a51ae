package decide

import (
	"maps"
	"slices"
	"strings"

	"carrel/internal/display"
	"carrel/internal/hostview"
	"carrel/internal/inside"
	"carrel/internal/policy"
)

// Environ builds the environment for every launch path, in one place and one
// order: allow-list and rules, what the defaults and the agent need, the
// display table last, so that nothing can bring a display variable back.
func (p *homed) Environ() []string {
	if p.Request.Exact != nil {
		return p.exactEnviron()
	}
	if p.NoWalls() {
		return p.openEnviron()
	}
	extra := maps.Clone(p.view.Env)
	if extra == nil {
		extra = make(map[string]string)
	}
	extra["PATH"] = p.path()
	extra["CARREL_PATH"] = extra["PATH"] // login shells set PATH anew; the generated rc files restore it
	extra["PWD"] = p.Place.Cwd
	extra["TMPDIR"] = "/tmp"
	if p.Place.Home != "" {
		extra["HOME"] = p.Place.Home
	}
	maps.Copy(extra, p.proxyEnv())
	maps.Copy(extra, p.agentEnv())
	maps.Copy(extra, p.hostEnv())
	maps.Copy(extra, p.Keyring.Env())
	if p.contained() {
		p.terminalIn(extra)
	}
	rules := p.agentPasses(p.Policy.Env)
	if p.Policy.Display == policy.DisplayHost {
		rules.Pass = slices.Clone(rules.Pass)
		for _, v := range display.Table() {
			rules.Pass = append(rules.Pass, policy.Value[string]{V: v.Name, Source: p.Reason(policy.DimDisplay).Source})
		}
	}
	env, _ := hostview.Environ(p.Request.Environ, rules, extra)
	o := display.Options{
		RuntimeDir: p.InsideRuntime(),
		Shim:       inside.Dir + "/xdg-open",
	}
	p.desktopOptions(&o)
	return display.Apply(env, p.Policy.Display, o)
}

// noteUnset says which variables a flag names that there are none of.
func noteUnset(p *Decision) {
	for _, v := range p.Policy.Env.Pass {
		_, set := p.Policy.Env.Set[v.V]
		named := v.Source.Layer == policy.LayerCommandLine && !strings.ContainsAny(v.V, `*?[\`)
		if named && !set && !slices.ContainsFunc(p.Request.Environ, func(e string) bool { return strings.HasPrefix(e, v.V+"=") }) {
			p.Note("%s %s: there is no such variable here, so none is passed", v.Source.Text, v.V)
		}
	}
}

// VariablesOf compares the environment of a compiled command with the one outside.
func VariablesOf(p *Decision) Variables {
	var out Variables
	rules := p.agentPasses(p.Policy.Env)
	outside := make(map[string]string)
	for _, entry := range p.Request.Environ {
		if name, value, ok := strings.Cut(entry, "="); ok && name != "" {
			outside[name] = value
		}
	}
	for _, entry := range p.Plan.Command.Env {
		name, value, _ := strings.Cut(entry, "=")
		if was, ok := outside[name]; !ok || was != value {
			out.Set++
			continue
		}
		src, ok := hostview.PassedBy(name, rules.Pass)
		if !ok {
			src = policy.Source{Layer: policy.LayerDefault}
		}
		out.Passed = append(out.Passed, policy.Value[string]{V: name, Source: src})
	}
	out.Kept = len(outside) - len(out.Passed)
	slices.SortFunc(out.Passed, func(a, b policy.Value[string]) int { return strings.Compare(a.V, b.V) })
	return out
}

// Variables are the names of what a command has in its environment: what comes from
// outside, each with what lets it in, and how many are set for it.
type Variables struct {
	Passed []policy.Value[string] // sorted; the source has no text where all commands get it
	Set    int
	Kept   int // outside variables that do not come in, or come in with another value
}
