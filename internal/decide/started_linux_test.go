package decide

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/config"
	"carrel/internal/container"
	"carrel/internal/devcontainer"
	"carrel/internal/inside"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// program makes an executable file in the home, and gives its path.
func (d *savedHome) program(at string) string {
	d.t.Helper()
	full := d.home + at
	if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
		d.t.Fatal(err)
	}
	d.write(full, "#!/bin/sh\n")
	if err := os.Chmod(full, 0o700); err != nil {
		d.t.Fatal(err)
	}
	return full
}

// withPath is a request with a directory of the home first in PATH.
func (d *savedHome) withPath(dir string, more ...string) []string {
	return slices.Concat(d.environ, []string{"PATH=" + d.home + dir + ":/usr/bin:/bin"}, more)
}

// variable gives one of an environment, and whether it is there.
func variable(env []string, name string) (string, bool) {
	i := slices.IndexFunc(env, func(e string) bool { return strings.HasPrefix(e, name+"=") })
	if i < 0 {
		return "", false
	}
	return env[i][len(name)+1:], true
}

// TestAgentStarts: an agent that is recognised gets its network, its variables, its flags and
// its home; the same word as an argument, or in a project, gets nothing of it.
func TestAgentStarts(t *testing.T) {
	d := mountHome(t)
	d.program("/bin/claude")
	d.program("/src/shop/bin/claude")
	d.program("/bin/tool")
	claude, _ := agents.ByName("claude")
	for name, c := range map[string]struct {
		argv []string
		path string
		want bool
	}{
		"by its name":           {[]string{"claude", "-p", "x"}, "/bin", true},
		"as an argument":        {[]string{"tool", "claude"}, "/bin", false},
		"one in the project":    {[]string{"claude"}, "/src/shop/bin", false},
		"by its path":           {[]string{d.home + "/bin/claude"}, "/bin", true},
		"a program beside it":   {[]string{"tool"}, "/bin", false},
		"by its path, in there": {[]string{d.project + "/bin/claude"}, "/bin", false},
	} {
		p, err := d.mounted("{}", func(r *Request) {
			r.Argv, r.Environ = c.argv, d.withPath(c.path, claude.EnvPass[0]+"=kept", "GITHUB_TOKEN=secret")
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		env := p.Plan.Command.Env
		_, passed := variable(env, claude.EnvPass[0])
		_, leaked := variable(env, "GITHUB_TOKEN")
		_, known := p.Recognition()
		hosts := slices.ContainsFunc(p.Policy.Hosts, func(v policy.Value[string]) bool { return strings.Contains(v.V, "anthropic") })
		flags := len(p.Plan.Command.Argv) > len(c.argv)
		if known != c.want || passed != c.want || hosts != c.want || flags != c.want || (p.Policy.Network == policy.NetFiltered) != c.want ||
			leaked {
			t.Errorf("%s: known %v, variable %v, hosts %v, flags %v, network %s, token %v", name, known, passed, hosts, flags, p.Policy.Network,
				leaked)
		}
	}
	// The other words keep their order, behind the flags.
	p, err := d.mounted("{}", func(r *Request) { r.Argv, r.Environ = []string{"claude", "-p", "x"}, d.withPath("/bin") })
	if err != nil {
		t.Fatal(err)
	}
	if argv := p.Plan.Command.Argv; argv[0] != "claude" || !slices.Equal(argv[len(argv)-2:], []string{"-p", "x"}) {
		t.Errorf("%q", argv)
	}
	if got := p.WithAgentFlags([]string{"tool"}); len(got) != 1 {
		t.Errorf("another command of the workspace gets %q", got)
	}
	if got := p.WithAgentFlags([]string{"claude"}); len(got) < 2 {
		t.Errorf("the agent in its workspace gets %q", got)
	}
}

// TestAgentByName: who asks for an agent by its name gets that agent or a reason.
func TestAgentByName(t *testing.T) {
	d := mountHome(t)
	d.program("/bin/claude")
	d.program("/bin/codex")
	d.program("/src/shop/bin/claude")
	d.program("/bin/goose")
	for name, c := range map[string]struct {
		agent, path string
		argv        []string
		off         bool
		want        string
	}{
		"it":                    {"claude", "/bin", []string{"claude"}, false, ""},
		"it, without questions": {"claude", "/bin", []string{"claude"}, true, ""},
		"another":               {"claude", "/bin", []string{"codex"}, false, "is Codex CLI and not Claude Code"},
		"the project's": {"claude", "/src/shop/bin", []string{"claude"}, false,
			"lies in the project; whoever writes the project could call any program claude"},
		"none there": {"gemini", "/bin", []string{"gemini"}, false,
			`Gemini CLI: "gemini" was not found in PATH` + "\nhint: install it with: "},
		"unknown":                  {"steam", "/bin", []string{"steam"}, false, `no agent "steam" is known`},
		"a name that others have":  {"goose", "/bin", []string{"goose"}, false, "other software has that name too"},
		"no agent, no questions":   {"", "/bin", []string{"true"}, true, "--no-prompts: no agent that carrel knows is started"},
		"a name, and no questions": {"", "/bin", []string{"codex"}, true, ""},
	} {
		_, err := d.mounted("{}", func(r *Request) {
			r.Agent, r.Argv, r.PromptsOff, r.Environ = c.agent, c.argv, c.off, d.withPath(c.path)
		})
		if (err != nil) != (c.want != "") || !strings.Contains(told(err), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	p := newDecision(Request{For: "steam"})
	if err := p.recognise(); !strings.HasPrefix(told(err), `--agent "steam": no agent of that name is known`+"\nknown are ") {
		t.Error(err)
	}
}

// TestPromptsOff: an agent's questions are off where the user says so, and where it lets root.
func TestPromptsOff(t *testing.T) {
	flags := agents.Off{Flags: []string{"--yes"}}
	asRoot, lifted := flags, flags
	asRoot.RefusedAsRoot, lifted.RefusedAsRoot = true, true
	lifted.RootEnv = map[string]string{"X": "1"}
	for name, c := range map[string]struct {
		off  agents.Off
		said bool
		uid  int
		want bool
	}{
		"said":               {flags, true, 1000, true},
		"not said":           {flags, false, 1000, false},
		"no way":             {agents.Off{}, true, 1000, false},
		"root is refused":    {asRoot, true, 0, false},
		"root has a way":     {lifted, true, 0, true},
		"a user is not root": {asRoot, true, 1000, true},
	} {
		p := decidedBy(policy.Effective{})
		p.Agent, p.promptsOff, p.UID = &agents.Agent{Name: "a", PromptsOff: c.off}, c.said, c.uid
		if got := p.StartsWithoutPrompts(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	p := decidedBy(policy.Effective{})
	p.Loaded.Settings.PromptsOff = said(policy.LayerUser, true)
	if p.StartsWithoutPrompts() || p.promptsOffBy() != "said" {
		t.Error("without an agent")
	}
	if p.Request.PromptsOff = true; p.promptsOffBy() != "--no-prompts" {
		t.Error("the flag does not say so")
	}
}

// TestEnvironment: what a command gets of the variables outside, by each rule.
func TestEnvironment(t *testing.T) {
	d := mountHome(t)
	outside := []string{"LANG=C.UTF-8", "AWS_SECRET_ACCESS_KEY=s", "APP_ONE=1", "APP_TWO=2", "OTHER=x", "DISPLAY=:9", "WAYLAND_DISPLAY=w",
		"SSH_AUTH_SOCK=/s", "CARREL=0", "LD_PRELOAD=/x"}
	user := "environment: {pass: ['APP_*', SET], drop: [APP_TWO], set: {SET: mine}}"
	for name, c := range map[string]struct {
		change func(*Request)
		want   map[string]string
		absent []string
	}{
		"with walls": {nil, map[string]string{"LANG": "C.UTF-8", "APP_ONE": "1", "SET": "mine", "CARREL": "1", "HOME": d.home,
			"PWD": d.project, "TMPDIR": "/tmp", "WAYLAND_DISPLAY": "/dev/null/no-wayland-display"},
			[]string{"AWS_SECRET_ACCESS_KEY", "APP_TWO", "OTHER", "DISPLAY", "SSH_AUTH_SOCK", "LD_PRELOAD", "HTTP_PROXY"}},
		"a filtered network": {func(r *Request) { r.Flags.Network = said(policy.LayerCommandLine, policy.NetFiltered) },
			map[string]string{"NO_PROXY": "localhost,127.0.0.1,::1", "no_proxy": "localhost,127.0.0.1,::1"}, []string{"OTHER"}},
		"no walls": {func(r *Request) { r.Flags.Backend = said(policy.LayerCommandLine, policy.BackendNone) },
			map[string]string{"OTHER": "x", "APP_ONE": "1", "SET": "mine", "CARREL": "1", "AWS_SECRET_ACCESS_KEY": "s", "DISPLAY": ":9"},
			[]string{"APP_TWO", "TMPDIR"}},
	} {
		p, err := d.mounted(user, func(r *Request) {
			if r.Environ = append(slices.Clone(d.environ), outside...); c.change != nil {
				c.change(r)
			}
		})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for v, want := range c.want {
			if got, _ := variable(p.Plan.Command.Env, v); got != want {
				t.Errorf("%s: %s=%q, want %q", name, v, got, want)
			}
		}
		for _, v := range c.absent {
			if got, there := variable(p.Plan.Command.Env, v); there {
				t.Errorf("%s: %s=%q", name, v, got)
			}
		}
	}
	// What comes from outside is told by who lets it in.
	p, err := d.mounted(user, func(r *Request) { r.Environ = append(slices.Clone(d.environ), outside...) })
	if err != nil {
		t.Fatal(err)
	}
	v := VariablesOf(p)
	by := map[string]policy.LayerKind{}
	for _, one := range v.Passed {
		by[one.V] = one.Source.Layer
	}
	if by["APP_ONE"] != policy.LayerUser || by["LANG"] != policy.LayerDefault || by["OTHER"] != 0 ||
		v.Kept+len(v.Passed) != len(d.environ)+len(outside) || v.Set == 0 {
		t.Errorf("%+v", v)
	}
}

// TestProxyVariables: a filtered network names its proxy, but not where the user names one.
func TestProxyVariables(t *testing.T) {
	p := decidedBy(policy.Effective{Network: policy.NetFiltered, Env: policy.Env{Pass: listed("HTTPS_PROXY", "https_proxy")}})
	p.Request.Environ = []string{"HTTPS_PROXY=http://mine"}
	env := p.proxyEnv()
	if _, there := env["HTTPS_PROXY"]; there {
		t.Error("the user's own proxy is replaced")
	}
	if env["https_proxy"] == "" || env["https_proxy"] != env["HTTP_PROXY"] || !strings.Contains(env["HTTP_PROXY"], sandbox.Gateway) {
		t.Errorf("%q", env)
	}
	for _, name := range []string{"SOCKS_PROXY", "socks_proxy"} {
		if env[name] != "" {
			t.Errorf("%s is named", name)
		}
	}
	for _, mode := range []policy.NetworkMode{policy.NetClosed, policy.NetLocal, policy.NetOpen} {
		if p.Policy.Network = mode; p.proxyEnv() != nil {
			t.Errorf("%s has a proxy", mode)
		}
	}
}

// TestHostProxy: the host's own proxy is gone through, but under a ceiling only where it is
// told addresses.
func TestHostProxy(t *testing.T) {
	under := &config.Loaded{Ceiling: &policy.Ceiling{}}
	for name, c := range map[string]struct {
		mode   policy.NetworkMode
		env    string
		loaded *config.Loaded
		host   string
		want   string
	}{
		"none":         {policy.NetFiltered, "", &config.Loaded{}, "", ""},
		"one":          {policy.NetFiltered, "https_proxy=http://p.example:3128", &config.Loaded{}, "p.example", ""},
		"for all":      {policy.NetFiltered, "ALL_PROXY=socks5://p.example:1080", &config.Loaded{}, "p.example", ""},
		"another mode": {policy.NetOpen, "https_proxy=http://p.example:3128", under, "", ""},
		"no address":   {policy.NetFiltered, "HTTPS_PROXY=gopher://x", &config.Loaded{}, "", "HTTPS_PROXY: "},
		"under a ceiling": {policy.NetFiltered, "https_proxy=http://p.example:3128", under, "",
			"cannot be held to the ceiling of this run"},
		"under a ceiling, addressed": {policy.NetFiltered, "https_proxy=socks5://p.example:1080", under, "p.example", ""},
	} {
		p := decidedBy(policy.Effective{Network: c.mode})
		p.Loaded, p.Request.Environ = c.loaded, []string{c.env}
		up, err := p.hostProxy()
		if (err != nil) != (c.want != "") || !strings.Contains(told(err), c.want) || (up != nil) != (c.host != "") || up != nil &&
			up.Host != c.host {
			t.Errorf("%s: %+v %v", name, up, err)
		}
	}
}

// TestPrograms: a list of programs is held by files, and nothing that a command could have put
// in PATH is among them.
func TestPrograms(t *testing.T) {
	d := mountHome(t)
	d.program("/src/shop/bin/mine")
	for name, c := range map[string]struct {
		allow, argv string
		change      func(*Request)
		want, code  string
	}{
		"by its name":         {"[env, sh]", "env", nil, "", ""},
		"by its path":         {"[/usr/bin/env]", "env", nil, "", ""},
		"another":             {"[env]", "ls", nil, `"ls" is not among the programs that may be launched`, api.CodeProgram},
		"none":                {"[]", "env", nil, "is not among the programs", api.CodeProgram},
		"not on this machine": {"[env, steam]", "env", nil, "", ""},
		"of the project":      {"[env, mine]", "mine", nil, `"mine" is not among the programs`, api.CodeProgram},
		"a directory":         {"[/usr/bin]", "env", nil, `programs.allow names the directory "/usr/bin"`, api.CodeNotHeld},
		"mounts inside": {"[env]", "env", func(r *Request) { r.Flags.Nested = said(policy.LayerCommandLine, policy.NestedFull) },
			"programs.allow cannot be held with --nested full", api.CodeNotHeld},
	} {
		p, err := d.mounted("programs: {allow: "+c.allow+"}", func(r *Request) {
			if r.Argv, r.Environ = []string{c.argv}, d.withPath("/src/shop/bin"); c.change != nil {
				c.change(r)
			}
		})
		var denied *api.Denial
		if (err != nil) != (c.want != "") || !strings.Contains(told(err), c.want) || err != nil && (!errors.As(err, &denied) ||
			denied.Code != c.code || denied.Hint == "") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && !slices.Contains(p.Plan.Landlock.Execute, p.Facts.Canonical("/usr/bin/env")) {
			t.Errorf("%s: %q", name, p.Plan.Landlock.Execute)
		}
	}
	// A ceiling's list is told as the ceiling's.
	d.write(d.ceiling, "apps: {allow: [env]}")
	p, err := d.mounted("{}", func(r *Request) { r.Argv, r.Permissions = []string{"env"}, d.ceiling })
	if err != nil {
		t.Fatal(err)
	}
	launch := func(name string) *api.Denial {
		return p.CeilingRefuses(&api.Request{Op: api.OpLaunch, Command: &api.Command{Argv: []string{name}}})
	}
	if why := launch("ls"); why == nil || why.Code != api.CodeCeiling || why.Subject != "ls" || !strings.Contains(why.Hint, "apps.allow") {
		t.Errorf("%+v", why)
	}
	for _, name := range []string{"env", "/usr/bin/env", inside.Dir + "/" + inside.FileHelper} {
		if why := launch(name); why != nil {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// TestCeilingOfRequests: a running workspace refuses at once what its ceilings rule out.
func TestCeilingOfRequests(t *testing.T) {
	p := decidedBy(policy.Effective{})
	for _, op := range []string{api.OpYield, api.OpDesktopSee, api.OpDesktopDo, api.OpWatch, api.OpExec, api.OpStatus} {
		if why := p.CeilingRefuses(&api.Request{Op: op}); why != nil {
			t.Errorf("%s without a ceiling: %+v", op, why)
		}
	}
	p.Loaded.Ceiling = &policy.Ceiling{Undo: said(policy.LayerCeiling, policy.UndoNone), Display: said(policy.LayerCeiling,
		policy.DisplayNone)}
	for op, want := range map[string]policy.Dimension{api.OpYield: policy.DimUndo, api.OpDesktopSee: policy.DimDisplay,
		api.OpDesktopDo: policy.DimDisplay, api.OpWatch: policy.DimDisplay, api.OpStatus: "", api.OpExec: ""} {
		why := p.CeilingRefuses(&api.Request{Op: op})
		if (why != nil) != (want != "") || why != nil && (why.Code != api.CodeCeiling || why.Rule != string(want)) {
			t.Errorf("%s: %+v, want %q", op, why, want)
		}
	}
	p.Loaded.Ceiling.Display = said(policy.LayerCeiling, policy.DisplayVirtual)
	if why := p.CeilingRefuses(&api.Request{Op: api.OpWatch}); why != nil {
		t.Errorf("a ceiling of a virtual display: %+v", why)
	}
}

// TestImageNamed: the image is the command line's, but for the operator's word.
func TestImageNamed(t *testing.T) {
	for name, c := range map[string]struct {
		flag    string
		set     *policy.Value[string]
		project container.Project
		want    string
		err     string
	}{
		"nobody":                    {"", nil, container.Project{}, "", "no image is named"},
		"the flag":                  {"debian", said(policy.LayerUser, "alpine"), container.Project{Image: "x"}, "debian", ""},
		"the user":                  {"", said(policy.LayerUser, "alpine"), container.Project{}, "alpine", ""},
		"the project over the user": {"", said(policy.LayerUser, "alpine"), container.Project{Image: "x"}, "x", ""},
		"the operator over both":    {"", said(policy.LayerOperator, "alpine"), container.Project{Image: "x"}, "alpine", ""},
		"against the operator": {"debian", said(policy.LayerOperator, "alpine"), container.Project{}, "",
			"the operator's file names the image alpine"},
		"as the operator": {"alpine", said(policy.LayerOperator, "alpine"), container.Project{}, "alpine", ""},
		"no image":        {"-x", nil, container.Project{}, "", `--image "-x": `},
		"the project's is ignored": {"", nil, container.Project{File: "d.json", Ignored: []devcontainer.Ignored{{Line: 3, Key: "image",
			Why: "not allowed"}}}, "", "d.json:3: not allowed"},
	} {
		p := decidedBy(policy.Effective{Backend: policy.BackendContainer})
		p.Request.Image, p.Loaded.Settings.ContainerImage = c.flag, c.set
		got, err := imageOf(p, &c.project)
		if got != c.want || (err != nil) != (c.err != "") || !strings.Contains(told(err), c.err) {
			t.Errorf("%s: %q %v", name, got, err)
		}
	}
}

// TestTerminalInContainer: a terminal that images do not know is described, or has a name that
// they know.
func TestTerminalInContainer(t *testing.T) {
	for term, want := range map[string]string{"": "", "xterm": "", "vt100": "", "a/b": "", "x.y": "", "none-such-terminal": "xterm-256color"} {
		p := decidedBy(policy.Effective{})
		p.Request.Environ = []string{"TERM=" + term}
		env := map[string]string{}
		if _, described := p.terminalIn(env); described || env["TERM"] != want {
			t.Errorf("%q: %v %q", term, described, env)
		}
	}
}
