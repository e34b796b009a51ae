package decide

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/policy"
)

// Decided lists what was decided for a workspace, in a fixed order, as far as it
// matters whether two are the same.
func (p *mountable) Decided() []api.Decided {
	var out []api.Decided
	for _, r := range p.Policy.Reasons {
		if r.Dimension == policy.DimFiles {
			continue // a number, of those below and of the usual ones
		}
		out = append(out, api.Decided{Dimension: string(r.Dimension), Value: r.Value, Source: r.Source.String()})
	}
	for _, r := range p.Policy.Rules {
		if r.Source.Layer == policy.LayerDefault {
			continue // follows from the others and from the machine
		}
		place := r.Path
		if place == "" {
			place = r.Glob
		}
		out = append(out, api.Decided{Dimension: "file", Value: fmt.Sprintf("%s %s", r.Access, place), Source: r.Source.String()})
	}
	for _, h := range p.Policy.Hosts {
		out = append(out, api.Decided{Dimension: "host", Value: h.V, Source: h.Source.String()})
	}
	for _, h := range p.Policy.DenyHosts {
		out = append(out, api.Decided{Dimension: "deny-host", Value: h.V, Source: h.Source.String()})
	}
	for _, h := range p.Policy.Publish {
		out = append(out, api.Decided{Dimension: "publish", Value: fmt.Sprint(h.V), Source: h.Source.String()})
	}
	for _, h := range p.Policy.HostPorts {
		out = append(out, api.Decided{Dimension: "host-port", Value: fmt.Sprint(h.V), Source: h.Source.String()})
	}
	for _, v := range p.Policy.UnixSockets {
		out = append(out, api.Decided{Dimension: "unix-socket", Value: v.V, Source: v.Source.String()})
	}
	for _, l := range p.mountLinks() {
		out = append(out, api.Decided{Dimension: "mount", Value: l.Source + " at " + l.Target, Source: l.Reason})
	}
	out = append(append(out, p.Ceilings()...), api.Decided{Dimension: "project", Value: p.Place.Project}, api.Decided{Dimension: "engine", Value: string(p.Engine()), Source: p.EngineReason()})
	if p.inVM() {
		for _, f := range p.Loaded.Settings.VM.Flags() {
			if value, by := f.Said(); value != "" {
				out = append(out, api.Decided{Dimension: f.Key, Value: value, Source: by.String()})
			}
		}
	}
	if p.profile != nil {
		out = append(out, api.Decided{Dimension: "profile", Value: p.profile.Name + " " + p.profile.Digest()})
	}
	if p.Agent != nil {
		out = append(out, api.Decided{Dimension: "agent", Value: p.Agent.Name})
	}
	if p.StartsWithoutPrompts() {
		out = append(out, api.Decided{Dimension: "agent-prompts", Value: "off", Source: p.promptsOffBy()})
	}
	slices.SortStableFunc(out, func(a, b api.Decided) int {
		return strings.Compare(a.Dimension+"\x00"+a.Value, b.Dimension+"\x00"+b.Value)
	})
	if more := len(out) - maxDecided; more > 0 {
		sum := sha256.New()
		for _, d := range out[maxDecided:] {
			fmt.Fprintf(sum, "%q %q\n", d.Dimension, d.Value)
		}
		out = append(out[:maxDecided], api.Decided{Dimension: "more", Value: fmt.Sprintf("%d, %x", more, sum.Sum(nil)[:16])})
	}
	return out
}

// maxDecided bounds how much is listed: a policy may have ten thousand rules.
const maxDecided = 1000

// dimCeiling is the dimension of ceilings in what was decided.
const dimCeiling = "ceiling"

// Digest names what was decided: two workspaces with the same one may do the same. The
// values of variables count, and cannot be told from it.
func (p *homed) Digest() string {
	list := p.Decided()
	for i := range list {
		list[i].Source = ""
	}
	text, _ := json.Marshal(struct {
		Decided []api.Decided
		Env     []string
	}{list, p.decidedEnviron()})
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// decidedEnviron is what was decided of the environment: all of it, but where all that
// is outside is passed on.
func (p *homed) decidedEnviron() []string {
	if p.NoWalls() {
		return p.setVariables()
	}
	return p.Environ()
}

// Differences says in lines what one policy has and another has not.
func Differences(running, asked []api.Decided) []string {
	key := func(d api.Decided) string { return d.Dimension + ": " + d.Value }
	has := func(list []api.Decided, k string) bool {
		return slices.ContainsFunc(list, func(d api.Decided) bool { return key(d) == k })
	}
	var out []string
	told := func(d api.Decided) string {
		if d.Dimension == dimCeiling {
			return key(d) + " (" + d.Source + ")" // a hash alone tells a person little
		}
		return key(d)
	}
	for _, d := range running {
		if !has(asked, key(d)) {
			out = append(out, "it has  "+told(d))
		}
	}
	for _, d := range asked {
		if !has(running, key(d)) {
			out = append(out, "asked:  "+told(d))
		}
	}
	return out
}
