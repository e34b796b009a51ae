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
		return asks(LayerUser, func(r *Request) { r.Network, r.AllowHosts = val(m, "net"), values("*.a.example") })
	}
	tests := []struct {
		mode    NetworkMode
		host    string
		allowed bool
		why     string
	}{
		{NetOpen, "x.example", true, "every host"},
		{NetFiltered, "b.a.example:443", true, "*.a.example is listed"},
		{NetFiltered, "a.example", false, "does not list it"},
		{NetClosed, "b.a.example", false, "the network is closed (net)"},
	}
	for _, tt := range tests {
		x := Explain(mustDecide(t, nil, with(tt.mode)), Query{Host: tt.host}).Host
		if x.Allowed != tt.allowed || !strings.Contains(x.Why, tt.why) || len(x.Change) == 0 && !tt.allowed {
			t.Errorf("%s %s: %+v", tt.mode, tt.host, x)
		}
	}
}

func TestExplainWhole(t *testing.T) {
	e := mustDecide(t, nil, Defaults(Agent), asks(LayerProject, network(NetOpen)))
	x := Explain(e, Query{})
	if len(x.Reasons) != len(e.Reasons) || len(x.Warnings) != 1 || x.Path != nil || x.Host != nil {
		t.Errorf("%+v", x)
	}
}
