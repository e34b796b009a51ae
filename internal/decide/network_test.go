package decide

import (
	"slices"
	"strings"
	"testing"

	"carrel/internal/egress"
	"carrel/internal/policy"
)

// TestNetworkAnnouncements: each grant that is wider than its mode sounds is said.
func TestNetworkAnnouncements(t *testing.T) {
	for name, c := range map[string]struct {
		policy   policy.Effective
		upstream *egress.Upstream
		scoped   bool
		want     []string
	}{
		"closed":                   {policy: policy.Effective{Network: policy.NetClosed}},
		"filtered":                 {policy: policy.Effective{Network: policy.NetFiltered, OnUnknown: policy.UnknownDeny}},
		"open":                     {policy: policy.Effective{Network: policy.NetOpen}, scoped: true, want: []string{"its services on localhost too"}},
		"open, an older kernel":    {policy: policy.Effective{Network: policy.NetOpen}, want: []string{"localhost and its abstract sockets too"}},
		"open has its own ports":   {policy: policy.Effective{Network: policy.NetOpen, Publish: publishes(3000, 3000)}, scoped: true, want: []string{"network open", "port 3000 inside needs no publishing"}},
		"published":                {policy: policy.Effective{Network: policy.NetLocal, Publish: publishes(3000, 8080)}, want: []string{"port 3000 inside is published: http://localhost:8080/"}},
		"asked":                    {policy: policy.Effective{Network: policy.NetFiltered, OnUnknown: policy.UnknownAsk}, want: []string{"wait for your word"}},
		"the host's proxy":         {policy: policy.Effective{Network: policy.NetFiltered}, upstream: &egress.Upstream{Scheme: "http", Host: "p.example", Password: "hunter2"}, want: []string{"goes through the host's proxy p.example"}},
		"one that is told all":     {policy: policy.Effective{Network: policy.NetFiltered}, upstream: &egress.Upstream{Scheme: "socks5", Host: "p.example"}},
		"the host's own, listed":   {policy: policy.Effective{Network: policy.NetFiltered, Hosts: listed("127.0.0.1:8000", "[::1]", "example.com", "127.0.0.0/8")}, want: []string{"127.0.0.1:8000 is listed", "[::1] is listed"}},
		"a socket":                 {policy: policy.Effective{Network: policy.NetClosed, UnixSockets: []policy.Value[string]{{V: "/run/a.sock"}}}, want: []string{`socket "/run/a.sock" of the host is granted`}},
		"a socket that can do all": {policy: policy.Effective{Network: policy.NetClosed, UnixSockets: []policy.Value[string]{{V: "/run/docker.sock"}}}, want: []string{"can do all that you can"}},
	} {
		p := networked{Upstream: c.upstream}
		p.Policy = &c.policy
		got := p.networkAnnouncements(c.scoped)
		if len(got) != len(c.want) || slices.ContainsFunc(c.want, func(w string) bool { return !strings.Contains(strings.Join(got, "\n"), w) }) || strings.Contains(strings.Join(got, ""), "hunter2") {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func listed(hosts ...string) (out []policy.Value[string]) {
	for _, h := range hosts {
		out = append(out, policy.Value[string]{V: h})
	}
	return out
}

func publishes(inside, host uint16) []policy.Value[policy.Publish] {
	return []policy.Value[policy.Publish]{{V: policy.Publish{Inside: inside, Host: host}}}
}

// TestPortsNeedALoopback: in a closed network there is nothing that a port could
// be of; with the host's, ports are the host's.
func TestPortsNeedALoopback(t *testing.T) {
	for mode, refused := range map[policy.NetworkMode]bool{policy.NetClosed: true, policy.NetLocal: false, policy.NetFiltered: false, policy.NetOpen: false} {
		for _, e := range []policy.Effective{{Publish: publishes(1, 2)}, {HostPorts: []policy.Value[uint16]{{V: 1}}}} {
			e.Network = mode
			if err := (&rules{Policy: &e}).networkHeld(); (err != nil) != refused {
				t.Errorf("%s: %v", mode, err)
			}
		}
	}
	closed := policy.Effective{Network: policy.NetClosed}
	if err := (&rules{Policy: &closed}).networkHeld(); err != nil {
		t.Errorf("nothing asked for: %v", err)
	}
}
