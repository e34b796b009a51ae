package decide

import (
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/hostfile"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// agentPresets are what agents do their work with, beside their own hosts: registries, of
// which packages are read. Hosts that take uploads from any account are for the user to grant.
var agentPresets = []string{"npm", "pypi", "go", "crates", "debian"}

// Bounds on what is read of an agent's settings.
const (
	maxSettings      = 1 << 20 // bytes of a file
	maxSettingsFiles = 64
)

// agentDefaults is the network that a known agent needs to work; everything else stays
// closed. only leaves out all but its own hosts.
func (p *recognised) agentDefaults(only bool) policy.Layer {
	l := policy.Layer{Kind: policy.LayerDefault, Name: "agent"}
	if p.Agent == nil {
		if only {
			p.Note("network api is what a known agent cannot do without, and no known agent is started: only listed hosts are reached")
		}
		return l
	}
	src := policy.Source{Layer: policy.LayerDefault, Text: "agent " + p.Agent.Name + " has to reach its model"}
	l.Request.Network = &policy.Value[policy.NetworkMode]{V: policy.NetFiltered, Source: src}
	src.Text = "agent " + p.Agent.Name
	presets := []string{p.Agent.Name}
	if !only {
		presets = append(presets, agentPresets...)
	}
	for _, name := range presets {
		l.Request.AllowHosts = append(l.Request.AllowHosts, policy.Value[string]{V: "preset:" + name, Source: src})
	}
	return l
}

// agentEndpoints are the servers that the user's variables and the agent's own
// settings name for it. One on the host's loopback becomes a host port.
func (p *recognised) agentEndpoints(env policy.Env) policy.Layer {
	l := policy.Layer{Kind: policy.LayerDefault, Name: "agent's servers"}
	if p.Agent == nil {
		return l
	}
	env = p.agentPasses(env)
	found := p.Agent.Endpoints(func(name string) (string, bool) {
		v, passed, _ := env.Lookup(name, p.Getenv(name))
		return v, passed && v != ""
	})
	for _, file := range p.settingsFiles() {
		// A link may lead to where somebody keeps such files, but what lies in
		// the project is written by others.
		real, kind := p.Facts.Resolve(filepath.Join(p.Place.Home, file))
		if kind != sandbox.KindFile || pathname.Within(real, p.Place.Project) {
			continue
		}
		if data, err := hostfile.ReadHead(real, maxSettings); err == nil {
			found = append(found, p.Agent.EndpointsIn(file, data)...)
		}
	}
	for _, e := range found {
		src := policy.Source{Layer: policy.LayerDefault, Text: e.By + " names it for " + p.Agent.Name}
		if e.Rule != "" {
			l.Request.AllowHosts = append(l.Request.AllowHosts, policy.Value[string]{V: e.Rule, Source: src})
		} else {
			l.Request.HostPorts = append(l.Request.HostPorts, policy.Value[uint16]{V: e.Port, Source: src})
		}
	}
	return l
}

// settingsFiles are the files of the agent's settings that there are.
func (p *recognised) settingsFiles() []string {
	var files []string
	for _, file := range p.Agent.SettingsFiles() {
		dir, pattern := filepath.Split(file)
		entries, _ := os.ReadDir(filepath.Join(p.Place.Home, dir))
		for _, e := range entries {
			if ok, _ := filepath.Match(pattern, e.Name()); ok && len(files) < maxSettingsFiles {
				files = append(files, dir+e.Name())
			}
		}
	}
	return files
}

// agentPasses adds what the agent's own variables are.
func (p *recognised) agentPasses(rules policy.Env) policy.Env {
	if p.Agent == nil {
		return rules
	}
	rules.Pass = slices.Clone(rules.Pass)
	for _, name := range p.Agent.EnvPass {
		rules.Pass = append(rules.Pass, policy.Value[string]{V: name, Source: policy.Source{Layer: policy.LayerDefault, Text: "agent " + p.Agent.Name}})
	}
	return rules
}
