package decide

import (
	"slices"
	"strings"

	"carrel/internal/policy"
	"carrel/internal/view"
)

// Variables are the names of what a command has in its environment: what comes from
// outside, each with what lets it in, and how many are set for it.
type Variables struct {
	Passed []policy.Value[string] // sorted; the source has no text where all commands get it
	Set    int
	Kept   int // outside variables that do not come in, or come in with another value
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
		src, ok := view.PassedBy(name, rules.Pass)
		if !ok {
			src = policy.Source{Layer: policy.LayerDefault}
		}
		out.Passed = append(out.Passed, policy.Value[string]{V: name, Source: src})
	}
	out.Kept = len(outside) - len(out.Passed)
	slices.SortFunc(out.Passed, func(a, b policy.Value[string]) int { return strings.Compare(a.V, b.V) })
	return out
}
