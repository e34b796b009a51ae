package sandbox

import (
	"net/netip"
	"slices"

	"carrel/internal/policy"
)

// Addresses that a filtered workspace has on its loopback interface. 198.18.0.0/15
// is set aside for measurements (RFC 2544): no host of the internet has one of
// them, so nothing that a program may mean is hidden by it.
const (
	Pool      = "198.18.0.0/15" // each address but the next stands for one name
	Gateway   = "198.18.0.1"    // ours
	ProxyPort = 3128
	NamePort  = 53
)

// Places of the egress in the listeners of a filtered plan; host ports follow.
const (
	ListenProxy = iota
	ListenNamesUDP
	ListenNamesTCP
)

// PortListeners gives the places of the listeners for the host's ports, by port.
func PortListeners(p *Plan) map[uint16][]int {
	out := make(map[uint16][]int)
	for i, l := range p.Listeners {
		if at, err := netip.ParseAddrPort(l.Address); err == nil && at.Addr().IsLoopback() {
			out[at.Port()] = append(out[at.Port()], i)
		}
	}
	return out
}

// listeners are what the supervisor has to accept on.
func (c *compiler) listeners() []Listener {
	out := c.networkListeners()
	for _, path := range c.in.Sockets {
		out = append(out, Listener{Network: "unix", Address: path})
	}
	for _, at := range c.in.Listen {
		out = append(out, Listener{Network: "tcp", Address: at})
	}
	return out
}

func (c *compiler) networkListeners() []Listener {
	var out []Listener
	if c.p.Network != policy.NetFiltered && c.p.Network != policy.NetLocal {
		return nil
	}
	at := func(address string, port uint16) string {
		return netip.AddrPortFrom(netip.MustParseAddr(address), port).String()
	}
	if c.p.Network == policy.NetFiltered {
		out = append(out,
			Listener{Network: "tcp", Address: at(Gateway, ProxyPort)},
			Listener{Network: "udp", Address: at(Gateway, NamePort)},
			Listener{Network: "tcp", Address: at(Gateway, NamePort)})
	}
	for _, port := range slices.Compact(slices.Sorted(slices.Values(c.in.HostPorts))) {
		out = append(out,
			Listener{Network: "tcp", Address: at("127.0.0.1", port)},
			Listener{Network: "tcp", Address: at("::1", port), Optional: true})
	}
	return out
}
