package config

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"carrel/internal/policy"
)

// machine is a small tree with every file in its place.
type machine struct {
	t    *testing.T
	opts Options
}

func newMachine(t *testing.T) *machine {
	root := t.TempDir()
	m := &machine{t, Options{
		Root: root, Home: filepath.Join(root, "home/u"), Project: filepath.Join(root, "p"), Cwd: filepath.Join(root, "p"),
	}}
	for _, dir := range []string{"etc/carrel", "home/u/.config/carrel", "p"} {
		m.must(os.MkdirAll(filepath.Join(root, dir), 0o755))
	}
	return m
}

func (m *machine) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

func (m *machine) write(name, text string) string {
	m.t.Helper()
	file := filepath.Join(m.opts.Root, name)
	m.must(os.MkdirAll(filepath.Dir(file), 0o755))
	m.must(os.WriteFile(file, []byte(text), 0o644))
	return file
}

func (m *machine) load() *Loaded {
	m.t.Helper()
	l, err := Load(m.opts)
	m.must(err)
	return l
}

// fails loads and wants an error with all the parts.
func (m *machine) fails(parts ...string) {
	m.t.Helper()
	l, err := Load(m.opts)
	if err == nil || l != nil {
		m.t.Fatalf("loaded %+v, want an error with %q", l, parts)
	}
	for _, p := range parts {
		if !strings.Contains(err.Error(), p) {
			m.t.Errorf("error %q, want it to say %q", err, p)
		}
	}
}

func TestLoadNothing(t *testing.T) {
	m := newMachine(t)
	l := m.load()
	if len(l.Layers) != 0 || l.Ceiling != nil || len(l.Files) != 4 {
		t.Errorf("%+v, want no layer and four files looked for", l)
	}
	for _, f := range l.Files {
		if f.Present {
			t.Errorf("%s is present", f.Path)
		}
	}
}

func TestLoadEveryLayer(t *testing.T) {
	m := newMachine(t)
	m.write("etc/carrel/config.yaml", "nested: none\nopen_urls: show\nceiling: {network: closed}\npresets: {a: {command: [x]}}\n")
	m.write("home/u/.config/carrel/config.yaml", "home: full\nopen_urls: browser\npresets: {a: {command: [y]}, b: {persona: agent}}\n")
	m.write("p/.carrel.yaml", "display: {virtual_display: true}\nopen_urls: show\n")
	c := m.write("c.json", `{"network": "local"}`)
	m.opts.Environ = []string{"PATH=/bin", "CARREL=1", "CARREL_WORKSPACE=w", "CARREL_ALLOW_DESKTOP_GUI=no", "CARREL_PERMISSIONS=" + c}
	l := m.load()
	var kinds []policy.LayerKind
	for _, layer := range l.Layers {
		kinds = append(kinds, layer.Kind)
	}
	want := []policy.LayerKind{policy.LayerOperator, policy.LayerEnvironment, policy.LayerUser, policy.LayerProject}
	if len(kinds) != len(want) {
		t.Fatalf("layers %v, want %v", kinds, want)
	}
	for i := range want {
		if kinds[i] != want[i] {
			t.Errorf("layer %d is %v, want %v", i, kinds[i], want[i])
		}
	}
	switch {
	case l.Layers[0].Ceiling.Network.V != policy.NetClosed, l.Ceiling.Network.V != policy.NetLocal:
		t.Errorf("ceilings: %+v, %+v", l.Layers[0].Ceiling, l.Ceiling)
	case l.Layers[2].Request.OpenURLs.V != "browser", len(l.Presets) != 2, l.Presets[0].Command[0] != "y":
		t.Errorf("the user's settings do not stand above the operator's: %+v", l)
	case len(l.Warnings) != 1 || l.Warnings[0].Source.Line != 2:
		t.Errorf("warnings %v, want one for the project's open_urls", l.Warnings)
	}
	if e, err := policy.Decide(policy.Scope{Cwd: "/p", Project: "/p"}, l.Ceiling, l.Layers); err != nil || e.Display != policy.DisplayVirtual || e.Nested != policy.NestedNone || e.OpenURLs != policy.LinksShow {
		t.Errorf("decided %+v, %v", e, err)
	}
	var keys []string
	for _, s := range Show(l) {
		if s.Source.File == "" && s.Source.Text == "" {
			t.Errorf("setting %s has no source", s.Key)
		}
		keys = append(keys, s.Key)
	}
	if all := strings.Join(keys, " "); !strings.Contains(all, "nested") || !strings.Contains(all, "CARREL_ALLOW_DESKTOP_GUI") || !strings.Contains(all, "display.virtual_display") {
		t.Errorf("shown keys: %s", all)
	}
}

// TestEngineIsTheOperators: what the operator names nobody else changes; "auto"
// leaves it to the user, and a project's file is not asked.
func TestEngineIsTheOperators(t *testing.T) {
	for _, tt := range []struct{ operator, user, want string }{
		{"", "", ""}, {"", "bubblewrap", "bubblewrap"}, {"namespaces", "", "namespaces"},
		{"namespaces", "bubblewrap", "namespaces"}, {"auto", "bubblewrap", "bubblewrap"}, {"bubblewrap", "auto", "bubblewrap"},
	} {
		m := newMachine(t)
		for file, word := range map[string]string{"etc/carrel/config.yaml": tt.operator, "home/u/.config/carrel/config.yaml": tt.user} {
			if word != "" {
				m.write(file, "engine: "+word+"\n")
			}
		}
		m.write("p/.carrel.yaml", "engine: bubblewrap\n")
		got := ""
		if e := m.load().Settings.Engine; e != nil {
			got = e.V
		}
		if got != tt.want {
			t.Errorf("operator %q, user %q: %q, want %q", tt.operator, tt.user, got, tt.want)
		}
	}
}

func TestAllFilesMistakesTogether(t *testing.T) {
	m := newMachine(t)
	m.write("home/u/.config/carrel/config.yaml", "home: ful\n")
	m.write("p/.carrel.yaml", "nested: 1\nx: 2\n")
	m.opts.Environ = []string{"CARREL_NETWORK=wide"}
	m.fails("config.yaml:1:7: home: ", ".carrel.yaml:1:9: nested: ", ".carrel.yaml:2:1: unknown key", `CARREL_NETWORK: "wide" is not one of`)
}

// TestVariables holds the exact tokens. Everything else is a mistake: a typing
// error in what restricts must not read as "not set".
func TestVariables(t *testing.T) {
	for _, name := range []string{"CARREL_ALLOW_DESKTOP_GUI", "CARREL_VIRTUAL_DISPLAY"} {
		for token, want := range map[string]bool{"1": true, "true": true, "yes": true, "0": false, "false": false, "no": false} {
			l, err := Load(Options{Root: t.TempDir(), Environ: []string{name + "=" + token}})
			if err != nil {
				t.Fatalf("%s=%s: %v", name, token, err)
			}
			r := l.Layers[0].Request
			v := r.AllowDesktopGUI
			if name == "CARREL_VIRTUAL_DISPLAY" {
				v = r.VirtualDisplay
			}
			if v == nil || v.V != want || v.Source.Text != name || v.Source.Layer != policy.LayerEnvironment {
				t.Errorf("%s=%s: %+v", name, token, v)
			}
		}
		for _, token := range []string{"", "TRUE", "True", "on", "off", " 1", "1 ", "maybe", "2", "\xff"} {
			_, err := Load(Options{Root: t.TempDir(), Environ: []string{name + "=" + token}})
			if err == nil || !strings.HasPrefix(err.Error(), name+": ") || !strings.Contains(err.Error(), "is not one of 1, true, yes or 0, false, no") {
				t.Errorf("%s=%q: error %v", name, token, err)
			}
		}
	}
	for entry, want := range map[string]string{
		"CARREL_PERSONA=Agent":          `CARREL_PERSONA: "Agent" is not one of human, agent; did you mean agent?`,
		"CARREL_NETWORK=":               `CARREL_NETWORK: "" is not one of closed, local, api, filtered, open`,
		"CARREL_ALLOW_DESKTOP_GIU=0":    `CARREL_ALLOW_DESKTOP_GIU: Carrel does not know this variable; did you mean CARREL_ALLOW_DESKTOP_GUI?`,
		"CARREL_X=0":                    `CARREL_X: Carrel does not know this variable; there are CARREL_ALLOW_DESKTOP_GUI, CARREL_VIRTUAL_DISPLAY, CARREL_PERSONA, CARREL_NETWORK, CARREL_PERMISSIONS, CARREL_HISTORY_DIR`,
		"CARREL_PERMISSIONS=rel":        `CARREL_PERMISSIONS: "rel" is relative and the working directory is not known`,
		"CARREL_PERMISSIONS=/no/such/f": `CARREL_PERMISSIONS: there is no ceiling file "/no/such/f"`,
	} {
		if _, err := Load(Options{Root: t.TempDir(), Environ: []string{entry}}); err == nil || err.Error() != want {
			t.Errorf("%s:\n got %v\nwant %s", entry, err, want)
		}
	}
	twice := []string{"CARREL_NETWORK=closed", "CARREL_NETWORK=open"}
	if _, err := Load(Options{Root: t.TempDir(), Environ: twice}); err == nil || !strings.Contains(err.Error(), "set twice") {
		t.Errorf("a variable set twice: %v", err)
	}
	l, err := Load(Options{Root: t.TempDir(), Environ: []string{"CARREL_NETWORK=inherit_host", "CARREL_PERSONA=agent"}})
	if err != nil || l.Layers[0].Request.Network.V != policy.NetOpen || l.Layers[0].Request.Persona.V != policy.Agent {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestCeilingFile(t *testing.T) {
	m := newMachine(t)
	file := m.write("c.yaml", "network: closed")
	m.opts.Permissions = "../c.yaml" // relative to the working directory
	if l := m.load(); l.Ceiling.Network.V != policy.NetClosed || l.Ceiling.Network.Source.File != file {
		t.Errorf("%+v", l.Ceiling)
	}
	m.opts.Environ = []string{"CARREL_PERMISSIONS=/no/such"}
	m.load() // the flag stands above the variable
	m.write("c.yaml", "")
	m.fails("c.yaml: the ceiling is empty")
	m.must(os.Remove(file))
	m.fails("--permissions: there is no ceiling file")
	m.must(os.Mkdir(file, 0o755))
	m.fails("c.yaml: reading the configuration: not a regular file")
	m.opts.Permissions = m.write("p/ceiling.yaml", "home: none")
	if l := m.load(); len(l.Warnings) != 1 || !strings.Contains(l.Warnings[0].Message, "inside the project") {
		t.Errorf("warnings %v, want one: the workspace can change the ceiling", l.Warnings)
	}
}

// TestHostileProject: whatever a repository puts at its configuration's place,
// nothing of the machine is read through it, and nothing waits.
func TestHostileProject(t *testing.T) {
	for name, tt := range map[string]struct {
		make func(m *machine)
		want string
	}{
		"symlink": {func(m *machine) { m.must(os.Symlink("/etc/hostname", m.opts.Project+"/.carrel.yaml")) }, "a symlink"},
		"symlink inside": {func(m *machine) {
			m.write("p/real.yaml", "home: none")
			m.must(os.Symlink("real.yaml", m.opts.Project+"/.carrel.yaml"))
		}, "a symlink"},
		"dangling symlink": {func(m *machine) { m.must(os.Symlink("nowhere", m.opts.Project+"/.carrel.yaml")) }, "a symlink"},
		"symlinked directory": {func(m *machine) {
			m.write("outside/config.yaml", "home: none")
			m.must(os.Symlink("../outside", m.opts.Project+"/.carrel"))
		}, "a symlink"},
		"symlink in the directory": {func(m *machine) {
			m.must(os.Mkdir(m.opts.Project+"/.carrel", 0o755))
			m.must(os.Symlink("/etc/hostname", m.opts.Project+"/.carrel/config.yaml"))
		}, "a symlink"},
		"directory": {func(m *machine) { m.must(os.Mkdir(m.opts.Project+"/.carrel.yaml", 0o755)) }, "not a regular file"},
		"too large": {func(m *machine) { m.write("p/.carrel.yaml", strings.Repeat("#\n", maxFile/2+1)) }, "larger than 1 MiB"},
		"both": {func(m *machine) {
			m.write("p/.carrel.yaml", "")
			m.write("p/.carrel/config.yaml", "")
		}, "a project has one configuration file"},
		"alias bomb": {func(m *machine) { m.write("p/.carrel.yaml", "read: &a [x]\nwrite: [*a, *a, *a]") }, "is not possible here"},
		"binary":     {func(m *machine) { m.write("p/.carrel.yaml", "\x7fELF") }, "control character 0x7f"},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine(t)
			tt.make(m)
			m.fails(tt.want, m.opts.Project)
		})
	}
}

func TestProjectPlaces(t *testing.T) {
	for _, name := range []string{".carrel.yaml", ".carrel/config.yaml"} {
		m := newMachine(t)
		file := m.write("p/"+name, "home: none")
		if l := m.load(); len(l.Layers) != 1 || l.Layers[0].Name != file || l.Layers[0].Kind != policy.LayerProject {
			t.Errorf("%s: %+v", name, l.Layers)
		}
	}
	m := newMachine(t)
	m.write("p/.carrel", "a file, no directory")
	if l := m.load(); len(l.Layers) != 0 {
		t.Errorf("%+v", l.Layers)
	}
	m.opts.Project = filepath.Join(m.opts.Root, "p\xff\n")
	m.must(os.Mkdir(m.opts.Project, 0o755))
	m.must(os.WriteFile(m.opts.Project+"/.carrel.yaml", []byte("hom: 1"), 0o644))
	m.fails(`p\xff\n/.carrel.yaml":1:1: unknown key "hom" here; did you mean home?`)
}

func TestUserFile(t *testing.T) {
	for _, tt := range []struct{ home, config, want string }{
		{"/h", "", "/h/.config/carrel/config.yaml"},
		{"/h", "rel", "/h/.config/carrel/config.yaml"},
		{"/h", "/x", "/x/carrel/config.yaml"},
		{"", "/x", "/x/carrel/config.yaml"},
		{"", "", ""},
		{"rel", "", ""},
	} {
		if got := UserFile(Options{Home: tt.home, ConfigHome: tt.config}); got != tt.want {
			t.Errorf("home %q, config %q: %q, want %q", tt.home, tt.config, got, tt.want)
		}
	}
	m := newMachine(t)
	m.must(os.Symlink("real", m.opts.Home+"/.config/carrel/config.yaml"))
	m.write("home/u/.config/carrel/real", "home: none")
	if l := m.load(); len(l.Layers) != 1 {
		t.Error("a user's own symlink is followed: dot files are kept so")
	}
	m = newMachine(t)
	m.opts.Project = m.opts.Home
	m.write("home/u/.config/carrel/config.yaml", "home: none")
	if l := m.load(); len(l.Warnings) != 1 {
		t.Errorf("warnings %v, want one: the configuration lies in the project", l.Warnings)
	}
}

func TestUnreadable(t *testing.T) {
	m := newMachine(t)
	m.must(os.Mkdir(m.opts.Home+"/.config/carrel/config.yaml", 0o755))
	m.fails("config.yaml: reading the configuration: not a regular file")
}

func TestCheck(t *testing.T) {
	m := newMachine(t)
	if ps, ws := Check(m.write("a.yaml", "home: none"), KindUser); ps != nil || ws != nil {
		t.Errorf("%v", ps)
	}
	if ps, _ := Check(m.write("a.yaml", "home: 1\nx: 1"), KindUser); len(ps) != 2 || ps[1].Line != 2 {
		t.Errorf("%v", ps)
	}
	ps, ws := Check(m.write("a.yaml", "audit:\n  required: true"), KindProject)
	if ps != nil || len(ws) != 1 || ws[0].Source.Line != 1 || !strings.Contains(ws[0].Message, "ignored") {
		t.Errorf("a key of the user in a project's file: %v, %v", ps, ws)
	}
	if text := (Problem{Message: "a"}).Error(); text != "a" {
		t.Errorf("a problem of no place reads %q", text)
	}
	if ps, _ := Check(filepath.Join(m.opts.Root, "none"), KindUser); len(ps) != 1 {
		t.Errorf("%v", ps)
	}
}
