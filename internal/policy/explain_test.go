package policy

import (
	"slices"
	"strings"
	"testing"
)

func TestExplainPath(t *testing.T) {
	file := func(k LayerKind, r FileRequest) Layer {
		r.Source = Source{File: "/h/config.yaml", Line: 7, Column: 3, Text: "deny"}
		return layer(k, r)
	}
	def := layer(LayerDefault, rule(":project", Write), glob(".env", Deny), glob(".git", Read), rule("/ro", Read))
	tests := []struct {
		path   string
		layers []Layer
		why    string
		change string
	}{
		{"/data/x", nil, "is not visible", "--read /data/x"},
		{"/data/a b'c", nil, "is not visible", `--read '/data/a b'\''c'`},
		{"/data/\x1b[0m", nil, `"/data/\x1b[0m" is not visible`, `--read $'/data/\x1b[0m'`},
		{"/data/\xff", nil, "is not visible", "!!binary L2RhdGEv/w=="},
		{"/w/.env", nil, "cannot be read or changed: deny /w/**/.env", "--read /w/.env"},
		{"/w/.git/config", nil, "can be read but not changed: protect /w/**/.git", "--write /w/.git/config"},
		{"/ro/a", nil, "can be read but not changed: read /ro", "--write /ro/a"},
		{"/w/a", nil, "can be read and changed: write /w", "--protect /w/a"},
		{"/w/k/a", []Layer{file(LayerUser, rule("/w/k", Deny))}, "deny /w/k (/h/config.yaml:7:3: deny)", "remove the entry at /h/config.yaml:7:3: deny"},
		{"/w/k/a", []Layer{layer(LayerCommandLine, FileRequest{Place: "k", Glob: true, Access: Deny, Source: Source{Text: "--deny k"}})}, "deny", "leave out --deny k"},
	}
	for _, tt := range tests {
		x := Explain(mustDecide(t, nil, append(tt.layers, def)...), Query{Path: tt.path}).Path
		if !strings.Contains(x.Why, tt.why) || !strings.Contains(strings.Join(x.Change, "\n"), tt.change) {
			t.Errorf("%q: why %q, change %q; want %q, %q", tt.path, x.Why, x.Change, tt.why, tt.change)
		}
	}
	x := Explain(mustDecide(t, mounts("/w ro"), def), Query{Path: "/w/a"}).Path
	if !strings.Contains(x.Why, "limited by the ceiling (/c:1)") || !slices.ContainsFunc(x.Change, func(s string) bool { return strings.HasPrefix(s, "widen the ceiling") }) {
		t.Errorf("under a ceiling: %+v", x)
	}
}

func TestExplainHost(t *testing.T) {
	with := func(m NetworkMode) Layer {
		return asks(LayerUser, func(r *Request) {
			r.Network, r.AllowHosts, r.DenyHosts = val(m, "net"), values("*.a.example", "b.example:22,8080", "GET http://c.example/", "10.0.0.1"), values("x.a.example")
			r.HostPorts = ports(5432)
		})
	}
	tests := []struct {
		mode    NetworkMode
		host    string
		allowed bool
		why     string
		change  string
	}{
		{NetOpen, "x.example", true, "every host", "--network closed"},
		{NetFiltered, "b.a.example:443", true, "*.a.example is listed", "--deny-host b.a.example:443"},
		{NetFiltered, "B.A.example.", true, "must be public", "--deny-host b.a.example"},
		{NetFiltered, "b.example", true, "at port 22, 8080", ""},
		{NetFiltered, "b.example:443", false, "does not list it", "--allow-host b.example:443"},
		{NetFiltered, "a.example", false, "does not list it", "allow_hosts: [a.example]}"},
		{NetFiltered, "x.a.example", false, "x.a.example is denied (x.a.example)", "leave out x.a.example"},
		{NetFiltered, "c.example:80", false, "plain HTTP only", "--allow-host c.example:80"},
		{NetFiltered, "10.0.0.2:80", false, "public internet (private)", "--allow-host 10.0.0.2:80"},
		{NetFiltered, "10.0.0.1:80", true, "10.0.0.1 is listed", ""},
		{NetFiltered, "localhost:5432", true, "port 5432 of the host", ""},
		{NetFiltered, "[::1]:5432", true, "port 5432 of the host", ""},
		{NetFiltered, "localhost:80", false, "(loopback)", "--host-port 80"},
		{NetFiltered, "metadata.google.internal", false, "(metadata)", "--allow-host metadata.google.internal"},
		{NetFiltered, "127.1", false, "odd spelling", "NAME:PORT"},
		{NetFiltered, "198.18.0.1", false, "(benchmarking)", "--network open"},
		{NetLocal, "localhost:5432", true, "port 5432 of the host", ""},
		{NetLocal, "b.a.example", false, "loopback of its own", "mode: filtered, allow_hosts: [b.a.example]"},
		{NetClosed, "b.a.example", false, "the network is closed (net)", "--allow-host b.a.example"},
	}
	for _, tt := range tests {
		x := Explain(mustDecide(t, nil, with(tt.mode)), Query{Host: tt.host}).Host
		if x.Allowed != tt.allowed || !strings.Contains(x.Why, tt.why) || !strings.Contains(strings.Join(x.Change, "\n"), tt.change) || len(x.Change) == 0 && !tt.allowed {
			t.Errorf("%s %s: %+v", tt.mode, tt.host, x)
		}
	}
	asked := asks(LayerUser, func(r *Request) { r.Network, r.OnUnknown = val(NetFiltered, "net"), val(UnknownAsk, "ask") })
	if x := Explain(mustDecide(t, nil, asked), Query{Host: "a.example"}).Host; x.Allowed || !strings.Contains(x.Why, "a person is asked") {
		t.Errorf("on_unknown ask: %+v", x)
	}
	c := &Ceiling{AllowHosts: values("b.example")}
	if x := Explain(mustDecide(t, c, asked), Query{Host: "a.example"}).Host; strings.Contains(x.Why, "asked") || len(x.Change) != 1 || !strings.Contains(x.Change[0], "widen the ceiling at") {
		t.Errorf("under a ceiling: %+v", x)
	}
}

// A policy that nobody decided reaches nothing.
func TestExplainHostOfNothing(t *testing.T) {
	e := &Effective{Network: NetFiltered}
	if x := Explain(e, Query{Host: "a.example"}).Host; x.Allowed || e.HostRules().MayResolve("a.example") {
		t.Errorf("%+v", x)
	}
}

func TestExplainNoHost(t *testing.T) {
	if x := ExplainHost(&Effective{Network: NetFiltered}, ""); x.Allowed || x.Code != HostMalformed || len(x.Change) != 1 {
		t.Errorf("of an empty host: %+v", x)
	}
}

func TestExplainWhole(t *testing.T) {
	e := mustDecide(t, nil, Defaults(Agent), asks(LayerProject, network(NetOpen)))
	x := Explain(e, Query{})
	if len(x.Reasons) != len(e.Reasons) || len(x.Warnings) != 1 || x.Path != nil || x.Host != nil {
		t.Errorf("%+v", x)
	}
}
