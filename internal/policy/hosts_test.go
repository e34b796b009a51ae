package policy

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
)

func compiled(t testing.TB, allow, deny []string) *HostRules {
	t.Helper()
	r, err := CompileHosts(values(allow...), values(deny...))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func list(texts ...string) []string { return texts }

func TestDecideHost(t *testing.T) {
	tests := []struct {
		name        string
		allow, deny []string
		want        map[string]HostCode // by target; without a port 443
	}{
		{"sub-names", list("*.openai.com"), nil, map[string]HostCode{
			"api.openai.com": HostListed, "openai.com": HostNotListed, "evilopenai.com": HostNotListed, "api.openai.com.evil.example": HostNotListed}},
		{"both", list("**.openai.com"), nil, map[string]HostCode{
			"api.openai.com": HostListed, "openai.com": HostListed, "a.b.openai.com": HostListed, "evilopenai.com": HostNotListed}},
		{"deny over allow", list("**.example", "evil.example"), list("evil.example"), map[string]HostCode{
			"good.example": HostListed, "evil.example": HostDenied, "EVIL.example.": HostDenied, "evil.example:80": HostDenied, "x.evil.example": HostListed}},
		{"deny of sub-names", list("**.example"), list("*.evil.example"), map[string]HostCode{
			"evil.example": HostListed, "x.evil.example": HostDenied}},
		{"deny at a port", list("a.example"), list("a.example:22"), map[string]HostCode{
			"a.example": HostListed, "a.example:22": HostDenied}},
		{"special", list("example.com"), nil, map[string]HostCode{
			"127.0.0.1": HostSpecial, "localhost": HostSpecial, "x.localhost": HostSpecial, "LocalHost.": HostSpecial, "10.0.0.1": HostSpecial, "fe80::1%lo0": HostSpecial,
			"metadata.google.internal": HostSpecial, "169.254.169.254": HostSpecial, "::ffff:127.0.0.1": HostSpecial, "0.0.0.0": HostSpecial, "::": HostSpecial}},
		{"listed exactly", list("localhost", "10.0.0.1", "fe80::1"), nil, map[string]HostCode{
			"localhost": HostListed, "10.0.0.1": HostListed, "fe80::1": HostListed, "fe80::1%lo0": HostListed, "10.0.0.2": HostSpecial, "127.0.0.1": HostSpecial}},
		{"listed at a port", list("localhost:3000", "127.0.0.1:3000"), nil, map[string]HostCode{
			"localhost:3000": HostListed, "127.0.0.1:3000": HostListed, "localhost:3001": HostSpecial, "127.0.0.1:3001": HostSpecial}},
		{"a wildcard lists no special name", list("**.localhost", "**.google.internal"), nil, map[string]HostCode{
			"localhost": HostSpecial, "x.localhost": HostSpecial, "metadata.google.internal": HostSpecial, "x.google.internal": HostListed}},
		{"a rule with a zone", list("fe80::1%eth0"), nil, map[string]HostCode{
			"fe80::1%eth0": HostListed, "fe80::1%eth1": HostSpecial, "fe80::1": HostSpecial}},
		{"deny in every zone", list("fd00::1"), list("fd00::1"), map[string]HostCode{
			"fd00::1%eth0": HostDenied, "[fd00::1%eth0]:443": HostDenied, "[fd00::1%25eth0]:443": HostDenied}},
		{"deny in one zone", list("fd00::1"), list("fd00::1%eth0"), map[string]HostCode{
			"fd00::1%eth0": HostDenied, "fd00::1%eth1": HostListed}},
		{"empty", nil, nil, map[string]HostCode{"127.0.0.1": HostSpecial, "example.com": HostNotListed, "8.8.8.8": HostNotListed}},
		{"ports", list("a.example:80,8443", "b.example"), nil, map[string]HostCode{
			"a.example:80": HostListed, "a.example:8443": HostListed, "a.example": HostNotListed, "b.example:25": HostListed}},
		{"addresses", list("8.8.8.8:53", "1.1.1.0/24", "2606:4700::/32"), nil, map[string]HostCode{
			"8.8.8.8:53": HostListed, "8.8.8.8": HostNotListed, "1.1.1.1": HostListed, "1.1.2.1": HostNotListed, "2606:4700::1": HostListed,
			"::ffff:1.1.1.1": HostListed, "2607::1": HostNotListed}},
		{"a special range", list("10.0.0.0/8", "169.254.0.0/16"), nil, map[string]HostCode{
			"10.1.2.3": HostListed, "11.0.0.1": HostNotListed, "169.254.1.1": HostListed, "169.254.169.254": HostSpecial, "::ffff:10.1.2.3": HostListed}},
		{"a range with special parts", list("8.0.0.0/6"), nil, map[string]HostCode{"9.9.9.9": HostListed, "10.0.0.1": HostSpecial}},
		{"metadata by its address", list("169.254.169.254:80"), nil, map[string]HostCode{"169.254.169.254:80": HostListed, "169.254.169.254": HostSpecial}},
		{"deny of a range", list("1.1.1.1", "10.0.0.1"), list("0.0.0.0/0"), map[string]HostCode{"1.1.1.1": HostDenied, "10.0.0.1": HostDenied, "::ffff:1.1.1.1": HostDenied, "2606::1": HostNotListed}},
		{"NAT64 leads to IPv4", list("64:ff9b::/96"), list("9.9.9.9"), map[string]HostCode{
			"64:ff9b::808:808": HostListed, "64:ff9b::a00:1": HostSpecial, "64:ff9b::7f00:1": HostSpecial, "64:ff9b::a9fe:a9fe": HostSpecial, "64:ff9b::909:909": HostDenied}},
		{"6to4 and Teredo lead to IPv4", list("2002::/16", "2001::/32"), list("9.9.9.9"), map[string]HostCode{
			"2002:808:808::1": HostListed, "2002:a00:1::1": HostSpecial, "2002:909:909::1": HostDenied,
			"2001:0:808:808::f7f7:f7f7": HostListed, "2001:0:808:808::f5ff:fffe": HostSpecial, "2001:0:909:909::f7f7:f7f7": HostDenied, "2001:0:808:808::f6f6:f6f6": HostDenied}},
		{"other forms that lead to IPv4", list("64:ff9b:1::/48", "::ffff:0:0:0/96", "::/96"), list("9.9.9.9", "0.0.0.0/8"), map[string]HostCode{
			"64:ff9b:1::808:808": HostListed, "64:ff9b:1::a00:1": HostSpecial, "64:ff9b:1::909:909": HostDenied, "::ffff:0:8.8.8.8": HostListed, "::ffff:0:127.0.0.1": HostSpecial,
			"::8.8.8.8": HostListed, "::10.0.0.1": HostSpecial, "::9.9.9.9": HostDenied, "::1": HostListed}},
		{"NAT64 with the IPv4 range listed", list("64:ff9b::/96", "10.0.0.0/8"), nil, map[string]HostCode{"64:ff9b::a00:1": HostListed}},
		{"international", list("*.bücher.example", "xn--e1afmkfd.example"), list("straße.example"), map[string]HostCode{
			"a.xn--bcher-kva.example": HostListed, "a.BÜCHER.example": HostListed, "пример.example": HostListed, "xn--strae-oqa.example": HostDenied, "ＥＸＡＭＰＬＥ。com": HostNotListed}},
		{"malformed", list("**.example", "127.0.0.1"), nil, map[string]HostCode{
			"0x7f.1": HostMalformed, "0177.0.0.1": HostMalformed, "2130706433": HostMalformed, "127.1": HostMalformed, "127.0.0.1.": HostListed, "127.0.0.1..": HostMalformed,
			"%65.example": HostMalformed, "a%2eexample": HostMalformed, "a\x00.example": HostMalformed, "a b.example": HostMalformed, "": HostMalformed, "*.example": HostMalformed,
			"a.example/": HostMalformed, "u@a.example": HostMalformed, "a.example\n": HostMalformed, "１２７.0.0.1": HostMalformed, "①②⑦.0.0.1": HostMalformed, "a..example": HostMalformed,
			"::ffff:1.2.3.4%eth0": HostMalformed, "fe80::1%25": HostMalformed, "fe80::1%2525x": HostMalformed, "fe80::1%a/b": HostMalformed, "xn--.example": HostMalformed, "xn--a.example": HostMalformed,
			strings.Repeat("a", 64) + ".example": HostMalformed, strings.Repeat("a.", 130) + "example": HostMalformed}},
	}
	for _, tt := range tests {
		r := compiled(t, tt.allow, tt.deny)
		for text, want := range tt.want {
			if d := r.Decide(targetOf(text)); d.Code != want || d.Allowed() != (want == HostListed) {
				t.Errorf("%s: %q is %+v, want %s", tt.name, text, d, want)
			}
		}
	}
}

// targetOf reads a target as the tests write it, and leaves to the decision
// what cannot be read.
func targetOf(text string) Target {
	t, err := ParseTarget(text)
	if err != nil {
		t = Target{Host: text}
	}
	if t.Port == 0 {
		t.Port = 443
	}
	return t
}

func TestParseTarget(t *testing.T) {
	for text, want := range map[string]Target{
		"  ExAmPlE.CoM  ":     {Host: "example.com"},
		"example.com:1234":    {Host: "example.com", Port: 1234},
		"example.com.:443":    {Host: "example.com", Port: 443},
		"[::1]:443":           {Host: "::1", Port: 443},
		"2001:db8::1":         {Host: "2001:db8::1"},
		"2001:DB8:0::1":       {Host: "2001:db8::1"},
		"[::FFFF:1.2.3.4]:80": {Host: "1.2.3.4", Port: 80},
	} {
		if got, err := ParseTarget(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"a:80,443", "a:", "a:0", "[::1", "[a]:80", "::1:x", "[::1]x"} {
		if got, err := ParseTarget(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

// A name is what it resolves to: every address is judged by itself.
func TestAddress(t *testing.T) {
	tests := []struct {
		allow, deny []string
		target, at  string
		want        HostCode
		special     string
	}{
		{list("a.example"), nil, "a.example", "8.8.8.8", HostListed, ""},
		{list("a.example"), nil, "a.example", "127.0.0.1", HostSpecial, "loopback"},
		{list("a.example"), nil, "a.example", "10.0.0.1", HostSpecial, "private"},
		{list("a.example"), nil, "a.example", "::ffff:10.0.0.1", HostSpecial, "private"},
		{list("a.example"), nil, "a.example", "169.254.169.254", HostSpecial, "metadata"},
		{list("a.example"), nil, "a.example", "fd00:ec2::254", HostSpecial, "metadata"},
		{list("a.example"), nil, "a.example", "fe80::1%eth0", HostSpecial, "link-local"},
		{list("a.example", "10.0.0.0/8"), nil, "a.example", "10.0.0.1", HostListed, ""},
		{list("a.example:443", "10.0.0.1:443"), nil, "a.example:443", "10.0.0.1", HostListed, ""},
		{list("a.example:443", "10.0.0.1:80"), nil, "a.example:443", "10.0.0.1", HostSpecial, "private"},
		{list("a.example"), list("8.8.8.8"), "a.example", "8.8.8.8", HostDenied, ""},
		{list("a.example"), list("8.8.8.0/24:443"), "a.example:443", "8.8.8.8", HostDenied, ""},
		{list("a.example"), list("8.8.8.0/24:443"), "a.example:80", "8.8.8.8", HostListed, ""},
		{list("a.example"), list("8.8.8.8"), "a.example", "::ffff:8.8.8.8", HostDenied, ""},
		{list("a.example", "10.0.0.0/8"), nil, "a.example", "::ffff:10.0.0.1", HostListed, ""},
		{list("a.example"), list("8.8.8.8"), "a.example", "64:ff9b::808:808", HostDenied, ""},
		{list("localhost"), nil, "localhost", "127.0.0.1", HostListed, ""},
		{list("localhost"), nil, "localhost", "::1", HostListed, ""},
		{list("localhost"), nil, "localhost", "10.0.0.1", HostSpecial, "private"},
		{list("8.8.8.8"), nil, "8.8.8.8", "8.8.8.8", HostListed, ""},
		{list("b.example"), nil, "a.example", "8.8.8.8", HostNotListed, ""},
		{list("8.8.8.8"), nil, "a.example", "8.8.8.8", HostNotListed, ""},
	}
	for _, tt := range tests {
		d := compiled(t, tt.allow, tt.deny).Address(targetOf(tt.target), netip.MustParseAddr(tt.at))
		if d.Code != tt.want || d.Range != tt.special {
			t.Errorf("%v deny %v: %s at %s is %+v, want %s %s", tt.allow, tt.deny, tt.target, tt.at, d, tt.want, tt.special)
		}
	}
}

func TestSpecialRange(t *testing.T) {
	for text, want := range map[string]string{
		"0.0.0.0": "unspecified", "0.1.2.3": "unspecified", "10.255.255.255": "private", "100.64.0.1": "carrier-grade NAT", "100.127.255.255": "carrier-grade NAT",
		"100.128.0.0": "", "127.0.0.1": "loopback", "127.255.0.1": "loopback", "169.254.1.1": "link-local", "169.254.169.254": "metadata", "100.100.100.200": "metadata",
		"168.63.129.16": "metadata", "172.15.255.255": "", "172.16.0.1": "private", "172.31.255.255": "private", "172.32.0.0": "", "192.0.0.1": "protocol assignments", "192.0.0.192": "metadata",
		"192.0.2.1": "documentation", "192.88.99.1": "6to4", "192.168.1.1": "private", "198.17.255.255": "", "198.18.0.1": "benchmarking", "198.19.255.255": "benchmarking", "198.20.0.0": "",
		"198.51.100.7": "documentation", "203.0.113.7": "documentation", "223.255.255.255": "", "224.0.0.1": "multicast", "239.1.1.1": "multicast", "240.0.0.1": "reserved", "255.255.255.255": "broadcast",
		"8.8.8.8": "", "1.1.1.1": "",
		"::": "unspecified", "::1": "loopback", "::7f00:1": "IPv4-compatible", "::ffff:10.0.0.1": "private", "::ffff:8.8.8.8": "", "::ffff:0:10.0.0.1": "IPv4-translated",
		"64:ff9b::808:808": "NAT64", "64:ff9b:1::1": "NAT64", "100::1": "discard", "2001::1": "Teredo", "2001:2::1": "benchmarking", "2001:20::1": "protocol assignments",
		"2001:db8::1": "documentation", "2002:808:808::1": "6to4", "3fff::1": "documentation", "5f00::1": "segment routing", "fc00::1": "private", "fdff::1": "private",
		"fd00:ec2::254": "metadata", "fe80::1": "link-local", "fe80::1%eth0": "link-local", "fec0::1": "private", "ff02::1": "multicast", "4000::1": "reserved", "1::1": "reserved",
		"2001:200::1": "", "2606:4700::1": "", "2a00:1450::1": "",
	} {
		if got := SpecialRange(netip.MustParseAddr(text)); got != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	if SpecialRange(netip.Addr{}) == "" {
		t.Error("no address at all is public")
	}
}

func TestPlainHTTP(t *testing.T) {
	request := func(method, path string) Target { return Target{"a.example", 80, method, path} }
	tunnel := Target{Host: "a.example", Port: 80}
	tests := []struct {
		allow, deny []string
		t           Target
		want        HostCode
	}{
		{list("GET,HEAD,OPTIONS http://a.example/"), nil, request("GET", "/x"), HostListed},
		{list("GET,HEAD,OPTIONS http://a.example/"), nil, request("OPTIONS", "*"), HostListed},
		{list("GET,HEAD,OPTIONS http://a.example/"), nil, request("POST", "/x"), HostMethod},
		{list("GET,HEAD,OPTIONS http://a.example/"), nil, request("get", "/x"), HostMethod},
		{list("GET http://a.example/"), nil, tunnel, HostMethod},
		{list("GET http://a.example/"), nil, Target{"a.example", 443, "", ""}, HostNotListed},
		{list("GET http://a.example/"), nil, Target{"a.example", 8080, "GET", "/"}, HostNotListed},
		{list("http://a.example:8080/"), nil, Target{"a.example", 8080, "PUT", "/"}, HostListed},
		{list("a.example"), nil, request("DELETE", "/x/../y"), HostListed},
		{list("GET http://a.example/", "a.example"), nil, tunnel, HostListed},
		{list("http://a.example/pub"), nil, request("GET", "/pub"), HostListed},
		{list("http://a.example/pub"), nil, request("GET", "/pub?x=/../"), HostListed},
		{list("http://a.example/pub"), nil, request("GET", "/pub/a"), HostListed},
		{list("http://a.example/pub"), nil, request("GET", "/%70ub/a"), HostListed},
		{list("http://a.example/pub"), nil, request("GET", "/public"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/Pub"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/../secret"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/%2e%2e/secret"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/.%2E/secret"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/..;/secret"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/..%2fsecret"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", `/pub/..\secret`), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/%252e%252e/secret"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub//x"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "//pub/x"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", "/pub/%zz"), HostMethod},
		{list("http://a.example/pub"), nil, request("GET", ""), HostMethod},
		{list("a.example"), list("POST http://a.example/"), request("GET", "/"), HostListed},
		{list("a.example"), list("POST http://a.example/"), request("POST", "/"), HostDenied},
		{list("a.example"), list("POST http://a.example/"), request("post", "/"), HostDenied},
		{list("a.example"), list("POST http://a.example/"), tunnel, HostDenied}, // nobody could see a POST in it
		{list("a.example"), list("http://a.example/admin"), request("GET", "/pub"), HostListed},
		{list("a.example"), list("http://a.example/admin"), request("GET", "/Admin/x"), HostDenied},
		{list("a.example"), list("http://a.example/admin"), request("GET", "/pub/%2e%2e/admin"), HostDenied},
		{list("a.example"), list("http://a.example/admin"), request("GET", "//admin"), HostDenied},
	}
	for _, tt := range tests {
		if d := compiled(t, tt.allow, tt.deny).Decide(tt.t); d.Code != tt.want {
			t.Errorf("%v deny %v: %+v is %s, want %s", tt.allow, tt.deny, tt.t, d.Code, tt.want)
		}
	}
}

func TestPorts(t *testing.T) {
	r := compiled(t, list("a.example:443,22", "*.example:8080", "http://a.example/", "b.example", "localhost:1"), list("c.example", "d.example:80"))
	tests := []struct {
		name           string
		ports          []uint16
		any            bool
		resolve, asked bool
	}{
		{"A.example.", []uint16{22, 80, 443, 8080}, false, true, true},
		{"b.example", []uint16{8080}, true, true, true},
		{"c.example", []uint16{8080}, false, false, false},
		{"d.example", []uint16{8080}, false, true, true},
		{"other", nil, false, false, true},
		{"localhost", []uint16{1}, false, true, true},
		{"x.localhost", nil, false, false, false},
		{"metadata.google.internal", nil, false, false, false},
		{"8.8.8.8", nil, false, false, false},
		{"127.1", nil, false, false, false},
	}
	for _, tt := range tests {
		ports, any := r.Ports(tt.name)
		if !slices.Equal(ports, tt.ports) || any != tt.any || r.MayResolve(tt.name) != tt.resolve || r.MayAsk(tt.name) != tt.asked {
			t.Errorf("%s: %v %v, resolved %v, asked %v; want %+v", tt.name, ports, any, r.MayResolve(tt.name), r.MayAsk(tt.name), tt)
		}
	}
}

// What a person allows is one host at one port, and still no special address.
func TestAllowing(t *testing.T) {
	r, err := compiled(t, nil, list("8.8.8.8")).Allowing(Target{Host: "A.example", Port: 443}, Source{Text: "asked"})
	if err != nil {
		t.Fatal(err)
	}
	public, private := netip.MustParseAddr("1.1.1.1"), netip.MustParseAddr("10.0.0.1")
	asked := Target{Host: "a.example", Port: 443}
	if d := r.Address(asked, public); !d.Allowed() || d.Rule.Source.Text != "asked" {
		t.Errorf("%+v", d)
	}
	for want, d := range map[HostCode]HostDecision{
		HostSpecial:   r.Address(asked, private),
		HostDenied:    r.Address(asked, netip.MustParseAddr("8.8.8.8")),
		HostNotListed: r.Decide(Target{Host: "a.example", Port: 80}),
	} {
		if d.Code != want {
			t.Errorf("%+v, want %s", d, want)
		}
	}
	if r, err = r.Allowing(Target{Host: "2606:4700::1", Port: 53}, Source{}); err != nil || !r.Decide(Target{Host: "2606:4700::1", Port: 53}).Allowed() {
		t.Errorf("an address: %v", err)
	}
}

func TestHostPresets(t *testing.T) {
	r, err := CompileHosts(values("preset:npm", "preset:debian"), values("preset:pypi"))
	if err != nil {
		t.Fatal(err)
	}
	d := r.Decide(Target{Host: "registry.npmjs.org", Port: 443})
	if !d.Allowed() || d.Rule.V != "registry.npmjs.org:443" || !strings.Contains(d.Rule.Source.Text, "preset npm by preset:npm") {
		t.Errorf("%+v, rule %+v", d, d.Rule)
	}
	if d := r.Decide(Target{Host: "pypi.org", Port: 443}); d.Code != HostDenied {
		t.Errorf("%+v", d)
	}
	all := BuiltinHostPresets()
	if !slices.IsSortedFunc(all, func(a, b HostPreset) int { return strings.Compare(a.Name, b.Name) }) {
		t.Error("the presets are not sorted")
	}
	for _, p := range all {
		if p.Title == "" || len(p.Hosts) == 0 {
			t.Errorf("preset %q is not complete", p.Name)
		}
		for _, h := range p.Hosts {
			rule, err := parseHostRule(h, true)
			if err != nil || rule.String() != h || len(rule.ports) == 0 || rule.kind == addresses {
				t.Errorf("preset %s: %q: %v, %v; want a name with ports in its one spelling", p.Name, h, rule, err)
			}
		}
	}
}

func BenchmarkDecideHost(b *testing.B) {
	r := compiled(b, list("preset:npm", "preset:github", "preset:pypi", "preset:go", "**.example.com:443", "10.0.0.0/8"), list("evil.example"))
	for b.Loop() {
		if !r.Decide(Target{Host: "raw.githubusercontent.com", Port: 443}).Allowed() {
			b.Fatal("refused")
		}
	}
}
