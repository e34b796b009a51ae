package decide

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/agents"
	"carrel/internal/config"
	"carrel/internal/hostview"
	"carrel/internal/policy"
	"carrel/internal/remask"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/xvfb"
)

// said is a value that a layer says.
func said[T any](layer policy.LayerKind, v T) *policy.Value[T] {
	return &policy.Value[T]{V: v, Source: policy.Source{Layer: layer, Text: "said"}}
}

// TestGetenv: the last value counts, whole names only.
func TestGetenv(t *testing.T) {
	env := []string{"A=1", "AB=2", "A=3", "B", "C=", "D=x=y"}
	for name, want := range map[string]string{"A": "3", "AB": "2", "B": "", "C": "", "D": "x=y", "": "", "NONE": ""} {
		if got := lookupEnv(env, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// TestLookPath: absolute entries, files that may be executed, in their order.
func TestLookPath(t *testing.T) {
	dir := t.TempDir()
	for at, mode := range map[string]os.FileMode{"a/tool": 0o700, "b/tool": 0o700, "a/plain": 0o600, "b/plain": 0o700} {
		if err := os.MkdirAll(filepath.Dir(dir+"/"+at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(dir+"/"+at, nil, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(dir+"/a/folder", 0o700); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	p := newDecision(Request{Environ: []string{"PATH=a::" + dir + "/a:" + dir + "/b"}})
	for name, want := range map[string]string{"tool": dir + "/a/tool", "plain": dir + "/b/plain", "folder": "", "none": "", "./x": "./x",
		"/not/there": "/not/there"} {
		got, err := p.LookPath(name)
		if got != want || (err != nil) != (want == "") || err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: %q %v, want %q", name, got, err, want)
		}
	}
	p.Request.Exact, p.exactPath = &Exact{}, dir+"/b"
	if got, _ := p.LookPath("tool"); got != dir+"/b/tool" {
		t.Errorf("the low-level form looks in the caller's PATH: %q", got)
	}
}

// TestAskedEngine: the command line's word before the user's, never against the operator's.
func TestAskedEngine(t *testing.T) {
	for name, c := range map[string]struct {
		flag string
		set  *policy.Value[string]
		want string // the engine, or with ": " in it the error
		by   policy.LayerKind
	}{
		"nobody":                 {"", nil, config.EngineAuto, 0},
		"the user":               {"", said(policy.LayerUser, "landlock"), "landlock", policy.LayerUser},
		"the flag over the user": {"bubblewrap", said(policy.LayerUser, "landlock"), "bubblewrap", policy.LayerCommandLine},
		"the operator":           {"", said(policy.LayerOperator, "landlock"), "landlock", policy.LayerOperator},
		"against the operator": {"bubblewrap", said(policy.LayerOperator, "landlock"),
			"--engine bubblewrap: the operator's file names engine landlock", 0},
		"as the operator":        {"landlock", said(policy.LayerOperator, "landlock"), "landlock", policy.LayerCommandLine},
		"the operator leaves it": {"landlock", said(policy.LayerOperator, config.EngineAuto), "landlock", policy.LayerCommandLine},
		"no engine":              {"steam", nil, `--engine "steam": want one of`, 0},
	} {
		p := decidedBy(policy.Effective{})
		p.Request.Engine, p.Loaded.Settings.Engine = c.flag, c.set
		got, by, err := p.askedEngine()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, c.want) || (err != nil) != strings.Contains(c.want, ": ") || err == nil && by.Layer != c.by {
			t.Errorf("%s: %q by %v, want %q", name, got, by.Layer, c.want)
		}
	}
}

// TestAsksForImage: the strongest layer that names a backend says which system is seen.
func TestAsksForImage(t *testing.T) {
	layer := func(kind policy.LayerKind, b policy.Backend) policy.Layer {
		return policy.Layer{Kind: kind, Request: policy.Request{Backend: said(kind, b)}}
	}
	for name, c := range map[string]struct {
		flag   *policy.Value[policy.Backend]
		layers []policy.Layer
		want   bool
	}{
		"nobody":   {nil, nil, false},
		"the user": {nil, []policy.Layer{layer(policy.LayerUser, policy.BackendContainer)}, true},
		"lima":     {nil, []policy.Layer{layer(policy.LayerUser, policy.BackendLima)}, true},
		"the flag over the user": {said(policy.LayerCommandLine, policy.BackendProcess), []policy.Layer{layer(policy.LayerUser,
			policy.BackendContainer)}, false},
		"the operator over all": {said(policy.LayerCommandLine, policy.BackendProcess), []policy.Layer{layer(policy.LayerOperator,
			policy.BackendContainer)}, true},
		"the user over a profile": {nil, []policy.Layer{layer(policy.LayerProfile, policy.BackendContainer), layer(policy.LayerUser,
			policy.BackendProcess)}, false},
		"no walls": {nil, []policy.Layer{layer(policy.LayerUser, policy.BackendNone)}, false},
	} {
		p := decidedBy(policy.Effective{})
		p.Request.Flags.Backend, p.Loaded.Layers = c.flag, c.layers
		if got := p.asksForImage(); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestPreset: a built-in one fixes the persona, one of the user's own is a layer.
func TestPreset(t *testing.T) {
	own := config.Preset{Name: "mine", Command: []string{"make"}}
	bare := config.Preset{Name: "bare"}
	for name, c := range map[string]struct {
		preset  string
		argv    []string
		persona *policy.Value[policy.Persona]
		want    string
		runs    []string
		layers  int
	}{
		"none":              {"", []string{"x"}, nil, "", []string{"x"}, 0},
		"a shell":           {"shell", nil, nil, "", []string{"/bin/fish"}, 0},
		"a shell, as it is": {"shell", nil, said(policy.LayerCommandLine, policy.Human), "", []string{"/bin/fish"}, 0},
		"with another persona": {"shell", nil, said(policy.LayerCommandLine, policy.Agent), `preset "shell" always has persona human`, nil,
			0},
		"one's own":                {"mine", nil, nil, "", []string{"make"}, 1},
		"with another command":     {"mine", []string{"x"}, nil, "", []string{"x"}, 1},
		"nothing to run":           {"bare", nil, nil, `preset "bare" has no command of its own: carrel run --preset bare -- COMMAND`, nil, 0},
		"given something":          {"bare", []string{"x"}, nil, "", []string{"x"}, 1},
		"one that there is not":    {"other", []string{"x"}, nil, `no preset "other"`, nil, 0},
		"with a persona, its own ": {"mine", nil, said(policy.LayerCommandLine, policy.Human), "", []string{"make"}, 1},
	} {
		p := newDecision(Request{Preset: c.preset, Argv: c.argv, Environ: []string{"SHELL=/bin/fish"}, Flags: policy.Request{Persona: c.persona}})
		p.Loaded = &config.Loaded{Presets: []config.Preset{own, bare}}
		err := p.preset()
		if (err != nil) != (c.want != "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		if err == nil && (!slices.Equal(p.Request.Argv, c.runs) || len(p.Loaded.Layers) != c.layers) {
			t.Errorf("%s: runs %q with %d layers", name, p.Request.Argv, len(p.Loaded.Layers))
		}
		if c.preset == "shell" && err == nil && p.Request.Flags.Persona.V != policy.Human {
			t.Errorf("%s: persona %s", name, p.Request.Flags.Persona.V)
		}
	}
	if got := UserShell(func(string) string { return "fish" }); got != "/bin/sh" {
		t.Errorf("a shell that is no absolute path: %q", got)
	}
}

// TestShellIn: only a machine with programs of its own has another shell than the user's.
func TestShellIn(t *testing.T) {
	for backend, want := range map[policy.Backend]string{
		"": "/bin/fish", policy.BackendProcess: "/bin/fish", policy.BackendVM: "/bin/fish", policy.BackendGvisor: "/bin/fish",
		policy.BackendLima: "/bin/sh",
	} {
		if got := ShellIn(backend, func(string) string { return "/bin/fish" }); got != want {
			t.Errorf("%q: %s, want %s", backend, got, want)
		}
	}
}

// TestScreen: the command line's size before the configuration's, that before the profile's.
func TestScreen(t *testing.T) {
	d := newSavedHome(t)
	sized := d.draft("size: {width: 1024, height: 768}")
	for name, c := range map[string]struct {
		flag    string
		set     *policy.Value[string]
		profile bool
		want    policy.Size
		err     string
	}{
		"nobody":        {"", nil, false, xvfb.DefaultSize, ""},
		"the flag":      {"800x600", said(policy.LayerUser, "640x480"), true, policy.Size{Width: 800, Height: 600}, ""},
		"configuration": {"", said(policy.LayerUser, "640x480"), true, policy.Size{Width: 640, Height: 480}, ""},
		"the profile":   {"", nil, true, policy.Size{Width: 1024, Height: 768}, ""},
		"a bad flag":    {"x", nil, false, policy.Size{}, "--size: "},
		"a bad setting": {"", said(policy.LayerUser, "x"), false, policy.Size{}, "said"},
	} {
		p := decidedBy(policy.Effective{})
		p.Request.Size, p.Loaded.Settings.DisplaySize = c.flag, c.set
		if c.profile {
			p.profile = sized
		}
		got, gl, err := p.Screen()
		if (err != nil) != (c.err != "") || err != nil && !strings.HasPrefix(err.Error(), c.err) || err == nil && got != c.want || gl {
			t.Errorf("%s: %+v %v %v", name, got, gl, err)
		}
	}
}

// TestCeilingsTold: a workspace tells of all its ceilings, by the hash of those that its caller
// brings, and of the first to end.
func TestCeilingsTold(t *testing.T) {
	p := decidedBy(policy.Effective{})
	if p.CeilingNotice() != nil || p.Expiry() != "" || p.Ceilings() != nil || anyCeiling(p.Loaded) != "" {
		t.Error("a ceiling without one")
	}
	soon, late := time.Now().Add(time.Hour), time.Now().Add(2*time.Hour)
	p.Loaded.Ceiling = &policy.Ceiling{Network: said(policy.LayerCeiling, policy.NetLocal), Expires: said(policy.LayerCeiling, late)}
	if got := anyCeiling(p.Loaded); got != "of this run" {
		t.Errorf("one without a file is %q", got)
	}
	p.Loaded.Files = []config.FileStatus{{Path: "/c.yaml", Kind: config.KindCeiling, Present: true}, {Path: "/gone.yaml",
		Kind: config.KindCeiling}, {Path: "/u.yaml", Kind: config.KindUser, Present: true}}
	one := p.CeilingNotice()
	p.Loaded.Layers = []policy.Layer{{Kind: policy.LayerOperator, Name: "/op.yaml",
		Ceiling: &policy.Ceiling{Home: said(policy.LayerOperator, policy.HomeNone), Expires: said(policy.LayerOperator, soon)}}}
	both := p.CeilingNotice()
	if one.Source != "/c.yaml" || !one.Expires.Equal(late) || both.Source != "/c.yaml, /op.yaml" || !both.Expires.Equal(soon) ||
		one.Hash != both.Hash || one.Hash == "" {
		t.Errorf("one %+v, both %+v", one, both)
	}
	list := p.Ceilings()
	if len(list) != 2 || list[0].Dimension != "ceiling" || list[0].Value == list[1].Value || list[1].Source != "/op.yaml" ||
		anyCeiling(p.Loaded) != "/c.yaml" {
		t.Errorf("%+v, %s", list, anyCeiling(p.Loaded))
	}
	p.Loaded.Ceiling = nil
	if got := anyCeiling(p.Loaded); got != "/op.yaml" {
		t.Errorf("the operator's is %q", got)
	}
}

// TestNoToolchainBesideSecrets: what gets secrets is started as it is.
func TestNoToolchainBesideSecrets(t *testing.T) {
	d := newSavedHome(t)
	p := decidedBy(policy.Effective{})
	p.Place.Project, p.Loaded.Settings.Toolchain = d.project, said(policy.LayerUser, "none-such")
	if tools, err := p.ToolchainOf("", 1); tools != nil || err != nil {
		t.Errorf("with a secret: %v %v", tools, err)
	}
	if tools, err := p.ToolchainOf("off", 0); tools != nil || err != nil {
		t.Errorf("said for this one alone: %v %v", tools, err)
	}
	p.Request.Exact = &Exact{}
	if tools, err := p.ToolchainOf("", 0); tools != nil || err != nil {
		t.Errorf("low-level: %v %v", tools, err)
	}
}

// TestLeadsOut: a grant in the project that is a link out of it is refused; what takes
// away is not.
func TestLeadsOut(t *testing.T) {
	d := mountHome(t)
	for at, to := range map[string]string{"/out": d.home + "/notes", "/in": "real", "/real": "", "/deep": "out"} {
		var err error
		if to == "" {
			err = os.Mkdir(d.project+at, 0o700)
		} else {
			err = os.Symlink(to, d.project+at)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	p := decidedBy(policy.Effective{})
	p.Place.Project, p.Place.Cwd = d.project, d.project
	for name, c := range map[string]struct {
		f    policy.FileRequest
		want bool
	}{
		"a link out":              {policy.FileRequest{Place: d.project + "/out", Access: policy.Read}, true},
		"below it":                {policy.FileRequest{Place: "out/x", Access: policy.Write}, true},
		"over two":                {policy.FileRequest{Place: "deep", Access: policy.Read}, true},
		"a link within":           {policy.FileRequest{Place: "in", Access: policy.Write}, false},
		"a denial":                {policy.FileRequest{Place: "out", Access: policy.Deny}, false},
		"a pattern":               {policy.FileRequest{Place: "out/*", Access: policy.Read, Glob: true}, false},
		"the place itself":        {policy.FileRequest{Place: d.home + "/notes", Access: policy.Write}, false},
		"a link outside, to here": {policy.FileRequest{Place: d.home + "/lnk", Access: policy.Write}, false},
	} {
		err := p.leadsOut(p.Place.Scope(nil), []policy.Layer{{Kind: policy.LayerProject,
			Request: policy.Request{Files: []policy.FileRequest{c.f}}}})
		if (err != nil) != c.want || err != nil && !strings.Contains(told(err), "is a link that leads out of the project, to ") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, c := range map[string]struct {
		f    policy.FileRequest
		want bool
	}{
		"a directory":        {policy.FileRequest{Place: d.project + "/real", Access: policy.Read}, true},
		"a link":             {policy.FileRequest{Place: d.project + "/in", Access: policy.Read}, false},
		"a pattern":          {policy.FileRequest{Place: d.project + "/*", Glob: true, Access: policy.Read}, true},
		"what is not there":  {policy.FileRequest{Place: d.project + "/none", Access: policy.Deny}, true},
		"a denied link out":  {policy.FileRequest{Place: d.project + "/out", Access: policy.Deny}, false},
		"a denied directory": {policy.FileRequest{Place: d.project + "/real", Access: policy.Deny}, true},
	} {
		if got := p.staysInside(c.f); got != c.want {
			t.Errorf("stays inside, %s: %v", name, got)
		}
	}
}

// TestOwnDirTaken: an agent's directory is neither the project nor another's own place.
func TestOwnDirTaken(t *testing.T) {
	d := newSavedHome(t)
	p := decidedBy(policy.Effective{})
	p.Place.Project, p.Place.Home = d.project, d.home
	own := agents.OwnPlaces()[0]
	for at, want := range map[string]string{
		d.project: "the project is", d.project + "/x": "the project is", d.home + "/src": "the project is",
		d.home + "/" + own: `"~/` + own + `"`, d.home + "/" + own + "/x": `"~/` + own + `"`, d.home: "the project is", d.home + "/agents/one": "",
	} {
		if got := p.ownDirTaken(at); (got != "") != (want != "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", at, got, want)
		}
	}
}

// TestCacheDirs: host commands never run what programs inside put into a cache.
func TestCacheDirs(t *testing.T) {
	p := decidedBy(policy.Effective{})
	seen := map[string]bool{}
	for _, l := range []*lender{nil, {}, {command: &config.HostCommand{Name: "all"}}, {command: &config.HostCommand{Name: "gh"}}} {
		p.lender = l
		if seen[p.cacheDir()] {
			t.Errorf("%q is shared", p.cacheDir())
		}
		seen[p.cacheDir()] = true
	}
}

// TestHistoryDir: each directory that could not keep a history, or would show it, is refused
// with the line that names it.
func TestHistoryDir(t *testing.T) {
	d := mountHome(t)
	for _, dir := range []string{"/open", "/mine", "/granted/h", "/.local/state/carrel/sub", "/repo/h"} {
		if err := os.MkdirAll(d.home+dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(d.home+"/open", 0o755); err != nil {
		t.Fatal(err)
	}
	d.write(d.home+"/file", "x")
	state, err := statedir.Open(d.home + "/.local/state/carrel")
	if err != nil {
		t.Fatal(err)
	}
	for at, want := range map[string]string{
		"/mine": "", "/new": "", "/none/new": "its parent", "/open": "others may look into it", "/file": "it is no directory",
		"/src/shop/h": "it lies in the project", "/src": "the project lies in it", "": "the project lies in it",
		"/.local/state/carrel/sub": "it lies in the state directory", "/granted/h": "which commands inside may change",
		"/repo/h": "it lies in the project's repository",
	} {
		p := decidedBy(policy.Effective{Rules: []policy.Rule{rule(policy.Write, d.home+"/granted", policy.LayerUser), rule(policy.Read,
			d.home+"/mine", policy.LayerUser)}})
		p.Place.Project, p.Place.Home, p.State = d.project, d.home, state
		p.Guarded.Write = []string{d.home + "/repo"}
		p.Loaded.Settings.History.Dir = said(policy.LayerUser, d.home+at)
		got, err := p.HistoryDir(false)
		if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(),
			"history.dir ")) {
			t.Errorf("%s: %v, want %q", at, err, want)
		}
		if err == nil && got != d.home+at+"/"+statedir.ProjectID(d.project) {
			t.Errorf("%s: %q", at, got)
		}
		if _, err := os.Lstat(d.home + "/new"); err == nil {
			t.Fatal("a look made the directory")
		}
	}
	p := decidedBy(policy.Effective{})
	p.Place.Project = d.project
	if got, err := p.HistoryDir(true); got != "" || err != nil {
		t.Errorf("nowhere: %q %v", got, err)
	}
}

// TestCache: what is shown of a host's cache, and where changes of it go.
func TestCache(t *testing.T) {
	d := mountHome(t)
	state, err := statedir.Open(d.home + "/.local/state/carrel")
	if err != nil {
		t.Fatal(err)
	}
	cache := d.home + "/notes"
	for name, c := range map[string]struct {
		path, home   string
		access       policy.Access
		layer        policy.LayerKind
		create, keep bool
		shown        bool
		lower, spare bool
	}{
		"of the host, in home":   {cache, d.home, policy.Read, policy.LayerDefault, false, false, true, true, true},
		"elsewhere":              {cache, "/none", policy.Read, policy.LayerDefault, false, false, true, true, true},
		"one that is needed":     {cache, d.home, policy.Read, policy.LayerDefault, false, true, true, true, false},
		"with a rule of its own": {cache, d.home, policy.Read, policy.LayerUser, false, false, false, false, false},
		"denied":                 {cache, d.home, policy.Deny, policy.LayerDefault, false, false, false, false, false},
		"taken by a ceiling":     {cache, d.home, policy.Unset, 0, false, false, true, false, false},
		"not there":              {d.home + "/none", d.home, policy.Read, policy.LayerDefault, false, false, false, false, false},
		"not there, and wanted":  {d.home + "/none", d.home, policy.Read, policy.LayerDefault, true, false, true, false, false},
		"behind a link":          {d.home + "/lnk", d.home, policy.Unset, 0, false, false, true, false, false},
	} {
		p := decidedBy(policy.Effective{})
		if c.access != policy.Unset {
			p.Policy.Rules = []policy.Rule{rule(c.access, c.path, c.layer)}
		}
		p.Place.Project, p.Place.Home, p.State = d.project, c.home, state
		o, ok := p.overlay(cacheOf(c.path, c.create, c.keep))
		if ok != c.shown {
			t.Errorf("%s: %v", name, ok)
			continue
		}
		if ok && ((o.Lower != "") != c.lower || (o.Spare != "") != c.spare || !c.lower && !o.Private || !strings.HasPrefix(o.Upper,
			state.Project(d.project))) {
			t.Errorf("%s: %+v", name, o)
		}
		if ok && c.lower && o.Lower != map[bool]string{true: d.home, false: c.path}[c.home == d.home] {
			t.Errorf("%s: over %s", name, o.Lower)
		}
	}
}

// TestUncovered: a bare mask is only one of the project's own secrets.
func TestUncovered(t *testing.T) {
	p := decidedBy(policy.Effective{Rules: []policy.Rule{
		{Path: "/p/.env", Access: policy.Deny, Source: policy.Source{Layer: policy.LayerDefault, Text: "secret: a file of variables"}},
		{Path: "/p/mine", Access: policy.Deny, Source: policy.Source{Layer: policy.LayerUser, Text: "secret: mine"}},
		{Path: "/h/.env", Access: policy.Deny, Source: policy.Source{Layer: policy.LayerDefault, Text: "secret: a file of variables"}},
	}})
	p.Place.Project = "/p"
	mask := func(at string) sandbox.Mount { return sandbox.Mount{Kind: sandbox.MountMask, Target: at} }
	p.Plan = &sandbox.Plan{Mounts: []sandbox.Mount{mask("/p/.env"), mask("/p/mine"), mask("/h/.env"), {Kind: sandbox.MountMask,
		Target: "/p/dir", Dir: true},
		{Kind: sandbox.MountSelf, Target: "/p", Dir: true}}}
	remask.Uncover(p.Plan, p.Policy, p.Place.Project)
	if got := uncovered(p); !slices.Equal(got, []string{"/p/.env"}) {
		t.Errorf("%q", got)
	}
}

// cacheOf is a cache of the host by the name "c".
func cacheOf(at string, create, keep bool) hostview.Cache {
	return hostview.Cache{Path: at, Name: "c", Create: create, Keep: keep}
}
