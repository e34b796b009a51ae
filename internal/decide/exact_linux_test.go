package decide

import (
	"errors"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/hostexec"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// exactly decides the low-level form with the given rules.
func (d *savedHome) exactly(form Exact, flags policy.Request) (*Decision, error) {
	return Prepare(Request{Argv: []string{"true"}, Cwd: d.project, Environ: d.environ, Exact: &form, Flags: flags})
}

// TestExactRules: the low-level form holds each rule as it is written, or refuses it.
func TestExactRules(t *testing.T) {
	d := mountHome(t)
	if err := os.Symlink(d.home+"/notes", d.project+"/link"); err != nil {
		t.Fatal(err)
	}
	f := func(a policy.Access, place string) policy.FileRequest {
		return policy.FileRequest{Place: strings.ReplaceAll(place, "~", d.home), Access: a, Glob: strings.Contains(place, "*"),
			Source: policy.Source{Layer: policy.LayerCommandLine, Text: "rules"}}
	}
	optional := func(r policy.FileRequest) policy.FileRequest { r.Optional = true; return r }
	const r, w, x = policy.Read, policy.Write, policy.Deny
	for name, c := range map[string]struct {
		form    Exact
		history policy.HistoryMode
		files   []policy.FileRequest
		want    string
	}{
		"a grant":                      {Exact{}, "on", []policy.FileRequest{f(w, "~/notes")}, ""},
		"what is not there":            {Exact{}, "on", []policy.FileRequest{f(w, "~/none")}, "does not exist or cannot be seen"},
		"the same, for reading":        {Exact{}, "on", []policy.FileRequest{f(r, "~/none")}, "does not exist or cannot be seen"},
		"optional":                     {Exact{}, "on", []policy.FileRequest{optional(f(w, "~/none")), optional(f(r, "~/none"))}, ""},
		"denied, nobody could make it": {Exact{}, "on", []policy.FileRequest{f(x, "~/none")}, ""},
		"denied, it could be made": {Exact{}, "off", []policy.FileRequest{f(w, "~/notes"), f(x, "~/notes/new")},
			"does not exist or cannot be seen"},
		"denied, and decided later": {Exact{}, "on", []policy.FileRequest{f(w, "~/notes"), f(x, "~/notes/new")}, ""},
		"a pattern, it could be made": {Exact{}, "off", []policy.FileRequest{f(w, "~/notes"), f(x, "~/notes/*.key")},
			"would match could be made inside"},
		"a pattern, and decided later": {Exact{}, "on", []policy.FileRequest{f(w, "~/notes"), f(x, "~/notes/*.key")}, ""},
		"the workspace's own, denied":  {Exact{}, "on", []policy.FileRequest{f(x, "/proc")}, "is the workspace's own, which every command has"},
		"the workspace's own, granted": {Exact{}, "on", []policy.FileRequest{f(r, "/proc")}, "the machine's would show what is outside"},
		"a private and the machine's":  {Exact{Tmp: true}, "on", []policy.FileRequest{f(r, "/tmp")}, "is private by another rule"},
		"over a link that is exchanged": {Exact{}, "on", []policy.FileRequest{f(w, d.project), f(r, d.project+"/link")},
			"which the policy lets be changed"},
		"over one that is kept": {
			Exact{}, "on", []policy.FileRequest{f(w, d.project), f(r, d.project+"/li*"), f(r, d.project+"/link")}, "",
		},
		"over one that nothing keeps": {
			Exact{}, "off", []policy.FileRequest{f(w, d.project), f(r, d.project+"/li*"), f(r, d.project+"/link")},
			"which the policy lets be changed",
		},
		"over a link that stays": {Exact{}, "on", []policy.FileRequest{f(r, d.project+"/link")}, ""},
	} {
		p, err := d.exactly(c.form, policy.Request{Files: c.files, History: said(policy.LayerCommandLine, c.history)})
		var denied *api.Denial
		if (err != nil) != (c.want != "") || !strings.Contains(told(err), c.want) || err != nil && (!errors.As(err, &denied) ||
			denied.Code != api.CodeNotHeld || denied.Hint == "") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (p.Agent != nil || len(p.Guarded.Rules) > 0 || !p.AsIs()) {
			t.Errorf("%s: more than the policy: %+v", name, p.Guarded.Rules)
		}
	}
}

// TestExactAlone: nothing counts but the policy: no configuration, no variable, no home.
func TestExactAlone(t *testing.T) {
	d := mountHome(t)
	d.configured("network: open\nread: [~/notes]")
	p, err := d.exactly(Exact{System: true}, policy.Request{EnvPass: listed("A"), EnvSet: map[string]policy.Value[string]{"B": {V: "b"},
		"PATH": {V: "/usr/bin"}}})
	if err != nil {
		t.Fatal(err)
	}
	if p.Policy.Network != policy.NetClosed || p.Policy.Lookup(d.home+"/notes").Access == policy.Read ||
		p.Policy.Lookup("/etc/passwd").Access == policy.Write {
		t.Errorf("network %s", p.Policy.Network)
	}
	p.Request.Environ = append(p.Request.Environ, "A=a", "C=c")
	if got := p.Environ(); !slices.Equal(got, []string{"A=a", "B=b", "CARREL=1", "PATH=/usr/bin"}) {
		t.Errorf("%q", got)
	}
	if got, _ := p.LookPath("env"); got != "/usr/bin/env" {
		t.Errorf("the policy's PATH gives %q", got)
	}
}

// commanded is a decision with host commands.
func commanded(list ...config.HostCommand) *Decision {
	p := decidedBy(policy.Effective{Network: policy.NetLocal})
	p.Loaded.Commands = list
	for _, c := range list {
		p.Policy.HostCommands = append(p.Policy.HostCommands, policy.Value[string]{V: c.Name, Source: c.Source})
	}
	return p
}

// TestHostCommands: which commands of the host are there follows from the policy and the walls.
func TestHostCommands(t *testing.T) {
	build, gh := config.HostCommand{Name: "make"}, config.HostCommand{Name: "gh"}
	for name, c := range map[string]struct {
		change func(*Decision)
		want   string
	}{
		"both":                   {func(*Decision) {}, "make, gh"},
		"a ceiling left one out": {func(p *Decision) { p.Policy.HostCommands = p.Policy.HostCommands[1:] }, "gh"},
		"without walls":          {func(p *Decision) { p.Policy.Backend = policy.BackendNone }, ""},
		"landlock":               {func(p *Decision) { p.engine.name = sandbox.EngineLandlock }, ""},
		"walls of host commands": {func(p *Decision) { p.lender = &lender{} }, ""},
	} {
		p := commanded(build, gh)
		c.change(p)
		if got := HostNames(p.HostCommands()); got != c.want || p.ServesHost() != (c.want != "") || (p.hostEnv() != nil) != (c.want != "") {
			t.Errorf("%s: %q, served %v", name, got, p.ServesHost())
		}
	}
	p := commanded(build)
	env, again := p.hostEnv(), p.hostEnv()
	if len(env["WM_RPC_TOKEN"]) != hostexec.TokenLen || env["WM_RPC_TOKEN"] != again["WM_RPC_TOKEN"] || env["WM_RPC_HOST"] != "" {
		t.Errorf("%q, %q", env, again)
	}
	if other := commanded(build).hostEnv(); other["WM_RPC_TOKEN"] == env["WM_RPC_TOKEN"] {
		t.Error("two workspaces have one token")
	}
	var in sandbox.Input
	if p.shims(&in); len(in.Symlinks) != 1 || in.Symlinks[0].Target != hostexec.ShimDir+"/make" {
		t.Errorf("%+v", in.Symlinks)
	}
}

// TestHostProtocolAddress: over TCP it is spoken in a network of the workspace's own alone.
func TestHostProtocolAddress(t *testing.T) {
	for name, c := range map[string]struct {
		at    string
		mode  policy.NetworkMode
		port  uint16
		want  string
		tells bool
	}{
		"loopback":             {"127.0.0.1", policy.NetLocal, 0, "", true},
		"version 6":            {"::1", policy.NetFiltered, 0, "", true},
		"the host's network":   {"127.0.0.1", policy.NetOpen, 0, "", false},
		"none":                 {"127.0.0.1", policy.NetClosed, 0, "", false},
		"another machine's":    {"10.0.0.1", policy.NetLocal, 0, "10.0.0.1 is not an address of this machine's own", true},
		"a host port is there": {"127.0.0.1", policy.NetLocal, rpcPort, "host port 7870 is where the protocol would be", true},
	} {
		p := commanded()
		p.Loaded.Settings.RPCHost, p.Policy.Network = said(policy.LayerUser, c.at), c.mode
		if c.port != 0 {
			p.Policy.HostPorts = []policy.Value[uint16]{{V: c.port}}
		}
		if err := p.HostHeld(); (err != nil) != (c.want != "") || !strings.Contains(told(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		at := netip.AddrPortFrom(netip.MustParseAddr(c.at), rpcPort).String()
		if p.SpeaksHost(at) != c.tells || !p.SpeaksHost(hostexec.Socket) || p.SpeaksHost("127.0.0.1:1") ||
			(p.hostEnv()["WM_RPC_PORT"] == "7870") != c.tells {
			t.Errorf("%s: speaks at %s: %v", name, at, p.SpeaksHost(at))
		}
	}
}

// TestHostCommandsHeld: what would not hold is refused, with what to do.
func TestHostCommandsHeld(t *testing.T) {
	open := said(policy.LayerUser, true)
	secret := config.HostCommand{Name: "deploy", SecretEnv: []string{"KEY"}}
	for name, c := range map[string]struct {
		command config.HostCommand
		open    *policy.Value[bool]
		ceiling *policy.Ceiling
		want    string
	}{
		"one":             {config.HostCommand{Name: "make"}, nil, nil, ""},
		"a helper's name": {config.HostCommand{Name: inside.LinkHelpers()[0]}, nil, nil, "is carrel's own inside"},
		"our own":         {config.HostCommand{Name: "carrel-x"}, nil, nil, "is carrel's own inside"},
		"gh":              {config.HostCommand{Name: "gh"}, nil, nil, ""},
		"with a secret":   {secret, nil, nil, ""},
		"credentials off": {secret, nil, &policy.Ceiling{Credentials: said(policy.LayerCeiling, policy.CredentialsOff)},
			"those of the host command deploy"},
		"credentials off, and none": {config.HostCommand{Name: "make"}, nil, &policy.Ceiling{Credentials: said(policy.LayerCeiling,
			policy.CredentialsOff)}, ""},
		"without walls":                {config.HostCommand{Name: "make"}, open, nil, ""},
		"without walls, and a ceiling": {config.HostCommand{Name: "make"}, open, &policy.Ceiling{}, "is refused under a ceiling"},
	} {
		p := commanded(c.command)
		p.Loaded.Settings.UnsandboxedHostExec, p.Loaded.Ceiling = c.open, c.ceiling
		if err := p.HostHeld(); (err != nil) != (c.want != "") || !strings.Contains(told(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if said := strings.Join(p.hostAnnouncements(), ""); strings.Contains(said,
			"HOST COMMANDS RUN WITHOUT WALLS: "+c.command.Name) != (c.open != nil) {
			t.Errorf("%s: %q", name, said)
		}
	}
	p := commanded(config.HostCommand{Name: "make"})
	p.engine.name = sandbox.EngineLandlock
	if got := p.hostAnnouncements(); len(got) != 1 || !strings.Contains(got[0], "no host commands with the engine landlock") {
		t.Errorf("%q", got)
	}
}

// TestLentRequest: walls for host commands never have more network than the workspace, and
// nothing of its display, ports, sockets or agent.
func TestLentRequest(t *testing.T) {
	hosts := listed("a.example")
	command := func(network string, hosts ...string) *config.HostCommand {
		return &config.HostCommand{Name: "c", Network: network, Hosts: listed(hosts...), SecretFiles: []string{"~/key"}}
	}
	for name, c := range map[string]struct {
		mode    policy.NetworkMode
		command *config.HostCommand
		want    policy.NetworkMode
		hosts   string
	}{
		"as the workspace":          {policy.NetFiltered, nil, policy.NetFiltered, "a.example"},
		"open":                      {policy.NetOpen, nil, policy.NetOpen, ""},
		"closed for one":            {policy.NetOpen, command(config.HostNetworkClosed), policy.NetClosed, ""},
		"its own hosts":             {policy.NetFiltered, command("", "b.example"), policy.NetFiltered, "b.example"},
		"its own hosts, of all":     {policy.NetOpen, command("", "b.example"), policy.NetFiltered, "b.example"},
		"its own hosts, and closed": {policy.NetClosed, command("", "b.example"), policy.NetClosed, ""},
		"its own hosts, and local":  {policy.NetLocal, command("", "b.example"), policy.NetLocal, ""},
	} {
		p := decidedBy(policy.Effective{Network: c.mode, Hosts: hosts, DenyHosts: listed("no.example"), Home: policy.HomeFull,
			Display: policy.DisplayHost})
		p.Request = Request{Argv: []string{"x"}, Agent: "claude", Profile: "p", Preset: "q", Size: "1x1", Stays: true, PromptsOff: true,
			Flags: policy.Request{Publish: publishes(1, 1), UnixSockets: listed("/s"), HostPorts: []policy.Value[uint16]{{V: 1}},
				Files: []policy.FileRequest{{Place: "/x"}}}}
		req := (&lender{p: p, command: c.command}).borrowed()
		var names []string
		for _, v := range req.Flags.AllowHosts {
			names = append(names, v.V)
		}
		if req.Flags.Network.V != c.want || strings.Join(names, " ") != c.hosts ||
			(req.Flags.HostPorts == nil) != (c.want == policy.NetClosed) || len(req.Flags.DenyHosts) != 1 {
			t.Errorf("%s: %s %q, ports %v", name, req.Flags.Network.V, names, req.Flags.HostPorts)
		}
		if req.Argv != nil || req.Agent+req.Profile+req.Preset+req.Size != "" || req.Stays || req.PromptsOff || req.Flags.Publish != nil ||
			req.Flags.UnixSockets != nil ||
			req.Flags.Display.V != policy.DisplayNone || req.Flags.Home.V != policy.HomeToolchains {
			t.Errorf("%s: %+v", name, req)
		}
		if got := len(req.Flags.Files); got != map[bool]int{true: 2, false: 1}[c.command != nil] || len(p.Request.Flags.Files) != 1 {
			t.Errorf("%s: %d rules, and the workspace has %d", name, got, len(p.Request.Flags.Files))
		}
	}
	p := decidedBy(policy.Effective{})
	p.Loaded.Layers = []policy.Layer{{Request: policy.Request{AllowHosts: hosts, Network: said(policy.LayerUser, policy.NetOpen),
		HostCommands: listed("make"), Isolation: said(policy.LayerProject, policy.IsolationVM)}}}
	p.Loaded.Ceiling = &policy.Ceiling{Isolation: said(policy.LayerCeiling, policy.IsolationVM)}
	frozen := (&lender{p: p}).frozen()
	if f := frozen.Layers[0].Request; f.AllowHosts != nil || f.HostCommands != nil || f.Network == nil || f.Isolation != nil ||
		frozen.Ceiling.Isolation != nil {
		t.Errorf("%+v", f)
	}
	if p.Loaded.Layers[0].Request.AllowHosts == nil {
		t.Error("the workspace's own configuration was changed")
	}
}

// TestLentTmp: a private /tmp is handed out once for each walls that host commands may need,
// and taken only where nothing else lies in it.
func TestLentTmp(t *testing.T) {
	tmp := sandbox.Mount{Kind: sandbox.MountTmpfs, Target: "/tmp"}
	alone := config.HostCommand{Name: "b", Network: config.HostNetworkClosed}
	shared := config.HostCommand{Name: "a", Network: config.HostNetworkWorkspace}
	many := slices.Repeat([]config.HostCommand{alone}, 2*maxTmp)
	for name, c := range map[string]struct {
		commands []config.HostCommand
		engine   sandbox.Engine
		want     uint64
	}{
		"none":             {nil, "", 0},
		"one":              {[]config.HostCommand{shared}, "", 1 + spareTmp},
		"one alone":        {[]config.HostCommand{shared, alone}, "", 2 + spareTmp},
		"many":             {many, "", maxTmp},
		"another's engine": {[]config.HostCommand{shared}, sandbox.EngineBubblewrap, 0},
	} {
		p := commanded(c.commands...)
		p.engine.name, p.Policy.Scope.Tmp, p.Plan = c.engine, "/tmp", &sandbox.Plan{Mounts: []sandbox.Mount{tmp}}
		if lendTmp(p); p.Plan.Mounts[0].Copies != c.want {
			t.Errorf("%s: %d copies, want %d", name, p.Plan.Mounts[0].Copies, c.want)
		}
	}
	for name, c := range map[string]struct {
		more  []sandbox.Mount
		taken bool
	}{
		"alone":           {nil, true},
		"beside another":  {[]sandbox.Mount{{Kind: sandbox.MountBind, Target: "/p"}}, true},
		"one in it":       {[]sandbox.Mount{{Kind: sandbox.MountBind, Target: "/tmp/p"}}, false},
		"one called like": {[]sandbox.Mount{{Kind: sandbox.MountBind, Target: "/tmpx"}}, true},
	} {
		p := decidedBy(policy.Effective{Scope: policy.Scope{Tmp: "/tmp"}})
		p.Plan = &sandbox.Plan{Mounts: append([]sandbox.Mount{tmp}, c.more...)}
		TakeTmp(p, 7)
		if got := p.Plan.Mounts[0].Kind == sandbox.MountGiven; got != c.taken || (p.Plan.Given == 7) != c.taken {
			t.Errorf("%s: taken %v", name, got)
		}
	}
}
