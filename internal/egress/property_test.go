package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"testing"

	"pgregory.net/rapid"

	"carrel/internal/policy"
)

// Whatever is asked for, whatever names resolve to, whatever the rules are and
// whatever a person says: a name is resolved once at most, and an address is
// dialled only if the rules let the target be reached there.
func TestOnlyGrantsAreDialled(t *testing.T) {
	hosts := []string{"a.example", "b.example", "A.Example.", "sub.a.example", "127.0.0.1", "10.0.0.1", "::1", "8.8.8.8", "::ffff:8.8.8.8", "2a00::1",
		"198.18.0.1", "198.18.1.0", "198.18.1.1", "0x7f.1", "localhost", "metadata.google.internal", "169.254.169.254", ""}
	texts := []string{"a.example", "**.example", "b.example:443", "8.8.8.8", "10.0.0.0/8", "127.0.0.1:80", "2a00::/16", "[::1]", "localhost", "GET http://a.example/p"}
	addrs := []netip.Addr{netip.MustParseAddr(addrA), netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("127.0.0.1"),
		netip.MustParseAddr("::1"), netip.MustParseAddr("2a00::1"), netip.MustParseAddr("::ffff:10.0.0.1"), netip.MustParseAddr("169.254.169.254"), netip.MustParseAddr("198.18.1.0")}
	rapid.Check(t, func(t *rapid.T) {
		list := func(label string) (out []policy.Value[string]) {
			for _, s := range rapid.SliceOfN(rapid.SampledFrom(texts), 0, 3).Draw(t, label) {
				out = append(out, policy.Value[string]{V: s})
			}
			return out
		}
		r, err := policy.CompileHosts(list("allow"), list("deny"))
		if err != nil {
			t.Fatal(err)
		}
		lookups := 0
		var dialled []netip.Addr
		c := Config{
			Rules: r,
			Resolve: func(context.Context, string) ([]netip.Addr, error) {
				lookups++
				return rapid.SliceOfN(rapid.SampledFrom(addrs), 0, 4).Draw(t, "answer"), nil
			},
			Dial: func(_ context.Context, a netip.AddrPort) (net.Conn, error) {
				dialled = append(dialled, a.Addr())
				return nil, errors.New("nobody there")
			},
		}
		says := rapid.SampledFrom([]Answer{No, Once, Always}).Draw(t, "person")
		asks := rapid.Bool().Draw(t, "asks")
		if asks {
			c.Ask = func(context.Context, policy.Target) Answer { return says }
		}
		e := New(c)
		defer e.Close()
		_, _ = e.pool.address("a.example")
		target := policy.Target{Host: rapid.SampledFrom(hosts).Draw(t, "host"), Port: rapid.SampledFrom([]uint16{80, 443}).Draw(t, "port")}
		if rapid.Bool().Draw(t, "plain") {
			target.Method, target.Path = "GET", rapid.SampledFrom([]string{"/p", "/q"}).Draw(t, "path")
		}
		g, err := e.decide(context.Background(), target)
		if err != nil {
			return
		}
		_, _ = e.reach(context.Background(), g, false)
		rules := r
		if asks && says != No {
			if rules, err = r.Allowing(g.target, asked); err != nil {
				t.Fatal(err)
			}
		}
		for _, a := range dialled {
			if d := rules.Address(g.target, a); !d.Allowed() || Pool.Contains(a) {
				t.Fatalf("%+v was dialled at %v: %+v", target, a, d)
			}
		}
		if lookups > 1 {
			t.Fatalf("%d lookups", lookups)
		}
	})
}
