package policy

import (
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// Few names, ports and addresses, so that rules and targets meet.
var (
	genRuleHost = rapid.SampledFrom([]string{"a.x", "*.x", "**.x", "*.a.x", "b.a.x", "localhost", "metadata.google.internal",
		"127.0.0.1", "10.0.0.1", "10.0.0.0/8", "8.0.0.0/6", "8.8.8.8", "169.254.169.254", "169.254.0.0/16", "fe80::1", "fe80::1%e0", "64:ff9b::/96", "fc00::/7", "2002::/16"})
	genRulePorts = rapid.SampledFrom([]string{"", "", "80", "443", "80,443"})
	genWebRule   = rapid.SampledFrom([]string{"GET http://a.x/", "http://a.x/p", "GET,HEAD http://*.x/p/q", "POST http://10.0.0.1/", "http://8.8.8.8:443/p"})
	genHost      = rapid.SampledFrom([]string{"a.x", "x", "A.X.", "b.a.x", "c.x", "localhost", "metadata.google.internal", "127.0.0.1", "10.0.0.1", "10.1.1.1", "9.9.9.9", "8.8.8.8",
		"169.254.169.254", "169.254.1.1", "fe80::1", "fe80::1%e0", "64:ff9b::a00:1", "64:ff9b::808:808", "fd00::1", "2002:a00:1::1", "::ffff:10.0.0.1", "127.1", ""})
	genAddress = rapid.Custom(func(t *rapid.T) netip.Addr {
		for {
			text := genHost.Draw(t, "address")
			if a, err := netip.ParseAddr(text); err == nil {
				return a
			}
			if rapid.Bool().Draw(t, "any") {
				return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "bytes")))
			}
		}
	})
)

func genHostRule(t *rapid.T) string {
	if rapid.IntRange(0, 3).Draw(t, "web") == 0 {
		return genWebRule.Draw(t, "rule")
	}
	host, ports := genRuleHost.Draw(t, "host"), genRulePorts.Draw(t, "ports")
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if ports != "" {
		host += ":" + ports
	}
	return host
}

func genRules(t *rapid.T, label string) []string {
	return rapid.SliceOfN(rapid.Custom(genHostRule), 0, 5).Draw(t, label)
}

func genTarget(t *rapid.T) Target {
	target := Target{Host: genHost.Draw(t, "host"), Port: rapid.SampledFrom([]uint16{80, 443, 22}).Draw(t, "port")}
	if rapid.Bool().Draw(t, "plain") {
		target.Method = rapid.SampledFrom([]string{"GET", "POST", "get"}).Draw(t, "method")
		target.Path = rapid.SampledFrom([]string{"/", "/p", "/p/q", "/p/../s", "/P", ""}).Draw(t, "path")
	}
	return target
}

// Another deny rule never lets anything through.
func TestDenyRuleIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allow, deny := genRules(t, "allow"), genRules(t, "deny")
		less := compileOr(t, allow, deny)
		more := compileOr(t, allow, append(deny, genHostRule(t)))
		target, a := genTarget(t), genAddress.Draw(t, "at")
		if !less.Decide(target).Allowed() && more.Decide(target).Allowed() {
			t.Fatalf("%+v: a deny rule let it through", target)
		}
		if !less.Address(target, a).Allowed() && more.Address(target, a).Allowed() {
			t.Fatalf("%+v at %s: a deny rule let it through", target, a)
		}
	})
}

// Another allow rule never takes anything away, and what is denied stays so.
func TestAllowRuleIsMonotonic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allow, deny := genRules(t, "allow"), genRules(t, "deny")
		less, more := compileOr(t, allow, deny), compileOr(t, append(allow, genHostRule(t)), deny)
		target, a := genTarget(t), genAddress.Draw(t, "at")
		before, after := less.Address(target, a), more.Address(target, a)
		if before.Allowed() && !after.Allowed() {
			t.Fatalf("%+v at %s: %+v became %+v by an allow rule", target, a, before, after)
		}
		if d := less.Decide(target); d.Code == HostDenied && more.Decide(target).Code != HostDenied {
			t.Fatalf("%+v: an allow rule lifted %+v", target, d)
		}
	})
}

// A special address is reached only where a rule lists it: by itself, or by a
// range that has nothing else in it; the loopback also by its name.
func TestSpecialIsListed(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		allow := genRules(t, "allow")
		r, target, a := compileOr(t, allow, genRules(t, "deny")), genTarget(t), genAddress.Draw(t, "at")
		special := SpecialRange(a)
		if special == "" || !r.Address(target, a).Allowed() {
			return
		}
		for _, text := range allow {
			rule, err := parseHostRule(text, true)
			if err != nil {
				t.Fatal(err)
			}
			byName := rule.kind == exactName && specialName(rule.name) == special
			byItself := rule.kind == addresses && rule.prefix.Contains(a.Unmap().WithZone("")) && (rule.prefix.IsSingleIP() || rule.prefix.Addr() != netip.MustParseAddr("8.0.0.0"))
			if byName || byItself {
				return
			}
		}
		t.Fatalf("%+v reached %s (%s) by %v", target, a, special, allow)
	})
}

// A rule that covers another lets through all that the other does.
func TestCoversAgreesWithDecide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		wide, narrow := genHostRule(t), genHostRule(t)
		w, err := parseHostRule(wide, true)
		if err != nil {
			t.Fatal(err)
		}
		n, err := parseHostRule(narrow, true)
		if err != nil {
			t.Fatal(err)
		}
		target, a := genTarget(t), genAddress.Draw(t, "at")
		if !w.covers(n) {
			return
		}
		if literal(target.Host).IsValid() {
			a = literal(target.Host)
		}
		by, of := compileOr(t, list(wide), nil), compileOr(t, list(narrow), nil)
		if of.Address(target, a).Allowed() && !by.Address(target, a).Allowed() {
			t.Fatalf("%s covers %s, but %+v at %s is %+v", wide, narrow, target, a, by.Address(target, a))
		}
	})
}

// Nothing is listed that a ceiling's hosts would not let through.
func TestCeilingBoundsHosts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bound := rapid.SliceOfN(rapid.Custom(genHostRule), 1, 4).Draw(t, "ceiling")
		layers := []Layer{
			asks(LayerDefault, func(r *Request) { r.AllowHosts = values(genRules(t, "default")...) }),
			asks(LayerProject, func(r *Request) {
				r.AllowHosts, r.DenyHosts = values(genRules(t, "project")...), values(genRules(t, "deny")...)
			}),
		}
		e := decideOr(t, &Ceiling{AllowHosts: values(bound...)}, layers)
		target := genTarget(t)
		if e.HostRules().Decide(target).Allowed() && !compileOr(t, bound, nil).Decide(target).Allowed() {
			t.Fatalf("%+v is let through by %v under %v", target, e.Hosts, bound)
		}
	})
}

// One host has one spelling, and it is decided as every other spelling of it.
func TestNormalHostIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		host := rapid.OneOf(genHost, rapid.StringMatching(`[a-zA-Z0-9._\-:%\[\]üß。１xX]{0,20}`), rapid.String()).Draw(t, "host")
		checkNormal(t, host)
	})
}

func checkNormal(t interface{ Fatalf(string, ...any) }, host string) {
	name, err := NormalHost(host)
	if err != nil {
		if name != "" {
			t.Fatalf("%q: %q with the error %v", host, name, err)
		}
		return
	}
	again, err := NormalHost(name)
	if err != nil || again != name {
		t.Fatalf("%q is %q, and that is %q, %v", host, name, again, err)
	}
	if a, err := netip.ParseAddr(name); err == nil {
		if a != a.Unmap() || a.String() != name {
			t.Fatalf("%q is %q, not the one spelling of an address", host, name)
		}
		return
	}
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" || strings.HasSuffix(name, ".") || strings.HasPrefix(name, ".") || len(name) > 253 {
		t.Fatalf("%q is %q, which is no name", host, name)
	}
}

func compileOr(t *rapid.T, allow, deny []string) *HostRules {
	r, err := CompileHosts(values(allow...), values(deny...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func FuzzNormalHost(f *testing.F) {
	for _, s := range []string{"example.com", "EXAMPLE.com.", "[::1]", "fe80::1%25eth0", "0x7f.1", "bücher.example", "１２７.0.0.1", "xn--bcher-kva", "::ffff:1.2.3.4", "a\x00", "%61", "ⓔ.x", "a。b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) { checkNormal(t, s) })
}

// FuzzHostRule holds that a rule that is taken says itself again, and that no
// text makes a rule for every host.
func FuzzHostRule(f *testing.F) {
	for _, s := range []string{"a.example:80,443", "*.x", "**.x", "10.0.0.0/8", "[2001:db8::/32]:443", "GET,HEAD http://a.example:8080/p", "http://[::1]/", "*", "::/0", "preset:npm", "1.2.3.4/0", "::ffff:0:0/96"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		rule, err := parseHostRule(s, true)
		if err != nil {
			return
		}
		again, err := parseHostRule(rule.String(), true)
		if err != nil || again.String() != rule.String() {
			t.Fatalf("%q is %q, and that is %v, %v", s, rule, again, err)
		}
		r, err := CompileHosts([]Value[string]{{V: s}}, nil)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		seen := 0
		for _, host := range []string{"one.test", "other.invalid", "9.9.9.9", "200.1.1.1", "2a00::1", "2606::1"} {
			if r.Decide(Target{Host: host, Port: 443, Method: "GET", Path: "/"}).Allowed() {
				seen++
			}
		}
		if seen > 1 && rule.kind != addresses || seen > 3 {
			t.Fatalf("%q lets %d of unlike hosts through", s, seen)
		}
	})
}

func FuzzTarget(f *testing.F) {
	for _, s := range []string{"a.example:80", "[::1]:443", "/p/../q", "%2e%2e", "x"} {
		f.Add(s, s)
	}
	r := compiled(f, list("a.example", "http://b.example/pub"), list("http://a.example/admin"))
	f.Fuzz(func(t *testing.T, host, path string) {
		if target, err := ParseTarget(host); err == nil {
			if _, err := NormalHost(target.Host); err != nil {
				t.Fatalf("%q has the host %q: %v", host, target.Host, err)
			}
		}
		d := r.Decide(Target{Host: "b.example", Port: 80, Method: "GET", Path: path})
		if d.Allowed() && !strings.HasPrefix(decoded(path), "/pub") {
			t.Fatalf("%q is let through as below /pub", path)
		}
	})
}
