package policy

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func ports(list ...uint16) []Value[uint16] {
	out := []Value[uint16]{}
	for _, p := range list {
		out = append(out, Value[uint16]{V: p, Source: Source{Text: "host_ports"}})
	}
	return out
}

func publishes(list ...Publish) []Value[Publish] {
	out := []Value[Publish]{}
	for _, p := range list {
		out = append(out, Value[Publish]{V: p, Source: Source{Text: "publish"}})
	}
	return out
}

func TestImpliedMode(t *testing.T) {
	hosts := func(k LayerKind) Layer { return asks(k, func(r *Request) { r.AllowHosts = values("a.example") }) }
	port := func(k LayerKind) Layer { return asks(k, func(r *Request) { r.HostPorts = ports(3000) }) }
	publish := func(k LayerKind) Layer {
		return asks(k, func(r *Request) { r.Publish = publishes(Publish{3000, 3000}) })
	}
	mode := func(k LayerKind, m NetworkMode) Layer { return asks(k, network(m)) }
	tests := []struct {
		name   string
		layers []Layer
		want   NetworkMode
	}{
		{"hosts on the command line", []Layer{hosts(LayerCommandLine)}, NetFiltered},
		{"hosts over the user's open", []Layer{hosts(LayerCommandLine), mode(LayerUser, NetOpen)}, NetFiltered},
		{"hosts of a preset", []Layer{hosts(LayerProfile)}, NetFiltered},
		{"hosts of the user's file", []Layer{hosts(LayerUser)}, NetClosed},
		{"hosts with a mode", []Layer{asks(LayerCommandLine, func(r *Request) { r.AllowHosts, r.Network = values("a.example"), val(NetLocal, "--network") })}, NetLocal},
		{"a port", []Layer{port(LayerCommandLine)}, NetLocal},
		{"a published port", []Layer{publish(LayerCommandLine)}, NetLocal},
		{"a port over the user's closed", []Layer{port(LayerCommandLine), mode(LayerUser, NetClosed)}, NetLocal},
		{"a port below filtered", []Layer{port(LayerCommandLine), mode(LayerUser, NetFiltered)}, NetFiltered},
		{"a port below an agent's default", []Layer{port(LayerCommandLine), mode(LayerDefault, NetOpen)}, NetOpen},
		{"a port of the user's file", []Layer{port(LayerUser)}, NetClosed},
		{"a port and hosts of a preset", []Layer{port(LayerCommandLine), hosts(LayerProfile)}, NetFiltered},
		{"a port of the user's closed file", []Layer{asks(LayerUser, func(r *Request) { r.Network, r.HostPorts = val(NetClosed, "n"), ports(1) })}, NetClosed},
		{"the project closes", []Layer{port(LayerCommandLine), mode(LayerProject, NetClosed)}, NetClosed},
	}
	for _, tt := range tests {
		if e := mustDecide(t, nil, tt.layers...); e.Network != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, e.Network, tt.want)
		}
	}
	closed := asks(LayerCommandLine, func(r *Request) { r.Network, r.HostPorts = val(NetClosed, "--network"), ports(1) })
	if _, err := Decide(testScope(), nil, []Layer{closed}); err == nil || !strings.Contains(err.Error(), "closed has no ports") {
		t.Errorf("closed with a port: %v", err)
	}
	e := mustDecide(t, nil, mode(LayerOperator, NetClosed), port(LayerCommandLine))
	if e.Network != NetClosed || len(e.Warnings) == 0 {
		t.Errorf("what the operator sets was passed: %s, %v", e.Network, e.Warnings)
	}
	if _, err := Decide(testScope(), &Ceiling{Network: val(NetClosed, "ceiling")}, []Layer{hosts(LayerCommandLine)}); len(Refusals(err)) == 0 {
		t.Errorf("hosts under a closed ceiling: %v", err)
	}
}

func TestHostLists(t *testing.T) {
	e := mustDecide(t, nil,
		asks(LayerUser, func(r *Request) {
			r.Network, r.AllowHosts, r.DenyHosts = val(NetFiltered, "n"), values("B.example", "preset:pypi", "b.example."), values("x.b.example")
		}),
		asks(LayerCommandLine, func(r *Request) { r.AllowHosts = values("b.example", "c.example") }),
		asks(LayerProject, func(r *Request) {
			r.DenyHosts, r.AllowHosts = values("c.example"), values("evil.example", "b.example:443")
		}))
	var got []string
	for _, v := range e.Hosts {
		got = append(got, v.V)
	}
	if want := list("b.example", "c.example", "pypi.org:443", "files.pythonhosted.org:443", "pypi.python.org:443"); !slices.Equal(got, want) {
		t.Errorf("hosts %v, want %v", got, want)
	}
	if s := e.Hosts[2].Source; s.Text != "preset pypi by preset:pypi" || s.Layer != LayerUser {
		t.Errorf("source of a preset's host: %+v", s)
	}
	for host, want := range map[string]HostCode{"b.example": HostListed, "c.example": HostDenied, "x.b.example": HostDenied, "pypi.org": HostListed, "evil.example": HostNotListed} {
		if d := e.HostRules().Decide(Target{Host: host, Port: 443}); d.Code != want {
			t.Errorf("%s: %+v, want %s", host, d, want)
		}
	}
	wantWarning(t, e, "ignored", "evil.example")
	if len(e.Warnings) != 1 {
		t.Errorf("warnings %v: what is listed anyway widens nothing", e.Warnings)
	}
	wantWarning(t, mustDecide(t, nil, asks(LayerUser, func(r *Request) { r.Network, r.DenyHosts = val(NetOpen, "n"), values("a.example") })), "open reaches denied hosts")
	for _, bad := range []string{"*", "preset:none", "127.1"} {
		if _, err := Decide(testScope(), nil, []Layer{asks(LayerUser, func(r *Request) { r.AllowHosts = values(bad) })}); err == nil {
			t.Errorf("%q: want an error", bad)
		}
	}
	scope := testScope()
	scope.HostPresets = []HostPreset{{Name: "own", Hosts: list("own.example:443")}}
	e, err := Decide(scope, nil, []Layer{asks(LayerUser, func(r *Request) { r.AllowHosts = values("preset:own") })})
	if err != nil || len(e.Hosts) != 1 || e.Hosts[0].V != "own.example:443" {
		t.Errorf("a preset of the scope: %+v, %v", e, err)
	}
}

// TestIdleHosts: what was typed and has no effect is said; what stands in a file
// is for the runs that it has an effect in.
func TestIdleHosts(t *testing.T) {
	for _, mode := range []NetworkMode{NetClosed, NetLocal} {
		idle := func(kind LayerKind) Layer {
			return asks(kind, func(r *Request) { r.Network, r.AllowHosts = val(mode, "n"), values("a.example") })
		}
		wantWarning(t, mustDecide(t, nil, idle(LayerCommandLine)), "network "+string(mode)+" reaches no host, a.example neither")
		if e := mustDecide(t, nil, idle(LayerUser)); len(e.Warnings) > 0 {
			t.Errorf("%s in a file: %v", mode, e.Warnings)
		}
	}
	ask := func(mode NetworkMode) Layer {
		return asks(LayerCommandLine, func(r *Request) { r.Network, r.OnUnknown = val(mode, "n"), val(UnknownAsk, "u") })
	}
	wantWarning(t, mustDecide(t, nil, ask(NetLocal)), "nobody is asked")
	if e := mustDecide(t, nil, ask(NetFiltered)); len(e.Warnings) > 0 {
		t.Errorf("filtered: %v", e.Warnings)
	}
}

func TestHostsUnderCeilings(t *testing.T) {
	c := &Ceiling{AllowHosts: values("**.example:443", "10.0.0.0/8"), DenyHosts: values("evil.example"), OnUnknown: val(UnknownAsk, "c")}
	filtered := func(hosts ...string) Layer {
		return asks(LayerUser, func(r *Request) {
			r.Network, r.AllowHosts, r.OnUnknown = val(NetFiltered, "n"), values(hosts...), val(UnknownAsk, "ask")
		})
	}
	for _, hosts := range [][]string{{"a.example:443"}, {"*.example:443"}, {"10.1.0.0/16"}, {"10.0.0.1:22"}} {
		if _, err := Decide(testScope(), c, []Layer{filtered(hosts...)}); err != nil {
			t.Errorf("%v: %v", hosts, err)
		}
	}
	for _, hosts := range [][]string{{"a.example"}, {"a.example:80"}, {"a.example:80,443"}, {"8.0.0.0/6"}, {"preset:npm"}} {
		if _, err := Decide(testScope(), c, []Layer{filtered(hosts...)}); len(Refusals(err)) == 0 {
			t.Errorf("%v: %v, want it refused", hosts, err)
		}
	}
	e, err := Decide(testScope(), c, []Layer{filtered("a.example:443")})
	if err != nil {
		t.Fatal(err)
	}
	if d := e.HostRules().Decide(Target{Host: "evil.example", Port: 443}); d.Code != HostDenied {
		t.Errorf("%+v: the ceiling denies it", d)
	}
	for host, want := range map[string]bool{"b.example": true, "b.other": false, "": false} {
		if e.MayAsk(Target{Host: host, Port: 443}) != want || e.MayAsk(Target{Host: host, Port: 80}) {
			t.Errorf("asked about %q: want %v, and never at port 80", host, want)
		}
	}
	if more, err := e.AddHosts(values("b.example:443"), values("a.example")); err != nil || !more.HostRules().Decide(Target{Host: "b.example", Port: 443}).Allowed() ||
		more.HostRules().Decide(Target{Host: "a.example", Port: 443}).Allowed() || !e.HostRules().Decide(Target{Host: "a.example", Port: 443}).Allowed() {
		t.Errorf("adding hosts: %v", err)
	}
	for _, host := range []string{"b.other", "*", "preset:none"} {
		v := *val(host, "allow")
		v.Source.Layer = LayerCommandLine
		if _, err := e.AddHosts([]Value[string]{v}, nil); err == nil {
			t.Errorf("%s was added past the ceiling", host)
		}
		v.Source.Layer = LayerDefault
		if _, err := e.AddHosts([]Value[string]{v}, nil); err == nil {
			t.Errorf("%s was added past the ceiling without a word", host)
		}
	}
	// A list of denied hosts is no use where nothing looks at hosts.
	if _, err := Decide(testScope(), &Ceiling{DenyHosts: values("a.example")}, []Layer{asks(LayerUser, network(NetOpen))}); len(Refusals(err)) == 0 {
		t.Errorf("open under a ceiling that denies hosts: %v", err)
	}
}

func TestLinks(t *testing.T) {
	give := func(k LayerKind) Layer {
		return asks(k, func(r *Request) {
			r.Network = val(NetLocal, "n")
			r.HostPorts, r.Publish, r.UnixSockets = ports(5432), publishes(Publish{3000, 8080}), values("~/x/agent.sock")
		})
	}
	e := mustDecide(t, nil, give(LayerUser), give(LayerCommandLine))
	if len(e.HostPorts) != 1 || len(e.Publish) != 1 || len(e.UnixSockets) != 1 || e.UnixSockets[0].V != "/home/u/x/agent.sock" || e.HostPorts[0].Source.Layer != LayerCommandLine {
		t.Errorf("%+v %+v %+v", e.HostPorts, e.Publish, e.UnixSockets)
	}
	e = mustDecide(t, nil, asks(LayerCommandLine, network(NetClosed)), give(LayerUser))
	if len(e.HostPorts)+len(e.Publish) > 0 || len(e.UnixSockets) != 1 || !strings.Contains(reasonOf(e, DimNetwork).Note, "none of the listed ports") {
		t.Errorf("closed over a file's ports: %+v %+v, %+v", e.HostPorts, e.Publish, reasonOf(e, DimNetwork))
	}
	e = mustDecide(t, nil, give(LayerProject))
	if len(e.HostPorts)+len(e.Publish)+len(e.UnixSockets) > 0 {
		t.Errorf("the project opened something: %+v", e)
	}
	for _, what := range []string{"port 5432", "publishing port 3000", "the socket ~/x/agent.sock"} {
		wantWarning(t, e, "ignored", what)
	}
	tests := []struct {
		name    string
		request Request
		want    string
	}{
		{"port 0", Request{HostPorts: ports(0)}, "0 is no port"},
		{"published at 0", Request{Publish: publishes(Publish{1, 0})}, "0 is no port"},
		{"one port twice", Request{Publish: publishes(Publish{1, 80}, Publish{2, 80})}, "is taken by"},
		{"both ways", Request{Publish: publishes(Publish{1, 80}), HostPorts: ports(1)}, "cannot be published"},
		{"a relative socket", Request{UnixSockets: values("x.sock")}, "not a clean absolute path"},
		{"the root", Request{UnixSockets: values("/")}, "not a clean absolute path"},
	}
	for _, tt := range tests {
		tt.request.Network = val(NetLocal, "n")
		if _, err := Decide(testScope(), nil, []Layer{{Kind: LayerUser, Request: tt.request}}); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestEngineSockets(t *testing.T) {
	for _, p := range []string{"/run/docker.sock", "/var/run/docker.sock", "/home/u/.docker/run/docker.sock", "/run/user/1000/podman/podman.sock", "/run/containerd/containerd.sock",
		"/run/libvirt/libvirt-sock", "/run/user/1000/bus", "/run/systemd/private", "/run/dbus/system_bus_socket", "/tmp/tmux-1000/default", "/var/lib/lxd/unix.socket", "/run/crio/crio.sock", "/run/buildkit/buildkitd.sock"} {
		for _, k := range []LayerKind{LayerOperator, LayerCommandLine, LayerProfile, LayerDefault} {
			if _, err := Decide(testScope(), nil, []Layer{asks(k, func(r *Request) { r.UnixSockets = values(p) })}); err == nil {
				t.Errorf("%s granted it to a %s", p, k)
			}
		}
		if e := mustDecide(t, nil, asks(LayerUser, func(r *Request) { r.UnixSockets = values(p) })); len(e.UnixSockets) != 1 {
			t.Errorf("%s: the user's own file grants it", p)
		}
	}
	for _, p := range []string{"/run/user/1000/keyring/ssh", "/tmp/ssh-x/agent.1", "/run/postgresql/.s.PGSQL.5432", "/home/u/docker-demo/app.sock"} {
		if EngineSocket(p) {
			t.Errorf("%s is no engine's", p)
		}
	}
	// A link to one is one.
	layers := []Layer{asks(LayerCommandLine, func(r *Request) { r.UnixSockets = values("~/a.sock") })}
	_, layers = Canonical(testScope(), nil, layers, func(p string) string {
		if p == "/home/u/a.sock" {
			return "/run/docker.sock"
		}
		return p
	})
	if _, err := Decide(testScope(), nil, layers); err == nil {
		t.Error("a link to an engine's socket was granted")
	}
}

func TestLinksUnderCeilings(t *testing.T) {
	give := func(k LayerKind) Layer {
		return asks(k, func(r *Request) {
			r.HostPorts, r.Publish, r.UnixSockets = ports(5432), publishes(Publish{3000, 3000}), values("/a.sock")
		})
	}
	tests := []struct {
		name    string
		ceiling Ceiling
		refused int
	}{
		{"none", Ceiling{}, 0},
		{"listed", Ceiling{HostPorts: ports(5432), Publish: publishes(Publish{3000, 3000}), UnixSockets: values("/a.sock")}, 0},
		{"others", Ceiling{HostPorts: ports(1), Publish: publishes(Publish{3000, 80}), UnixSockets: values("/b.sock")}, 3},
		{"empty lists", Ceiling{HostPorts: ports(), Publish: publishes(), UnixSockets: values()}, 3},
		{"a bounded mode", Ceiling{Network: val(NetLocal, "c")}, 2},
		{"bounded hosts", Ceiling{AllowHosts: values("a.example")}, 2},
		{"bounded mode, listed ports", Ceiling{Network: val(NetLocal, "c"), HostPorts: ports(5432), UnixSockets: values("/a.sock")}, 0},
	}
	for _, tt := range tests {
		_, err := Decide(testScope(), &tt.ceiling, []Layer{give(LayerUser)})
		if got := len(Refusals(err)); got != tt.refused {
			t.Errorf("%s: %d refused (%v), want %d", tt.name, got, err, tt.refused)
		}
	}
	e := mustDecide(t, &Ceiling{Network: val(NetLocal, "c")}, give(LayerDefault), asks(LayerDefault, network(NetOpen)))
	if len(e.HostPorts) > 0 || len(e.Publish) != 1 {
		t.Errorf("a default beyond the ceiling: %+v", e.HostPorts)
	}
	if note := reasonOf(e, DimNetwork).Note; !strings.Contains(note, "left out by the ceiling") || !strings.Contains(note, "5432, the socket /a.sock") || len(e.Warnings) > 0 {
		t.Errorf("note %q, warnings %v", note, e.Warnings)
	}
}

func TestOnUnknown(t *testing.T) {
	ask := func(k LayerKind, v OnUnknown) Layer { return asks(k, func(r *Request) { r.OnUnknown = val(v, "u") }) }
	tests := []struct {
		name    string
		ceiling *Ceiling
		layers  []Layer
		want    OnUnknown
	}{
		{"nobody", nil, nil, UnknownDeny},
		{"the user", nil, []Layer{ask(LayerUser, UnknownAsk)}, UnknownAsk},
		{"the project widens", nil, []Layer{ask(LayerProject, UnknownAsk)}, UnknownDeny},
		{"the project tightens", nil, []Layer{ask(LayerUser, UnknownAsk), ask(LayerProject, UnknownDeny)}, UnknownDeny},
		{"the ceiling", &Ceiling{OnUnknown: val(UnknownDeny, "c")}, []Layer{ask(LayerDefault, UnknownAsk)}, UnknownDeny},
	}
	for _, tt := range tests {
		if e := mustDecide(t, tt.ceiling, tt.layers...); e.OnUnknown != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, e.OnUnknown, tt.want)
		}
	}
	if _, err := Decide(testScope(), nil, []Layer{ask(LayerUser, "maybe")}); err == nil || !strings.Contains(err.Error(), "deny or ask") {
		t.Errorf("%v", err)
	}
}

// A project's file may be long, and must not make the start so.
func TestManyHosts(t *testing.T) {
	var long []Value[string]
	for i := range MaxRules - 10 {
		long = append(long, *val(fmt.Sprintf("h%d.example:443", i), "project"))
	}
	begin := time.Now()
	e := mustDecide(t, &Ceiling{AllowHosts: values("**.example")},
		asks(LayerUser, func(r *Request) { r.Network, r.AllowHosts = val(NetFiltered, "n"), values("**.example:443") }),
		asks(LayerProject, func(r *Request) { r.DenyHosts = long[:len(long)/2]; r.AllowHosts = long[len(long)/2:] }))
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("decided in %s", took)
	}
	if d := e.HostRules().Decide(Target{Host: "h7.example", Port: 443}); d.Code != HostDenied {
		t.Errorf("%+v", d)
	}
	_, err := Decide(testScope(), nil, []Layer{asks(LayerProject, func(r *Request) { r.DenyHosts, r.AllowHosts = long, long[:20] })})
	if err == nil || !strings.Contains(err.Error(), "are more than 65536") {
		t.Errorf("more than the bound: %v", err)
	}
}

// TestSectionOfAProject: hosts that the user lists for one project are reached there,
// where the file's list for all projects leaves the mode as it is.
func TestSectionOfAProject(t *testing.T) {
	for _, c := range []struct {
		below   NetworkMode
		section bool
		want    NetworkMode
	}{
		{NetClosed, true, NetFiltered}, {NetLocal, true, NetFiltered}, {NetFiltered, true, NetFiltered}, {NetOpen, true, NetOpen},
		{NetClosed, false, NetClosed}, {NetLocal, false, NetLocal},
	} {
		listed := asks(LayerUser, func(r *Request) { r.AllowHosts = values("a.example") })
		listed.Section = c.section
		e := mustDecide(t, nil, listed, asks(LayerUser, func(r *Request) { r.Network = val(c.below, "n") }))
		if e.Network != c.want || e.OnlyAPI {
			t.Errorf("%+v: %s", c, e.Network)
		}
	}
	listed := asks(LayerUser, func(r *Request) { r.AllowHosts = values("a.example") })
	listed.Section = true
	if e := mustDecide(t, nil, listed, asks(LayerUser, func(r *Request) { r.Network = val(NetAPI, "n") })); !e.OnlyAPI {
		t.Error("api became more by a host of the project")
	}
	closed := asks(LayerCommandLine, func(r *Request) { r.Network = val(NetClosed, "n") })
	if e := mustDecide(t, nil, listed, closed); e.Network != NetClosed {
		t.Errorf("a flag that closes: %s", e.Network)
	}
}
