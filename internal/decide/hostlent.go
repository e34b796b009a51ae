package decide

import (
	"slices"

	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/policy"
)

// lender is the workspace for the host commands of which a [Decision] makes walls. Its project,
// history and record are the lender's, and so is what it may reach.
type lender struct {
	p       *Decision
	command *config.HostCommand // that has walls alone, nil for all others
}

// borrowed makes the request and the configuration of walls for host commands: the
// workspace's own, without a display, an agent, ports, or sockets of the host.
func (l *lender) borrowed() Request {
	p := l.p
	req := p.Request
	// What a preset or a profile says is in the layers already.
	req.Argv, req.Agent, req.Profile, req.Draft, req.Preset, req.PromptsOff, req.Stays, req.Size = nil, "", "", nil, "", false, false, ""
	value := func(text string) policy.Source {
		return policy.Source{Layer: policy.LayerCommandLine, Text: text}
	}
	f := &req.Flags
	f.Display, f.AllowDesktopGUI, f.VirtualDisplay, f.WatchVNC, f.Clipboard = &policy.Value[policy.DisplayMode]{V: policy.DisplayNone, Source: value("host commands")}, nil, nil, nil, nil
	f.Publish, f.UnixSockets, f.Isolation = nil, nil, nil
	f.Persona = &policy.Value[policy.Persona]{V: p.Policy.Persona, Source: value("the workspace")}
	if p.Policy.Home == policy.HomeFull {
		f.Home = &policy.Value[policy.HomeMode]{V: policy.HomeToolchains, Source: value("host commands")}
	}
	mode, hosts := p.Policy.Network, p.Policy.Hosts
	if c := l.command; c != nil { // never more than the workspace has
		switch {
		case c.Network == config.HostNetworkClosed:
			mode, hosts = policy.NetClosed, nil
		case len(c.Hosts) > 0 && (mode == policy.NetFiltered || mode == policy.NetOpen):
			mode, hosts = policy.NetFiltered, c.Hosts
		}
	}
	if mode == policy.NetClosed {
		f.HostPorts = nil
	}
	f.Network = &policy.Value[policy.NetworkMode]{V: mode, Source: value("the workspace")}
	if f.AllowHosts, f.DenyHosts = nil, p.Policy.DenyHosts; mode == policy.NetFiltered {
		f.AllowHosts = hosts
	}
	if p.contained() || p.inMachine() { // they are the host's programs
		f.Backend, req.Image = &policy.Value[policy.Backend]{V: policy.BackendProcess, Source: value("host commands")}, ""
		req.VM = config.VM{}
	}
	if p.unwalledHost() {
		f.Display, f.Home, f.Network, f.AllowHosts, f.DenyHosts, req.Engine = nil, nil, nil, nil, nil, ""
		f.Backend = &policy.Value[policy.Backend]{V: policy.BackendNone, Source: p.Loaded.Settings.UnsandboxedHostExec.Source}
	}
	if c := l.command; c != nil {
		for _, file := range c.SecretFiles {
			f.Files = append(slices.Clone(f.Files), policy.FileRequest{Place: file, Access: policy.Read, Source: c.Source})
		}
	}
	return req
}

// frozen is the configuration as the workspace was decided from, for such walls. A demand of an isolation
// is of the workspace's own programs.
func (l *lender) frozen() *config.Loaded {
	out := *l.p.Loaded
	out.Ceiling, out.Layers = ceilings.WithoutIsolation(out.Ceiling), slices.Clone(out.Layers)
	for i := range out.Layers {
		out.Layers[i].Ceiling = ceilings.WithoutIsolation(out.Layers[i].Ceiling)
		r := &out.Layers[i].Request
		r.Isolation, r.AllowHosts, r.Publish, r.UnixSockets, r.HostCommands = nil, nil, nil, nil, nil
	}
	out.Warnings = nil
	return &out
}
