package decide

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/api"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/sandbox"
)

// savedHome is a home with a project and a place for profiles.
type savedHome struct {
	t                      *testing.T
	home, project, ceiling string
	environ                []string
}

func newSavedHome(t *testing.T) *savedHome {
	home, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := &savedHome{t: t, home: home, project: home + "/src/shop", ceiling: home + "/ceiling.yaml",
		environ: []string{"HOME=" + home, "PATH=/usr/bin:/bin", "XDG_RUNTIME_DIR=" + home + "/run"}}
	if err := os.MkdirAll(d.project, 0o700); err != nil {
		t.Fatal(err)
	}
	return d
}

func (d *savedHome) draft(text string) *profile.Profile {
	d.t.Helper()
	p, err := profile.Parse("p", []byte(text), "p.yaml")
	if err != nil {
		d.t.Fatal(err)
	}
	return p
}

func (d *savedHome) write(file, text string) {
	d.t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		d.t.Fatal(err)
	}
}

func TestPrepareByProfile(t *testing.T) {
	d := newSavedHome(t)
	dir := profile.Dir(func(name string) string { return lookupEnv(d.environ, name) })
	text := "cwd: ~/src/shop\nnetwork: local\nenv: {KEY: v}\nmounts: [{host_path: ~/ref}]\nwrite: [out]\napps: [{command: [true], cwd: sub}]\n"
	text = strings.Replace(text, "[true]", "['true']", 1)
	if _, err := profile.Put(dir, []profile.Item{{Name: "shop", Text: []byte(text)}}, false, false); err != nil {
		t.Fatal(err)
	}
	req := Request{Argv: []string{"true"}, Default: policy.Agent, Profile: "shop", Environ: d.environ}
	if _, err := Prepare(req); err == nil || !strings.Contains(err.Error(), "no file or directory that is there") {
		t.Errorf("a mount that is not there: %v", err)
	}
	if err := os.Mkdir(d.home+"/ref", 0o700); err != nil {
		t.Fatal(err)
	}
	p, err := Prepare(req)
	if err != nil {
		t.Fatal(err)
	}
	at := p.Location()
	if at.Cwd != d.project || at.Project != d.project || p.Policy.Network != policy.NetLocal || p.Policy.Env.Set["KEY"].V != "v" {
		t.Errorf("at %+v, network %s, env %v", at, p.Policy.Network, p.Policy.Env.Set)
	}
	if a := p.Policy.Lookup(d.home + "/ref/x").Access; a != policy.Read {
		t.Errorf("the mount is %s", a)
	}
	if c := p.Profile().Apps[0].Cwd; c != d.project+"/sub" {
		t.Errorf("the app runs in %s", c)
	}
	// What is said on the command line stands above it, and relative names
	// mean where it was said.
	here, _ := os.Getwd()
	req.Flags = policy.Request{Network: &policy.Value[policy.NetworkMode]{V: policy.NetClosed}, Files: []policy.FileRequest{{Place: "testdata-of-here", Access: policy.Read}}}
	if p, err = Prepare(req); err != nil {
		t.Fatal(err)
	}
	if p.Policy.Network != policy.NetClosed || p.Policy.Lookup(here+"/testdata-of-here").Access != policy.Read {
		t.Errorf("network %s, rule %v", p.Policy.Network, p.Policy.Lookup(here+"/testdata-of-here"))
	}
	if req.Flags.Files[0].Base != "" {
		t.Error("the request of the caller was changed")
	}
	req.Preset = "shell"
	if _, err := Prepare(req); err == nil || !strings.Contains(err.Error(), "give one of them") {
		t.Errorf("with a preset: %v", err)
	}
	if _, err := Prepare(Request{Argv: []string{"true"}, Profile: "none", Environ: d.environ}); !errors.Is(err, profile.ErrNone) {
		t.Errorf("one that is not there: %v", err)
	}
	if _, err := Prepare(Request{Default: policy.Agent, Draft: d.draft("cwd: /not/there"), Environ: d.environ}); err == nil || !strings.Contains(err.Error(), `profile p works in "/not/there"`) {
		t.Errorf("a directory that is not there: %v", err)
	}
	if _, err := Prepare(Request{Default: policy.Agent, Profile: "shop", Environ: d.environ}); err != nil {
		t.Errorf("without a command: %v", err)
	}
}

// TestMovedMounts: a mount elsewhere is a link in memory to the one place that
// is decided about; where anything else is, it is refused.
func TestMovedMounts(t *testing.T) {
	d := newSavedHome(t)
	outside := d.home + "/ref"
	if err := errors.Join(os.MkdirAll(outside+"/in", 0o700), os.Symlink("ref", d.home+"/link")); err != nil {
		t.Fatal(err)
	}
	compiled := func(text string) (*Decision, error) {
		p, err := Prepare(Request{Argv: []string{"true"}, Default: policy.Agent, Draft: d.draft(text), Cwd: d.project, Environ: d.environ})
		if err == nil {
			err = p.Preview()
		}
		return p, err
	}
	for _, text := range []string{
		"mounts: [{host_path: ~/ref, workspace_path: /workspace/ref, mode: read_write}]",
		"mounts: [{host_path: ~/link, workspace_path: /workspace/ref, mode: read_write}]",
		"mounts: [{host_path: ~/ref, workspace_path: ~/elsewhere, mode: read_write}, {host_path: ~/ref, mode: read_write}]",
	} {
		p, err := compiled(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		m := p.Profile().Mounts[0]
		held := holder(p.Plan, m.Workspace)
		if held == nil || held.Kind != sandbox.MakeSymlink || held.Source != outside {
			t.Errorf("%s: at %s is %+v", text, m.Workspace, held)
		}
		if a := p.Policy.Lookup(outside + "/x").Access; a != policy.Write {
			t.Errorf("%s: access %s", text, a)
		}
		p.engine = engine{name: sandbox.EngineLandlock, why: "for a test"}
		if err := p.mountLinksHeld(); err == nil || !strings.Contains(err.Error(), "landlock") {
			t.Errorf("%s: landlock: %v", text, err)
		}
	}
	refused := map[string]string{
		"/":                     "it is everything",
		"/etc/ref":              "what is in /etc",
		"/usr":                  "what is in /usr",
		"/run/x":                "what is in /run",
		"~/ref/in":              "around it",
		"~/ref/new":             "around it",
		"~":                     "or in it",
		"~/src":                 "or in it",
		"~/src/shop":            "is there",
		"~/src/shop/new":        "around it",
		"/tmp":                  "is there",
		"/second/deeper":        "around it",
		"/sec":                  "",
		"/workspace/../x":       "mistake",
		"~/.local/share/x/deep": "",
	}
	for at, want := range refused {
		text := "mounts: [{host_path: ~/ref, workspace_path: " + strings.Replace(at, "~", d.home, 1) + "}, {host_path: ~/src, workspace_path: /second}]"
		if want == "mistake" {
			if _, err := profile.Parse("p", []byte(text), "p"); err == nil {
				t.Errorf("%s is taken", at)
			}
			continue
		}
		_, err := compiled(text)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", at, got, want)
		}
	}
	// A ceiling bounds the host's path, whatever the other one is called.
	d.write(d.ceiling, "mounts: [{host_path: "+d.project+"}, {host_path: /workspace, mode: read_write}]")
	err := CheckProfile(d.draft("mounts: [{host_path: ~/ref, workspace_path: /workspace/ref, mode: read_write}]"), Request{Cwd: d.project, Environ: d.environ, Permissions: d.ceiling})
	if len(policy.Refusals(err)) != 1 {
		t.Errorf("under a ceiling: %v", err)
	}
}

func TestCheckProfile(t *testing.T) {
	d := newSavedHome(t)
	tests := []struct{ ceiling, profile, want string }{
		{"network: local", "network: closed", ""},
		{"network: local", "network: open", "network: p.yaml:1:10: network asks for open, the ceiling " + d.ceiling + ":1:10: network allows local"},
		{"network: local", "", ""}, // what nobody asked for is narrowed and not refused
		{"apps: {allow: [git]}", "setup: [{command: [npm, ci]}]", "programs: p.yaml:1:9: setup asks for npm"},
		{"apps: {allow: [/usr/bin/env]}", "apps: [{command: [env, x]}]", ""},
		{"apps: {allow: [env]}", "apps: [{command: [/usr/bin/env, x]}]", ""},
		{"network: closed\napps: {allow: [git]}", "network: open\napps: [{command: [npm]}]", "programs: "},
		{"mounts: [{host_path: " + d.project + "}]", "mounts: [{host_path: ~/src/shop}]", ""},
		{"mounts: [{host_path: " + d.project + "}]", "mounts: [{host_path: ~/src/shop, mode: read_write}]", "files: p.yaml:1:10: mounts asks for write of " + d.project},
		{"mounts: [{host_path: " + d.project + "}]", "mounts: [{host_path: ~/src}]", "nothing there"},
		{"network: closed\nmounts: [{host_path: " + d.project + "}]", "network: open\nmounts: [{host_path: ~/src}]", "nothing there"},
		{"network: closed\nmounts: [{host_path: " + d.project + "}]", "network: open\nread: [/usr/share, src]", "the ceiling " + d.ceiling + ":1:10: network allows closed"},
		{"history: on", "history: off", ""}, // refused below: words of YAML
		{"resources: {pids: 5}", "resources: {pids: 6}", "pids: "},
		{"network: local", "cwd: /not/there/yet\nnetwork: open", "asks for open"},
		{"network: local", "cwd: /not/there/yet", ""},
	}
	for _, tt := range tests {
		tt.ceiling, tt.profile = strings.Replace(tt.ceiling, "history: on", "history: 'on'", 1), strings.Replace(tt.profile, "history: off", "history: 'off'", 1)
		if strings.HasPrefix(tt.profile, "history") {
			tt.want = "history: "
		}
		d.write(d.ceiling, tt.ceiling)
		err := CheckProfile(d.draft(tt.profile), Request{Cwd: d.project, Environ: d.environ, Permissions: d.ceiling})
		got := ""
		if err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%q under %q:\n got %q\nwant %q", tt.profile, tt.ceiling, got, tt.want)
		}
	}
	// The directory that it is saved in has no say: home as the project, or a
	// project's file with mistakes.
	if err := CheckProfile(d.draft("network: local"), Request{Cwd: d.home, Environ: d.environ}); err != nil {
		t.Errorf("in home: %v", err)
	}
	d.write(d.project+"/.carrel.yaml", "broken: [")
	if err := CheckProfile(d.draft("network: local"), Request{Cwd: d.project, Environ: d.environ}); err != nil {
		t.Errorf("beside a broken file: %v", err)
	}
}

func TestStrict(t *testing.T) {
	d := newSavedHome(t)
	prepared := func(text string) *Decision {
		t.Helper()
		p, err := Prepare(Request{Argv: []string{"true"}, Default: policy.Agent, Draft: d.draft(text), Cwd: d.project, Environ: d.environ})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	refused := func(p *Decision, want string) {
		t.Helper()
		var denied *api.Denial
		if err := p.StrictlyHeld(); !errors.As(err, &denied) || denied.Code != api.CodeNotHeld || !strings.Contains(denied.Message, want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	p := prepared("strict: true")
	if err := p.StrictlyHeld(); err != nil {
		t.Errorf("nothing stands against it: %v", err)
	}
	p.Note("a cache is not kept")
	refused(p, "a cache is not kept")
	p.profile.Strict = false
	if err := p.StrictlyHeld(); err != nil {
		t.Errorf("not strict: %v", err)
	}
	refused(prepared("strict: true\nread: [~/gone]"), "is granted and not there")
	refused(prepared("strict: true\nread: [~/src]\ndeny: [~/src]"), "is not given")
	p = prepared("strict: true")
	p.engine = engine{name: sandbox.EngineLandlock, why: "for a test"}
	refused(p, "weaker than carrel's own namespaces")
	p.engine.name = sandbox.EngineBubblewrap
	refused(p, "weaker than carrel's own namespaces")
}
