package workspace

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostexec"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// lender is the workspace whose host commands a [Prepared] makes walls for. Its project,
// history and record are the lender's, and so is what it may reach.
type lender struct {
	p       *Prepared
	command *config.HostCommand // that has walls alone, nil for all others
}

// hostCommands are the commands that programs inside may call, as somebody listed them
// and no ceiling left them out. Without walls there is no outside to run them in, and
// without mounts no way to ask for them.
func (p *Prepared) hostCommands() []config.HostCommand {
	if p.Loaded == nil || p.lender != nil || p.NoWalls() || p.engine.name == sandbox.EngineLandlock {
		return nil
	}
	var out []config.HostCommand
	for _, c := range p.Loaded.Commands {
		if slices.ContainsFunc(p.Policy.HostCommands, func(v policy.Value[string]) bool { return v.V == c.Name }) {
			out = append(out, c)
		}
	}
	return out
}

// servesHost says whether programs inside find somebody who answers the host protocol.
func (p *Prepared) servesHost() bool { return len(p.hostCommands()) > 0 || p.rpcHost() != "" }

func (p *Prepared) rpcHost() string {
	if p.Loaded == nil || p.Loaded.Settings.RPCHost == nil || p.lender != nil || p.NoWalls() || p.engine.name == sandbox.EngineLandlock {
		return ""
	}
	return p.Loaded.Settings.RPCHost.V
}

// unwalledHost says whether host commands run without walls.
func (p *Prepared) unwalledHost() bool {
	v := p.Loaded.Settings.UnsandboxedHostExec
	return v != nil && v.V && len(p.hostCommands()) > 0
}

// hostHeld refuses the protocol where it would be spoken with others, and host commands
// without walls under a ceiling: nothing of it would hold.
func (p *Prepared) hostHeld() error {
	if at, ok := p.rpcAddress(); ok {
		refuse := func(why string) error {
			return &advice.Error{Err: fmt.Errorf("%s: %s", p.Loaded.Settings.RPCHost.Source, why), Hint: "127.0.0.1, or no rpc_host: the Unix socket works everywhere"}
		}
		switch {
		case !at.Addr().IsLoopback():
			return refuse(fmt.Sprintf("%s is not an address of this machine's own: the protocol is spoken in the workspace's network, and nowhere else", at.Addr()))
		case slices.Contains(p.hostPorts(), rpcPort):
			return refuse(fmt.Sprintf("host port %d is where the protocol would be", rpcPort))
		}
	}
	for _, c := range p.hostCommands() {
		if inside.IsHelper(c.Name) && c.Name != "gh" || strings.HasPrefix(c.Name, "carrel") { // theirs is only there to have the real one
			return &advice.Error{Err: fmt.Errorf("%s: %s is carrel's own inside", c.Source, c.Name), Hint: "take it out of host_commands"}
		}
		for _, ceiling := range p.underCeilings().All() {
			if off := ceiling.Credentials; off != nil && off.V == policy.CredentialsOff && len(c.SecretEnv)+len(c.SecretFiles) > 0 {
				return &policy.Refusal{Dimension: policy.DimCredentials, Requested: "those of the host command " + c.Name, Allowed: string(policy.CredentialsOff), Source: off.Source, Asked: c.Source}
			}
		}
	}
	if !p.unwalledHost() || len(p.ceilings()) == 0 {
		return nil
	}
	v := p.Loaded.Settings.UnsandboxedHostExec
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: "dangerously_allow_unsandboxed_host_exec", Rule: "under a ceiling host commands have walls", Source: v.Source.String(),
		Message: "dangerously_allow_unsandboxed_host_exec is refused under a ceiling: without walls nothing of it would hold", Hint: "take it out of " + v.Source.String()}
}

// hostAnnouncements say loudly what leaves the walls, and what cannot be had.
func (p *Prepared) hostAnnouncements() []string {
	if p.unwalledHost() {
		return []string{fmt.Sprintf("HOST COMMANDS RUN WITHOUT WALLS: %s can be made to do whatever your user can, and only changes of the project are recorded (%s)", hostNames(p.hostCommands()), p.Loaded.Settings.UnsandboxedHostExec.Source)}
	}
	if v := p.Policy.HostCommands; p.engine.name == sandbox.EngineLandlock && len(v) > 0 && p.lender == nil {
		return []string{fmt.Sprintf("warning: %s: no host commands with the engine landlock, which can make no walls for them; `carrel doctor` says what namespaces need here", v[0].Source)}
	}
	return nil
}

func hostNames(list []config.HostCommand) string {
	out := ""
	for i, c := range list {
		if i > 0 {
			out += ", "
		}
		out += c.Name
	}
	return out
}

// cacheDir is where copies of the host's caches are, in the state of a project. What
// programs inside put into theirs, host commands do not run.
func (p *Prepared) cacheDir() string {
	switch {
	case p.lender == nil:
		return "caches"
	case p.lender.command == nil:
		return "host-caches/all"
	}
	return "host-caches/of-" + p.lender.command.Name
}

// rpcPort is where the host protocol is spoken over TCP, in a network of the workspace's
// own.
const rpcPort = 7870

// rpcAddress is where the host protocol is spoken over TCP, where there is a network to
// speak in that is the workspace's own.
func (p *Prepared) rpcAddress() (netip.AddrPort, bool) {
	at, err := netip.ParseAddr(p.rpcHost())
	return netip.AddrPortFrom(at, rpcPort), err == nil && p.ownLoopback()
}

// speaksHost says whether the host protocol is spoken on a listener of the plan.
func (p *Prepared) speaksHost(address string) bool {
	at, ok := p.rpcAddress()
	return address == hostexec.Socket || ok && address == at.String()
}

// hostEnv is what workmux's guests look for.
func (p *Prepared) hostEnv() map[string]string {
	if !p.servesHost() {
		return nil
	}
	if p.hostToken == "" {
		p.hostToken = newHostToken()
	}
	env := map[string]string{"WM_SANDBOX_GUEST": "1", "WM_RPC_TOKEN": p.hostToken}
	if at, ok := p.rpcAddress(); ok {
		env["WM_RPC_HOST"], env["WM_RPC_PORT"] = at.Addr().String(), strconv.Itoa(int(at.Port()))
	}
	return env
}

// newHostToken gives what workmux's guests show, and everybody over TCP.
func newHostToken() string {
	var b [hostexec.TokenLen / 2]byte
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// shimProgram is what the names of host commands lead to, beside our own program; see
// cmd/carrel-shim. Where it is not there, our own does the same. What it is does not
// matter to anybody outside: it runs inside, like any program there.
const shimProgram = "carrel-shim"

// shims are the names that stand for host commands inside.
func (p *Prepared) shims(in *sandbox.Input) {
	list := p.hostCommands()
	if len(list) == 0 {
		return
	}
	leadsTo := sandbox.SelfPath
	// No link: where carrel lies in the project, it would choose what is shown.
	beside := filepath.Join(filepath.Dir(in.Self), shimProgram)
	if real, kind := p.facts.Resolve(beside); real == beside && kind == sandbox.KindFile && executable(beside) {
		leadsTo = inside.Dir + "/" + shimProgram
		in.Binds = append(in.Binds, sandbox.Mount{Kind: sandbox.MountBind, Target: leadsTo, Source: beside, ReadOnly: true, Reason: "stands for host commands"})
	}
	for _, c := range list {
		in.Symlinks = append(in.Symlinks, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: hostexec.ShimDir + "/" + c.Name, Source: leadsTo, Reason: "a host command"})
	}
}

// borrowed makes the request and the configuration of walls for host commands: the
// workspace's own, without a display, an agent, ports, or sockets of the host.
func (l *lender) borrowed() Request {
	p := l.p
	req := p.req
	// What a preset or a profile says is in the layers already.
	req.Argv, req.Agent, req.Profile, req.Draft, req.Preset, req.PromptsOff, req.Stays, req.Size = nil, "", "", nil, "", false, false, ""
	value := func(text string) policy.Source {
		return policy.Source{Layer: policy.LayerCommandLine, Text: text}
	}
	f := &req.Flags
	f.Display, f.AllowDesktopGUI, f.VirtualDisplay, f.WatchVNC, f.Clipboard = &policy.Value[policy.DisplayMode]{V: policy.DisplayNone, Source: value("host commands")}, nil, nil, nil, nil
	f.Publish, f.UnixSockets = nil, nil
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

// frozen is the configuration as the workspace was decided from, for such walls.
func (l *lender) frozen() *config.Loaded {
	out := *l.p.Loaded
	out.Layers = slices.Clone(l.p.Loaded.Layers)
	for i := range out.Layers {
		r := &out.Layers[i].Request
		r.AllowHosts, r.Publish, r.UnixSockets, r.HostCommands = nil, nil, nil, nil
	}
	out.Warnings = nil
	return &out
}
