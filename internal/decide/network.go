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
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// proxyVariables name the proxy for programs that know one, in the spellings
// that they look for. SOCKS is named by none: a program whose library has no
// SOCKS ends at its start when it reads such a value (httpx of Python, and with
// it the clients of most model providers). Java and Node (NODE_USE_ENV_PROXY, in
// version 22) print a line at each start when they are given one, and need none,
// nor does ssh: see [sandbox.Pool].
var proxyVariables = []string{
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "FTP_PROXY", "WS_PROXY", "WSS_PROXY",
	"http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "ws_proxy", "wss_proxy",
	"npm_config_proxy", "npm_config_https_proxy", "YARN_HTTP_PROXY", "YARN_HTTPS_PROXY",
	"BUNDLE_HTTP_PROXY", "BUNDLE_HTTPS_PROXY", "PIP_PROXY", "CARGO_HTTP_PROXY",
}

// noProxy is what is reached without the proxy.
const noProxy = "localhost,127.0.0.1,::1"

// proxyEnv is the environment of a filtered network. What the user names stays
// as the user has it.
func (p *Decision) proxyEnv() map[string]string {
	if p.Policy.Network != policy.NetFiltered {
		return nil
	}
	env := map[string]string{"NO_PROXY": noProxy, "no_proxy": noProxy, "ELECTRON_GET_USE_PROXY": "true"}
	url := "http://" + netip.AddrPortFrom(netip.MustParseAddr(sandbox.Gateway), sandbox.ProxyPort).String()
	for _, name := range proxyVariables {
		env[name] = url
	}
	for _, v := range p.Policy.Env.Pass {
		if p.Getenv(v.V) != "" {
			delete(env, v.V)
		}
	}
	return env
}

// HostPorts are the ports of the host that are reached inside.
func (p *Decision) HostPorts() []uint16 {
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
func (p *Decision) ownLoopback() bool {
	return p.Policy.Network == policy.NetLocal || p.Policy.Network == policy.NetFiltered
}

// PublishedPorts are what is published; with the host's network servers are
// outside already.
func (p *Decision) PublishedPorts() []api.Published {
	if !p.ownLoopback() {
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
func (p *Decision) networkAnnouncements(scoped bool) []string {
	var out []string
	if p.Policy.Network == policy.NetOpen {
		what := "its services on localhost too"
		if !scoped {
			what = "its services on localhost and its abstract sockets too (this kernel cannot keep those apart)"
		}
		out = append(out, "network open: the host's network is shared, "+what+" ("+p.Reason(policy.DimNetwork).Source.String()+")")
		if v := p.Policy.Publish; len(v) > 0 {
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
func (p *Decision) networkHeld() error {
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
func (p *Decision) sockets() *hostsockets.Search {
	return &hostsockets.Search{Policy: p.Policy, Facts: p.Facts, Roots: p.grantedRoots(), Names: p.socketNames, UID: p.UID, GID: p.GID}
}

// visible says whether a rule shows a path of the host.
func (p *Decision) visible(at string) bool { return hostsockets.Visible(p.Policy, at) }

// hostProxy is the host's own proxy, which a filtered network goes through. It
// resolves names itself, so that it is not seen here where they lead: under a
// ceiling that is refused.
func (p *Decision) hostProxy() (*egress.Upstream, error) {
	if p.Policy.Network != policy.NetFiltered {
		return nil, nil
	}
	name, value := p.firstOf("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY")
	_, except := p.firstOf("no_proxy", "NO_PROXY")
	up, err := egress.ParseUpstream(value, except)
	if err != nil {
		return nil, &advice.Error{Err: fmt.Errorf("%s: %w", name, err), Hint: "unset " + name + " for a direct connection"}
	}
	if up == nil || up.Scheme == "socks5" {
		return up, nil
	}
	if by := p.anyCeiling(); by != "" {
		return nil, &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: name, Rule: "a ceiling's hosts are checked here", Source: by,
			Message: fmt.Sprintf("%s: the proxy %s resolves names by itself, so that their addresses cannot be held to the ceiling %s", name, up.Host, by),
			Hint:    "unset " + name + ", or use a socks5:// proxy, which is told the address that was checked"}
	}
	return up, nil
}

// firstOf gives the first variable outside that has a value.
func (p *Decision) firstOf(names ...string) (name, value string) {
	for _, name := range names {
		if v := p.Getenv(name); v != "" {
			return name, v
		}
	}
	return names[0], ""
}

// anyCeiling names a ceiling that holds, "" for none.
func (p *Decision) anyCeiling() string {
	if p.Loaded.Ceiling != nil {
		for _, f := range p.Loaded.Files {
			if f.Present && f.Kind == config.KindCeiling {
				return f.Path
			}
		}
		return "of this run"
	}
	for _, l := range p.Loaded.Layers {
		if l.Ceiling != nil {
			return l.Name
		}
	}
	return ""
}
