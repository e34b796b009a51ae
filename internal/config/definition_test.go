package config

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"carrel/internal/policy"
)

const fullDefinition = `# a comment
description: "All of it"
size: {width: 1280, height: 800}
cwd: ~/src/shop/
env: {B: "2", A: "it's \"a\": 1"}
mounts:
- host_path: /data
- {host_path: ~/ref, workspace_path: /ref, mode: read_write}
setup:
- {name: deps, command: [npm, ci], cwd: web, env: {CI: "1"}, timeout: 5m}
- command: [/bin/true]
apps:
- {name: server, command: [npm, run, dev, ""]}
strict: true
persona: agent
network: {mode: filtered, allow_hosts: [example.com, preset:npm], deny_hosts: [b.example], host_ports: [5432], publish: ["80:8080", 5173], unix_sockets: [~/s], on_unknown: ask}
display: {mode: none, allow_desktop_gui: false, virtual_display: true, watch_vnc: false}
environment: {pass: [TERM*], set: {C: c}, drop: [D]}
home: toolchains
nested: userns
history: "on"
devices: [/dev/kvm]
programs: {allow: []}
resources: {timeout: 0, memory: 2g, pids: 100}
read: [~/x, y]
write: [:project/out, !!binary L2RhdGEv/w==]
deny: ['*.pem', ./secret, "~"]
protect: [./conf, '**/*.lock']
`

func TestDecodeDefinition(t *testing.T) {
	def, err := DecodeDefinition([]byte(fullDefinition), "/p.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if def.Width != 1280 || def.Height != 800 || def.Cwd != "~/src/shop" || !def.Strict || len(def.Env) != 2 || def.Env[0].Value != "2" {
		t.Errorf("got %+v", def)
	}
	if m := def.Mounts; len(m) != 2 || m[0].Workspace != "/data" || m[0].Write || m[1].Workspace != "/ref" || !m[1].Write || m[1].Source.Line != 8 {
		t.Errorf("mounts %+v", def.Mounts)
	}
	if c := def.Setup; len(c) != 2 || c[0].Name != "deps" || c[0].Cwd != "web" || c[0].Timeout != 5*time.Minute || len(c[0].Env) != 1 || c[1].Argv[0] != "/bin/true" {
		t.Errorf("setup %+v", def.Setup)
	}
	if c := def.Apps; len(c) != 1 || len(c[0].Argv) != 4 || c[0].Argv[3] != "" {
		t.Errorf("apps %+v", def.Apps)
	}
	if n := def.Request.Network; n.V != policy.NetFiltered || n.Source.Layer != policy.LayerProfile || n.Source.Line != 16 {
		t.Errorf("network %+v", n)
	}
	if def.Request.ProgramsAllow == nil || len(def.Request.Files) != 9 {
		t.Errorf("programs %v, files %v", def.Request.ProgramsAllow, def.Request.Files)
	}
}

func TestDefinitionMistakes(t *testing.T) {
	tests := []struct{ text, want string }{
		{"", ""},
		{"# nothing", ""},
		{"{}", ""},
		{"netwrk: open", `p:1:1: unknown key "netwrk" here; did you mean network?`},
		{"presets: {}", `p:1:1: unknown key "presets" here`},
		{"size: {width: 1}", "p:1:15: size.width: a size has a width and a height: one of them is missing"},
		{"size: {width: 0, height: 2}", "p:1:15: size.width: 0 is not a number of pixels"},
		{"size: {width: 1, height: 99999}", "size.height: 99999 is not a number of pixels from 1 to 16384"},
		{"cwd: src", `p:1:6: cwd: "src" is neither an absolute path nor one in ~`},
		{"cwd: /a/../b", `"/a/../b" has .. in it`},
		{"cwd: ~", "null in YAML"},
		{"env: {A: 1}", "want text, got the number 1"},
		{"env: {'A=B': x}", `"A=B" is not the name of a variable`},
		{"env: {A: x, A: y}", "the key stands twice"},
		{"env: {A: x}\nenvironment: {set: {A: y}}", `p:1:10: env.A: "A" stands in environment.set too, in line 2`},
		{"setup: [{name: a}]", "p:1:9: setup: the key command is missing"},
		{"setup: [{command: []}]", "p:1:19: setup.command: the list is empty"},
		{"setup: [{command: ['']}]", "the program is empty"},
		{"setup: [{command: npm ci}]", `want a list, got "npm ci"`},
		{"apps: [{command: [a], timeout: 1s}]", `unknown key "timeout" in apps`},
		{"apps: [{command: [a], name: 'a b'}]", `"a b" is not a name`},
		{"apps: [{command: [a], name: x}, {command: [b], name: x}]", `the name "x" stands twice`},
		{"apps: [{command: [a], cwd: ../x}]", "has .. in it"},
		{"apps: [{command: [a], cwd: ~bob}]", "another user's home"},
		{"mounts: [{mode: read_only}]", "the key host_path is missing"},
		{"mounts: [{host_path: x}]", `"x" is neither an absolute path`},
		{"mounts: [{host_path: /x, mode: write}]", `"write" is not one of read_only, read_write`},
		{"mounts: [{host_path: /x}, {host_path: /x}]", `"/x" is the place of another mount too, in line 1`},
		{"mounts: [{host_path: /x}, {host_path: /x, workspace_path: /y, mode: read_write}]", `"/x" has another mode in line 1`},
		{"strict: yes", "want true or false"},
		{"network: {allow_hosts: ['a b']}", "network.allow_hosts"},
	}
	for _, tt := range tests {
		_, err := DecodeDefinition([]byte(tt.text), "p")
		got := ""
		if err != nil {
			got = err.Error()
		}
		if tt.want == "" && got != "" || !strings.Contains(got, tt.want) {
			t.Errorf("%q:\n got %q\nwant %q", tt.text, got, tt.want)
		}
	}
}

// again encodes what a text means, and what that means.
func again(t interface {
	Helper()
	Fatalf(string, ...any)
}, def *Definition) (first, second []byte) {
	t.Helper()
	first, err := EncodeDefinition(def)
	if err != nil {
		t.Fatalf("encoding: %v", err)
	}
	back, err := DecodeDefinition(first, "again")
	if err != nil {
		t.Fatalf("what was written is not read back: %v\n%s", err, first)
	}
	second, err = EncodeDefinition(back)
	if err != nil {
		t.Fatalf("encoding again: %v", err)
	}
	return first, second
}

func TestEncodeDefinition(t *testing.T) {
	def, err := DecodeDefinition([]byte(fullDefinition), "p")
	if err != nil {
		t.Fatal(err)
	}
	first, second := again(t, def)
	if !bytes.Equal(first, second) {
		t.Errorf("not canonical:\n%s\n%s", first, second)
	}
	back, _ := DecodeDefinition(first, "p")
	if len(back.Settings) != len(def.Settings) {
		t.Errorf("%d values became %d:\n%s", len(def.Settings), len(back.Settings), first)
	}
	// Comments, spacing and the order of keys say nothing.
	a, _ := DecodeDefinition([]byte("home: none\nenv: {A: x, B: y}\nnetwork: open"), "p")
	b, _ := DecodeDefinition([]byte("# c\nnetwork:\n  mode: inherit_host\n\nenv:\n  B: y\n  A: x\nhome: \"none\"\n"), "q")
	one, _ := again(t, a)
	two, _ := again(t, b)
	if !bytes.Equal(one, two) {
		t.Errorf("the same in two forms:\n%s\n%s", one, two)
	}
	none, _ := again(t, &Definition{})
	empty, _ := DecodeDefinition([]byte("programs: {allow: []}"), "p")
	if some, _ := again(t, empty); bytes.Equal(none, some) {
		t.Error("no program allowed and no limit have one form")
	}
}

// TestDefinitionRoundTrip: any text in any place comes back.
func TestDefinitionRoundTrip(t *testing.T) {
	words := rapid.StringMatching(`[^\x00]*`)
	rapid.Check(t, func(t *rapid.T) {
		def := &Definition{Description: words.Draw(t, "description")}
		names := rapid.SliceOfNDistinct(rapid.StringMatching(`[^=\x00]+`), 0, 4, rapid.ID[string]).Draw(t, "names")
		for _, n := range names {
			def.Env = append(def.Env, EnvVar{Name: n, Value: words.Draw(t, "value")})
		}
		for range rapid.IntRange(0, 3).Draw(t, "commands") {
			argv := append([]string{"x"}, rapid.SliceOf(words).Draw(t, "arguments")...)
			def.Setup = append(def.Setup, Command{Argv: argv, Timeout: time.Duration(rapid.IntRange(0, 1<<40).Draw(t, "timeout"))})
		}
		first, second := again(t, def)
		if !bytes.Equal(first, second) {
			t.Fatalf("not canonical:\n%s\n%s", first, second)
		}
		back, _ := DecodeDefinition(first, "again")
		if back.Description != def.Description || len(back.Env) != len(def.Env) || len(back.Setup) != len(def.Setup) {
			t.Fatalf("got %+v, want %+v", back, def)
		}
		for i, c := range back.Setup {
			if strings.Join(c.Argv, "\x00") != strings.Join(def.Setup[i].Argv, "\x00") || c.Timeout != def.Setup[i].Timeout {
				t.Fatalf("got %+v, want %+v", c, def.Setup[i])
			}
		}
	})
}

func FuzzDecodeDefinition(f *testing.F) {
	for _, seed := range []string{fullDefinition, "", "{}", "setup: [{command: [a]}]", "mounts: [{host_path: ~/x}]", "env: {A: !!binary /w==}", "setup: [{command: []}, 1]", "size: 1", "<<: {}", "deny: ['{a,b}', ~/x, ':project/*']"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		def, err := DecodeDefinition(data, "f")
		if err != nil {
			if strings.ContainsAny(err.Error(), "\x1b\x00") {
				t.Errorf("error %q", err)
			}
			return
		}
		first, second := again(t, def)
		if !bytes.Equal(first, second) {
			t.Errorf("not canonical:\n%s\n%s", first, second)
		}
		scope := policy.Scope{Cwd: "/w", Project: "/w", Home: "/h", Tmp: "/tmp"}
		_, _ = policy.Decide(scope, nil, []policy.Layer{{Kind: policy.LayerProfile, Request: def.Request}})
	})
}
