package network

import (
	"net/netip"
	"testing"

	"carrel/internal/egress"
	"carrel/internal/inside"
	"carrel/internal/sandbox"
)

// TestAddressesAgree: rooms that do not know one another mean the same addresses.
func TestAddressesAgree(t *testing.T) {
	proxy := netip.AddrPortFrom(egress.Own, egress.ProxyPort)
	if egress.Pool.String() != sandbox.Pool || egress.Own.String() != sandbox.Gateway || egress.ProxyPort != sandbox.ProxyPort || egress.DNSPort != sandbox.NamePort || inside.Proxy != proxy.String() {
		t.Error("pool, gateway, proxy or name server differ")
	}
}
