package config

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"carrel/internal/policy"
)

// messages decodes a text as one kind of file and returns what is wrong.
func messages(kind Kind, text string) []string {
	_, problems := decodeFile([]byte(text), "f", kind, Options{BuiltinPresets: []string{"shell"}})
	var out []string
	for _, p := range problems {
		out = append(out, p.Error())
	}
	return out
}

// TestMistakes holds the exact words: they are what people search for.
func TestMistakes(t *testing.T) {
	user := []struct{ text, want string }{
		{"netwrk: closed", `f:1:1: unknown key "netwrk" here; did you mean network?`},
		{"qqqqqqqq: 1", `f:1:1: unknown key "qqqqqqqq" here; there are persona, isolation, network, display, virtual_commands, environment, home, nested, history, secrets, agent_home, devices, programs, resources, read, write, deny, protect, presets, projects, extra_mounts, credentials, host_commands, toolchain, rpc_host, dangerously_allow_unsandboxed_host_exec, open_urls, backend, container, lima, vm, engine, agents, agent_config_dir, safeguards, approvals, audit`},
		{"display:\n  virtual: true", `f:2:3: unknown key "virtual" in display; there are mode, allow_desktop_gui, virtual_display, watch_vnc, clipboard, size, gl`},
		{"display:\n  virtual_displey: true", `f:2:3: unknown key "virtual_displey" in display; did you mean virtual_display?`},
		{"network: opne", `f:1:10: network: "opne" is not one of closed, local, api, filtered, open; did you mean open?`},
		{"network: {mode: wide}", `f:1:17: network.mode: "wide" is not one of closed, local, api, filtered, open`},
		{"network: {allow_hosts: ['*']}", `f:1:25: network.allow_hosts: host "*" would be every host: use --network open`},
		{"network: {allow_hosts: [127.1]}", `f:1:25: network.allow_hosts: want text, got the number 127.1: write it in quotes`},
		{"network: {allow_hosts: [0x7f.1.1.1]}", `f:1:25: network.allow_hosts: host "0x7f.1.1.1" is a number or an IPv4 address in an odd spelling; write four decimal parts`},
		{"network: {deny_hosts: ['a:0']}", `f:1:24: network.deny_hosts: host "a:0" has no port between 1 and 65535`},
		{"network: {host_ports: [0, 3000, x]}", "f:1:24: network.host_ports: \"0\" is not a port: want a number from 1 to 65535\nf:1:33: network.host_ports: \"x\" is not a port: want a number from 1 to 65535"},
		{"network: {host_ports: 3000}", `f:1:23: network.host_ports: want a list, got the number 3000`},
		{"network: {host_ports: [1.5]}", `f:1:24: network.host_ports: want text, got the number 1.5: write it in quotes`},
		{"network: {publish: ['3000:']}", `f:1:21: network.publish: "3000:" is neither INSIDE nor INSIDE:HOST, with ports from 1 to 65535`},
		{"network: {unix_sockets: [x.sock]}", `f:1:26: network.unix_sockets: "x.sock" is not an absolute path`},
		{"network: {on_unknown: maybe}", `f:1:23: network.on_unknown: "maybe" is not one of deny, ask`},
		{"network: {host_ports:}", `f:1:22: network.host_ports: nothing stands here: leave the key out, or write []`},
		{"network: [open]", `f:1:10: network: want a mapping, got a list`},
		{"persona: 1", `f:1:10: persona: want text, got the number 1: write it in quotes`},
		{"persona:", `f:1:9: persona: want text, got nothing: write it in quotes`},
		{"read: /data", `f:1:7: read: want a list, got "/data"`},
		{"read: [~]", `f:1:8: read: ~ alone is null in YAML: write "~" in quotes`},
		{"read: [1.5]", `f:1:8: read: want text, got the number 1.5: write it in quotes`},
		{"read: [2001-01-01]", `f:1:8: read: want text, got the date 2001-01-01: write it in quotes`},
		{"read: ['']", `f:1:8: read: the path is empty`},
		{`read: ["a\0b"]`, `f:1:8: read: the text holds a NUL byte`},
		{"read:", `f:1:6: read: nothing stands here: leave the key out, or write []`},
		{"display:", `f:1:9: display: nothing stands here: leave the key out, or write {}`},
		{"display: {watch_vnc: yes}", `f:1:22: display.watch_vnc: want true or false, got "yes"`},
		{"display: {watch_vnc: True}", `f:1:22: display.watch_vnc: want true or false, got the boolean True`},
		{"resources: {memory: lots}", `f:1:21: resources.memory: "lots" is not a size: write it like 512MiB or 2g`},
		{"resources: {memory: -1}", `f:1:21: resources.memory: "-1" is not a size: write it like 512MiB or 2g`},
		{"resources: {memory: 9999999999g}", `f:1:21: resources.memory: "9999999999g" is more than any machine has`},
		{"resources: {timeout: 30}", `f:1:22: resources.timeout: "30" is not a duration: write it like 30s, 5m or 1h30m`},
		{"resources: {timeout: -3s}", `f:1:22: resources.timeout: "-3s" is negative`},
		{"resources: {timeout: [3s]}", `f:1:22: resources.timeout: want a duration like 30s, got a list`},
		{"resources: {pids: 0x10}", `f:1:19: resources.pids: "0x10" is not a whole number of 0 or more`},
		{"resources: {pids: 99999999999999999999}", `f:1:19: resources.pids: "99999999999999999999" is out of range`},
		{"home: full\nhome: none", `f:2:1: home: the key stands twice, first in line 1`},
		{"environment: {set: {A: 1}}", `f:1:24: environment.set.A: want text, got the number 1: write it in quotes`},
		{"read: &x [a]\nwrite: *x", "f:1:7: read: an anchor (\"&x\") is not possible here\nf:2:8: write: an alias (\"*x\") is not possible here: write the value itself"},
		{"<<: {home: full}", `f:1:1: a merge key (<<) is not possible here`},
		{"home: !!str full", `f:1:7: home: the tag "!!str" is not possible here`},
		{"home: !x full", `f:1:7: home: the tag "!x" is not possible here`},
		{"read: [!!binary '*']", `f:1:8: read: !!binary is not base64: illegal base64 data at input byte 0`},
		{"[a]: b", `f:1:1: want text, got a list`},
		{"- a", `f:1:1: want a mapping, got a list`},
		{"hello", `f:1:1: want a mapping, got "hello"`},
		{"home: full\n---\nhome: none", `f:2:1: a second document begins here: one file holds one document`},
		{"home: [full\nnested: none", `f:2:7: not YAML: while parsing a flow sequence: did not find expected ',' or ']'`},
		{"a:\n\t- x", `f:2:1: not YAML: while scanning for the next token: found character that cannot start any token`},
		{"read: [\"a\xff\"]", `f:1:10: byte 0xff is not UTF-8: write a path that is not UTF-8 as !!binary and base64`},
		{"home: full\n# \x1b[2J", `f:2:3: control character 0x1b: write it as an escape in double quotes`},
		{"ceiling: {home: none}", `f:1:1: ceiling: this key belongs in the operator file`},
		{"presets: {shell: {}}", `f:1:11: presets.shell: "shell" is a built-in preset: choose another name`},
		{"presets: {'a b': {}}", `f:1:11: presets.a b: "a b" is not a preset's name: use up to 64 letters, digits, dots, dashes and underscores`},
		{"presets: {x: {comand: [a]}}", `f:1:15: unknown key "comand" in presets.x; did you mean command?`},
		{"open_urls: ask", `f:1:12: open_urls: "ask" is not one of show, browser, none`},
		{"hoem: full\nnested: sum", "f:1:1: unknown key \"hoem\" here; did you mean home?\nf:2:9: nested: \"sum\" is not one of none, userns, full"},
		{strings.Repeat("[", 100), `f:1:33: not YAML: while increasing flow level: exceeded max depth of 32`},
		{"# " + strings.Repeat("x", maxFile), `f: the file is larger than 1 MiB`},
	}
	for _, tt := range user {
		if got := strings.Join(messages(KindUser, tt.text), "\n"); got != tt.want {
			t.Errorf("%.60q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
	ceiling := []struct{ text, want string }{
		{"", `f: the ceiling is empty: an empty file is no ceiling, and you asked for one`},
		{"# nothing\n", `f: the ceiling is empty: an empty file is no ceiling, and you asked for one`},
		{"null", `f:1:1: want a mapping, got nothing`},
		{"mounts: [{mode: read_only}]", `f:1:10: mounts: the key host_path is missing`},
		{"mounts: [{host_path: rel}]", `f:1:22: mounts.host_path: "rel" is not an absolute path`},
		{"mounts: [{host_path: /a, mode: rw}]", `f:1:32: mounts.mode: "rw" is not one of read_only, read_write`},
		{"apps: {allow: [./a]}", `f:1:16: apps.allow: "./a" is neither a program's name nor an absolute path`},
		{"devices: [kvm]", `f:1:11: devices: "kvm" is not an absolute path`},
		{"network: {unix_sockets: [~/a]}", `f:1:26: network.unix_sockets: "~/a" is not an absolute path`},
		{"read: [/a]", `f:1:1: unknown key "read" here; there are network, mounts, apps, display, isolation, home, nested, history, secrets, agent_home, devices, resources, virtual_commands, open_urls, host_commands, undo, credentials, expires`},
	}
	for _, tt := range ceiling {
		if got := strings.Join(messages(KindCeiling, tt.text), "\n"); got != tt.want {
			t.Errorf("ceiling %q:\n got %s\nwant %s", tt.text, got, tt.want)
		}
	}
}

const fullConfig = `
persona: agent
read: [/data, docs, "~/x", !!binary L2RhdGEv/w==]
write: [":tmp/w"]
deny: ["*.key", secrets/private, ":home/y", name]
protect: [Makefile, ./a/b]
network: {mode: inherit_host, allow_hosts: ["a.example:443"]}
display: {mode: virtual, allow_desktop_gui: false, virtual_display: true, watch_vnc: true}
environment: {pass: [EDITOR, "LC_*"], set: {CI: "1"}, drop: [X]}
home: none
nested: full
history: off
devices: [/dev/kvm]
programs: {allow: []}
resources: {timeout: 1h30m, memory: 1.5GiB, pids: 64}
open_urls: browser
agents: {prompts_off: true}
presets:
  dev:
    command: [make, -j4]
    description: build
    network: closed
    write: [out]
  bot: {command: [bot], persona: agent}
`

func TestFullConfig(t *testing.T) {
	d, problems := decodeFile([]byte(fullConfig), "/h/config.yaml", KindUser, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := d.request
	wantFiles := []policy.FileRequest{
		{Place: "/data", Access: policy.Read}, {Place: ":project/docs", Access: policy.Read},
		{Place: "~/x", Access: policy.Read}, {Place: "/data/\xff", Access: policy.Read},
		{Place: ":tmp/w", Access: policy.Write},
		{Place: "*.key", Glob: true, Access: policy.Deny}, {Place: ":project/secrets/private", Access: policy.Deny},
		{Place: ":home/y", Access: policy.Deny}, {Place: "name", Glob: true, Access: policy.Deny},
		{Place: "Makefile", Glob: true, Access: policy.Read}, {Place: ":project/a/b", Glob: true, Access: policy.Read},
	}
	for i, want := range wantFiles {
		got := r.Files[i]
		if got.Source.File != "/h/config.yaml" || got.Source.Line == 0 || got.Source.Column == 0 || got.Source.Layer != policy.LayerUser {
			t.Errorf("%s: source %+v is not whole", got.Place, got.Source)
		}
		if got.Source = (policy.Source{}); got != want {
			t.Errorf("file rule %d: %+v, want %+v", i, got, want)
		}
	}
	switch {
	case r.Persona.V != policy.Agent, r.Network.V != policy.NetOpen, r.AllowHosts[0].V != "a.example:443":
		t.Errorf("persona, network: %+v", r)
	case r.Display.V != policy.DisplayVirtual, r.AllowDesktopGUI.V, !r.VirtualDisplay.V, !r.WatchVNC.V:
		t.Errorf("display: %+v", r)
	case len(r.EnvPass) != 2, r.EnvSet["CI"].V != "1", r.EnvDrop[0].V != "X":
		t.Errorf("environment: %+v", r)
	case r.Home.V != policy.HomeNone, r.Nested.V != policy.NestedFull, r.History.V != policy.HistoryOff, r.Devices[0].V != "/dev/kvm":
		t.Errorf("home, nested, devices: %+v", r)
	case r.ProgramsAllow == nil || len(r.ProgramsAllow) != 0:
		t.Errorf("programs: %v, want empty and not nil", r.ProgramsAllow)
	case r.Timeout.V != 90*time.Minute, r.Memory.V != 3<<29, r.Pids.V != 64:
		t.Errorf("resources: %+v", r)
	case r.OpenURLs.V != "browser", !d.settings.PromptsOff.V:
		t.Errorf("settings: %+v", d.settings)
	case len(d.presets) != 2:
		t.Fatalf("presets: %+v", d.presets)
	}
	dev, bot := d.presets[0], d.presets[1]
	if dev.Name != "dev" || dev.Persona != policy.Human || strings.Join(dev.Command, " ") != "make -j4" || dev.Description != "build" {
		t.Errorf("preset dev: %+v", dev)
	}
	if l := dev.Layer(); l.Kind != policy.LayerProfile || l.Request.Network.V != policy.NetClosed ||
		l.Request.Network.Source.Layer != policy.LayerProfile || l.Request.Files[0].Source.Layer != policy.LayerProfile {
		t.Errorf("layer of preset dev: %+v", l)
	}
	if bot.Persona != policy.Agent || bot.Request.Persona.V != policy.Agent {
		t.Errorf("preset bot: %+v", bot)
	}
	if r.Network.Source.Text != "network.mode" || r.Network.Source.Line != 7 {
		t.Errorf("source of the network mode: %+v", r.Network.Source)
	}
}

// TestSeedCeiling reads the file that other workspaces' users have already.
func TestSeedCeiling(t *testing.T) {
	const text = `{
  "network": {"mode": "local_only", "allow_hosts": ["localhost:3000"]},
  "mounts": [{"host_path": "/home/me/project/", "workspace_path": "/workspace/project", "mode": "read_write"}, {"host_path": "/ro"}],
  "apps": {"allow": ["/usr/bin/firefox", "npm"]},
  "display": "none", "home": "toolchains", "nested": "userns", "history": "on", "devices": [],
  "resources": {"memory": "2g", "pids": 100, "timeout": "1h"}
}`
	d, problems := decodeFile([]byte(text), "/c.json", KindCeiling, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	c := d.ceiling
	switch {
	case c.Network.V != policy.NetLocal, len(c.AllowHosts) != 0, len(c.HostPorts) != 1, c.HostPorts[0].V != 3000, c.HostPorts[0].Source.Line != 2:
		t.Errorf("network: %+v", c)
	case len(c.Mounts) != 2, c.Mounts[0].HostPath != "/home/me/project", !c.Mounts[0].Write, c.Mounts[1].Write, c.Mounts[0].Source.Line != 3:
		t.Errorf("mounts: %+v", c.Mounts)
	case len(c.ProgramsAllow) != 2, c.Display.V != policy.DisplayNone, c.Memory.V != 2<<30, c.Pids.V != 100, c.History.V != policy.HistoryOn, c.Timeout.V != time.Hour:
		t.Errorf("%+v", c)
	case c.Network.Source.Layer != policy.LayerCeiling:
		t.Errorf("source: %+v", c.Network.Source)
	}
	if len(d.warnings) != 2 {
		t.Errorf("warnings %v, want one for workspace_path and one for the empty list", d.warnings)
	}
}

// TestNetworkKeys: every list of network reaches the request and the ceiling.
func TestNetworkKeys(t *testing.T) {
	text := "network: {allow_hosts: ['preset:npm', 'GET http://a.example/'], deny_hosts: [b.example], host_ports: [5432, '80'], publish: [3000, 5173:8080], unix_sockets: [/a.sock], on_unknown: ask}\n"
	user, problems := decodeFile([]byte(text+"presets: {p: {command: [x], "+strings.TrimSpace(text)+"}}\n"), "f", KindUser, Options{})
	ceiling, more := decodeFile([]byte(text), "f", KindCeiling, Options{})
	if len(problems)+len(more) > 0 {
		t.Fatal(problems, more)
	}
	published := []policy.Publish{{Inside: 3000, Host: 3000}, {Inside: 5173, Host: 8080}}
	for layer, r := range map[policy.LayerKind]policy.Request{policy.LayerUser: user.request, policy.LayerProfile: user.presets[0].Request} {
		switch {
		case len(r.AllowHosts) != 2, r.DenyHosts[0].V != "b.example", r.HostPorts[0].V != 5432, r.HostPorts[1].V != 80, r.UnixSockets[0].V != "/a.sock", r.OnUnknown.V != policy.UnknownAsk:
			t.Errorf("%s: %+v", layer, r)
		case r.Publish[0].V != published[0], r.Publish[1].V != published[1]:
			t.Errorf("%s: published %+v", layer, r.Publish)
		case r.DenyHosts[0].Source.Layer != layer, r.HostPorts[0].Source.Layer != layer, r.Publish[0].Source.Layer != layer, r.UnixSockets[0].Source.Layer != layer, r.OnUnknown.Source.Layer != layer:
			t.Errorf("%s: a source says another layer: %+v", layer, r)
		}
	}
	c := ceiling.ceiling
	if len(c.AllowHosts) != 2 || c.DenyHosts[0].V != "b.example" || len(c.HostPorts) != 2 || len(c.Publish) != 2 || len(c.UnixSockets) != 1 || c.OnUnknown.V != policy.UnknownAsk {
		t.Errorf("ceiling: %+v", c)
	}
	none, more := decodeFile([]byte("network: {host_ports: [], publish: [], unix_sockets: []}"), "f", KindCeiling, Options{})
	if len(more) > 0 || none.ceiling.HostPorts == nil || none.ceiling.Publish == nil || none.ceiling.UnixSockets == nil {
		t.Errorf("empty lists of a ceiling: %+v, %v; want them to be there", none.ceiling, more)
	}
}

func TestParsePublish(t *testing.T) {
	for text, want := range map[string]policy.Publish{"3000": {Inside: 3000, Host: 3000}, "1:65535": {Inside: 1, Host: 65535}} {
		if got, err := ParsePublish(text); err != nil || got != want {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":", "0", "65536", "1:0", "1:2:3", "+1", "01", "1:", "0x10", " 1"} {
		if got, err := ParsePublish(text); err == nil {
			t.Errorf("%q: %+v, want an error", text, got)
		}
	}
}

// TestProjectKeys: what belongs to the user is ignored aloud, without a look
// at its value.
func TestProjectKeys(t *testing.T) {
	d, problems := decodeFile([]byte("network: closed\npresets: {x: 3}\nopen_urls: 1\nagents: 2\nceiling: {}\nengine: bubblewrap\n"), "/p/.carrel.yaml", KindProject, Options{})
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	if len(d.warnings) != 5 || d.warnings[0].Source.Line != 2 || d.warnings[0].Source.Text != "presets" || d.warnings[0].Source.File != "/p/.carrel.yaml" {
		t.Errorf("warnings %+v, want five, the first of line 2", d.warnings)
	}
	if d.request.Network.Source.Layer != policy.LayerProject || d.ceiling != nil || len(d.presets) != 0 || d.settings.Engine != nil {
		t.Errorf("%+v", d)
	}
}

func TestUnits(t *testing.T) {
	for text, want := range map[string]int64{"0": 0, "1": 1, "2g": 2 << 30, "512MiB": 512 << 20, "1KB": 1000, "1k": 1024, "1.5k": 1536, "7b": 7, "1T": 1 << 40} {
		if got, err := ParseSize(text); err != nil || got != want {
			t.Errorf("ParseSize(%q) = %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "g", "1x", "1 g", "1e3", "0x1", "inf", "NaN", "1.2.3", "9223372036854775808", "8388608t"} {
		if got, err := ParseSize(text); err == nil {
			t.Errorf("ParseSize(%q) = %d, want an error", text, got)
		}
	}
}

// TestSchema: every key of the table is in the JSON Schema, with words.
func TestSchema(t *testing.T) {
	for _, kind := range []Kind{KindUser, KindProject, KindOperator, KindCeiling, KindProfile} {
		var top map[string]any
		if err := json.Unmarshal(SchemaOf(kind), &top); err != nil {
			t.Fatal(err)
		}
		properties := top["properties"].(map[string]any)
		for _, f := range fieldsOf(kind) {
			_, has := properties[f.key]
			if want := f.in == 0 || f.in.has(kind); has != want {
				t.Errorf("%s: key %s in the schema = %v, want %v", kind, f.key, has, want)
			}
		}
	}
	eachField(slices.Concat(configFields(), definitionFields()), func(f field) {
		if f.doc == "" || f.key == "" || f.typ == 0 {
			t.Errorf("field %+v has no key, type or words", f.key)
		}
	})
}

func eachField(fields []field, visit func(field)) {
	for _, f := range fields {
		visit(f)
		eachField(f.sub, visit)
	}
}

func FuzzDecodeConfig(f *testing.F) {
	for _, seed := range []string{fullConfig, "network: {allow_hosts: ['*.a.example:443', preset:npm, 'GET http://a/'], host_ports: [1], publish: [2:3], unix_sockets: [/a], on_unknown: ask}", "extra_mounts: [~/a, {host_path: /b, guest_path: /c, writable: true}]", "", "{}", "read: [~]", "a: &a [*a]", "<<: 1", "? a", "home: !!binary eA==", "[[[[", "%YAML 1.2\n---\nhome: full\n", "\ufeffhome: full", "\xff\xfeh\x00", "home: full\n...\nx", "!%00", "!%1b[31m full", "a: &\x1b b"} {
		f.Add([]byte(seed), uint8(KindUser))
	}
	f.Fuzz(func(t *testing.T, data []byte, kind uint8) {
		k := Kind(kind%3) + KindUser
		d, problems := decodeFile(data, "f", k, Options{})
		for _, p := range problems {
			if p.Message == "" || strings.ContainsAny(p.Error(), "\x1b\x00") {
				t.Errorf("problem %q", p.Error())
			}
		}
		if len(problems) > 0 && (len(d.request.Files) > 0 || len(d.mounts) > 0 || len(d.presets) > 0 || len(d.values) > 0) {
			t.Error("a file with mistakes gave something")
		}
		// Whatever decodes must be decidable or refused, never a crash.
		scope := policy.Scope{Cwd: "/w", Project: "/w", Home: "/h", Tmp: "/tmp"}
		_, _ = policy.Decide(scope, nil, []policy.Layer{{Kind: k.layer(), Request: d.request}})
	})
}

func FuzzDecodeCeiling(f *testing.F) {
	for _, seed := range []string{`{"network":{"mode":"disabled"}}`, "mounts: [{host_path: /a}]", "mounts: [1]", "display: host", "", "resources: {pids: 1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := decodeFile(data, "f", KindCeiling, Options{})
		if (d.ceiling == nil) != (len(problems) > 0) {
			t.Errorf("ceiling %v with problems %v", d.ceiling, problems)
		}
		scope := policy.Scope{Cwd: "/w", Project: "/w", Home: "/h", Tmp: "/tmp"}
		_, _ = policy.Decide(scope, d.ceiling, []policy.Layer{policy.Defaults(policy.Agent)})
	})
}
