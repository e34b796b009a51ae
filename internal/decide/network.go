package decide

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/egress"
	"carrel/internal/hostsockets"
	"carrel/internal/hostview"
	"carrel/internal/machine"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// proxyEnv is the environment of a filtered network. What the user names stays
// as the user has it. A machine has no other way out.
func (p *networked) proxyEnv() map[string]string {
	if !p.inMachine() {
		return p.proxyEnvAt(netip.AddrPortFrom(netip.MustParseAddr(sandbox.Gateway), sandbox.ProxyPort).String())
	}
	env := p.proxyEnvAt(machine.ProxyAddress)
	if env != nil {
		env["NODE_USE_ENV_PROXY"] = "1"
	}
	return env
}

func (p *networked) proxyEnvAt(address string) map[string]string {
	if p.Policy.Network != policy.NetFiltered {
		return nil
	}
	env := hostview.ProxyEnv(address)
	for _, v := range p.Policy.Env.Pass {
		if p.Getenv(v.V) != "" {
			delete(env, v.V)
		}
	}
	return env
}

// HostPorts are the ports of the host that are reached inside.
func (p *rules) HostPorts() []uint16 {
	var out []uint16
	for _, v := range p.Policy.HostPorts {
		out = append(out, v.V)
	}
	return out
}

// socketNames are the paths of granted sockets as somebody wrote them.
func socketNames(layers []policy.Layer) []string {
	var out []string
	for _, l := range layers {
		for _, v := range l.Request.UnixSockets {
			if filepath.IsAbs(v.V) {
				out = append(out, filepath.Clean(v.V))
			}
		}
	}
	return out
}

// ownLoopback says whether the workspace has a loopback of its own.
func (p *rules) ownLoopback() bool {
	return p.Policy.Network == policy.NetLocal || p.Policy.Network == policy.NetFiltered
}

// PublishedPorts are what is published; with the host's network servers are
// outside already, but for those in a machine.
func (p *rules) PublishedPorts() []api.Published {
	if !p.ownLoopback() && !p.inMachine() {
		return nil
	}
	var out []api.Published
	for _, v := range p.Policy.Publish {
		out = append(out, api.Published{Inside: v.V.Inside, Host: v.V.Host})
	}
	return out
}

// networkAnnouncements say what the network lets in and out beyond what its mode
// sounds like. scoped: abstract sockets of the host are out of reach.
func (p *networked) networkAnnouncements(scoped bool) []string {
	var out []string
	if p.Policy.Network == policy.NetOpen {
		what := "its services on localhost too"
		if !scoped {
			what = "its services on localhost and its abstract sockets too (this kernel cannot keep those apart)"
		}
		out = append(out, "network open: the host's network is shared, "+what+" ("+p.Reason(policy.DimNetwork).Source.String()+")")
		if v := p.Policy.Publish; len(v) > 0 && !p.inMachine() {
			out = append(out, fmt.Sprintf("port %d inside needs no publishing with network open: what listens inside does so on the host's own addresses (%s)", v[0].V.Inside, v[0].Source))
		}
	}
	if p.Policy.Network == policy.NetFiltered && p.Policy.OnUnknown == policy.UnknownAsk {
		out = append(out, "hosts that no rule names wait for your word: `carrel approvals --follow` in another terminal, and approve ("+p.Reason(policy.DimUnknown).Source.String()+")")
	}
	if p.Policy.Network == policy.NetFiltered {
		for _, v := range p.Policy.Hosts {
			if t, err := policy.ParseTarget(v.V); err == nil && loopback(t.Host) {
				out = append(out, fmt.Sprintf("%s is listed (%s), but programs ask no proxy for localhost, and inside that is the workspace's own: --host-port brings a port of the host in", v.V, v.Source))
			}
		}
	}
	if up := p.Upstream; up != nil && up.Scheme != "socks5" {
		out = append(out, fmt.Sprintf("network filtered goes through the host's proxy %s: it resolves the names, so where they lead is not checked here", up.Host))
	}
	for _, v := range p.PublishedPorts() {
		out = append(out, fmt.Sprintf("port %d inside is published: http://localhost:%d/, for your own programs only", v.Inside, v.Host))
	}
	for _, s := range p.Policy.UnixSockets {
		text := fmt.Sprintf("socket %q of the host is granted (%s)", s.V, s.Source)
		if policy.EngineSocket(s.V) {
			text += ": whoever reaches it can do all that you can"
		}
		out = append(out, text)
	}
	return out
}

func loopback(host string) bool {
	if a, err := netip.ParseAddr(host); err == nil {
		return a.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// networkHeld refuses what this mode cannot have.
func (p *rules) networkHeld() error {
	if p.ownLoopback() || len(p.Policy.HostPorts)+len(p.Policy.Publish) == 0 || p.Policy.Network == policy.NetOpen {
		return nil
	}
	var asked []string
	var source policy.Source
	for _, v := range p.Policy.HostPorts {
		asked, source = append(asked, fmt.Sprintf("the host's port %d", v.V)), v.Source
	}
	for _, v := range p.Policy.Publish {
		asked, source = append(asked, fmt.Sprintf("publishing port %d", v.V.Inside)), v.Source
	}
	slices.Sort(asked)
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: asked[0], Rule: "network " + string(p.Policy.Network), Source: p.Reason(policy.DimNetwork).Source.String(),
		Message: fmt.Sprintf("%s needs a loopback inside (%s), and network %s has none", strings.Join(asked, ", "), source, p.Policy.Network),
		Hint:    "--network local gives one that is shared by the workspace's programs alone"}
}

// sockets are those of programs of the host, and the ones that are granted.
func (p *networked) sockets() *hostsockets.Search {
	return &hostsockets.Search{Policy: p.Policy, Facts: p.Facts, Roots: p.grantedRoots(), Names: p.socketNames, UID: p.UID, GID: p.GID}
}

// visible says whether a rule shows a path of the host.
func (p *rules) visible(at string) bool { return hostsockets.Visible(p.Policy, at) }

// hostProxy is the host's own proxy, which a filtered network goes through. It
// resolves names itself, so that it is not seen here where they lead: under a
// ceiling that is refused.
func (p *networked) hostProxy() (*egress.Upstream, error) {
	if p.Policy.Network != policy.NetFiltered {
		return nil, nil
	}
	name, value := firstOf(p.Getenv, "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
	_, except := firstOf(p.Getenv, "no_proxy", "NO_PROXY")
	up, err := egress.ParseUpstream(value, except)
	if err != nil {
		return nil, &advice.Error{Err: fmt.Errorf("%s: %w", name, err), Hint: "unset " + name + " for a direct connection"}
	}
	if up == nil || up.Scheme == "socks5" {
		return up, nil
	}
	if by := anyCeiling(p.Loaded); by != "" {
		return nil, &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: name, Rule: "a ceiling's hosts are checked here", Source: by,
			Message: fmt.Sprintf("%s: the proxy %s resolves names by itself, so that their addresses cannot be held to the ceiling %s", name, up.Host, by),
			Hint:    "unset " + name + ", or use a socks5:// proxy, which is told the address that was checked"}
	}
	return up, nil
}

// firstOf gives the first variable outside that has a value.
func firstOf(getenv func(string) string, names ...string) (name, value string) {
	for _, name := range names {
		if v := getenv(name); v != "" {
			return name, v
		}
	}
	return names[0], ""
}

// anyCeiling names a ceiling that holds, "" for none.
func anyCeiling(loaded *config.Loaded) string {
	if loaded.Ceiling != nil {
		for _, f := range loaded.Files {
			if f.Present && f.Kind == config.KindCeiling {
				return f.Path
			}
		}
		return "of this run"
	}
	for _, l := range loaded.Layers {
		if l.Ceiling != nil {
			return l.Name
		}
	}
	return ""
}
