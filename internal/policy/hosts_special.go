package policy

import (
	"encoding/binary"
	"net/netip"
	"strings"
)

// SpecialRange names the range that is not the public internet and holds the
// address, "" for a public address. An IPv4 address in IPv6 form is judged as
// IPv4.
func SpecialRange(a netip.Addr) string {
	a = a.Unmap().WithZone("")
	if !a.IsValid() {
		return "invalid"
	}
	for _, m := range metadataAddresses {
		if a == m {
			return rangeMetadata
		}
	}
	for _, s := range specialRanges {
		if s.prefix.Contains(a) {
			return s.name
		}
	}
	if a.Is6() && !globalUnicast.Contains(a) {
		return "reserved"
	}
	return ""
}

const (
	rangeLoopback = "loopback"
	rangeMetadata = "metadata"
)

// pool is what names get as addresses inside: no rule can list it.
var pool = netip.MustParsePrefix("198.18.0.0/15")

// globalUnicast is the one part of IPv6 that the public internet uses.
var globalUnicast = netip.MustParsePrefix("2000::/3")

// metadataAddresses hand credentials of the machine to whoever asks. A range
// never lists them, only the address itself.
var metadataAddresses = []netip.Addr{
	netip.MustParseAddr("169.254.169.254"), // most clouds
	netip.MustParseAddr("169.254.169.253"), // AWS: resolver
	netip.MustParseAddr("169.254.170.2"),   // AWS: credentials of a task
	netip.MustParseAddr("169.254.170.23"),  // AWS: credentials of a pod
	netip.MustParseAddr("100.100.100.200"), // Alibaba
	netip.MustParseAddr("192.0.0.192"),     // Oracle
	netip.MustParseAddr("168.63.129.16"),   // Azure, a public address by its number
	netip.MustParseAddr("fd00:ec2::254"),   // AWS
	netip.MustParseAddr("fd00:ec2::23"),    // AWS: credentials of a pod
	netip.MustParseAddr("fd20:ce::254"),    // Google
}

type specialRange struct {
	prefix netip.Prefix
	name   string
}

// specialRanges are those of the IANA special-purpose registries, narrower
// ones before what they lie in.
var specialRanges = []specialRange{
	{netip.MustParsePrefix("0.0.0.0/8"), "unspecified"},
	{netip.MustParsePrefix("10.0.0.0/8"), "private"},
	{netip.MustParsePrefix("100.64.0.0/10"), "carrier-grade NAT"},
	{netip.MustParsePrefix("127.0.0.0/8"), rangeLoopback},
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},
	{netip.MustParsePrefix("172.16.0.0/12"), "private"},
	{netip.MustParsePrefix("192.0.0.0/24"), "protocol assignments"},
	{netip.MustParsePrefix("192.0.2.0/24"), "documentation"},
	{netip.MustParsePrefix("192.88.99.0/24"), "6to4"},
	{netip.MustParsePrefix("192.168.0.0/16"), "private"},
	{pool, "benchmarking"},
	{netip.MustParsePrefix("198.51.100.0/24"), "documentation"},
	{netip.MustParsePrefix("203.0.113.0/24"), "documentation"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},

	{netip.MustParsePrefix("::/128"), "unspecified"},
	{netip.MustParsePrefix("::1/128"), rangeLoopback},
	{compatible, "IPv4-compatible"},
	{translated, "IPv4-translated"},
	{nat64, "NAT64"},
	{nat64Local, "NAT64"},
	{netip.MustParsePrefix("100::/64"), "discard"},
	{netip.MustParsePrefix("100:0:0:1::/64"), "discard"},
	{teredo, "Teredo"},
	{netip.MustParsePrefix("2001:2::/48"), "benchmarking"},
	{netip.MustParsePrefix("2001::/23"), "protocol assignments"},
	{netip.MustParsePrefix("2001:db8::/32"), "documentation"},
	{sixToFour, "6to4"},
	{netip.MustParsePrefix("3fff::/20"), "documentation"},
	{netip.MustParsePrefix("5f00::/16"), "segment routing"},
	{netip.MustParsePrefix("fc00::/7"), "private"},
	{netip.MustParsePrefix("fe80::/10"), "link-local"},
	{netip.MustParsePrefix("fec0::/10"), "private"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

var (
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	teredo     = netip.MustParsePrefix("2001::/32")
	sixToFour  = netip.MustParsePrefix("2002::/16")
)

// embedded returns the IPv4 addresses that traffic to an IPv6 address comes out
// at, where its form says so.
func embedded(a netip.Addr) []netip.Addr {
	if !a.Is6() {
		return nil
	}
	b := a.As16()
	v4 := func(at int, flip uint32) netip.Addr {
		var out [4]byte
		binary.BigEndian.PutUint32(out[:], binary.BigEndian.Uint32(b[at:])^flip)
		return netip.AddrFrom4(out)
	}
	a = a.WithZone("")
	switch {
	case a == netip.IPv6Unspecified() || a == netip.IPv6Loopback():
		return nil
	case nat64.Contains(a), nat64Local.Contains(a), translated.Contains(a), compatible.Contains(a):
		return []netip.Addr{v4(12, 0)}
	case sixToFour.Contains(a):
		return []netip.Addr{v4(2, 0)}
	case teredo.Contains(a):
		return []netip.Addr{v4(4, 0), v4(12, 1<<32-1)}
	}
	return nil
}

// specialName names the range that a name stands for whatever it resolves to,
// "" for an ordinary name.
func specialName(name string) string {
	switch name {
	case "localhost", "localhost.localdomain", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback":
		return rangeLoopback
	case "metadata.google.internal", "metadata.goog", "instance-data.ec2.internal":
		return rangeMetadata
	}
	if strings.HasSuffix(name, ".localhost") {
		return rangeLoopback
	}
	return ""
}

// whollySpecial tells whether all of a prefix lies in one special range.
func whollySpecial(p netip.Prefix) bool {
	if p.IsSingleIP() {
		return SpecialRange(p.Addr()) != ""
	}
	for _, s := range specialRanges {
		if s.prefix.Bits() <= p.Bits() && s.prefix.Contains(p.Addr()) {
			return true
		}
	}
	return p.Addr().Is6() && p.Bits() >= globalUnicast.Bits() && !globalUnicast.Contains(p.Addr())
}
