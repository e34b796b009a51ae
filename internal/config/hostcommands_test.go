package config

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/policy"

	"pgregory.net/rapid"
)

func TestHostCommands(t *testing.T) {
	text := "host_commands:\n- just\n- name: npm\n  args: [test, run **]\n  env: [NODE_ENV, npm_config_*]\n  hosts: [registry.npmjs.org]\n  timeout: 10m\n  ask: true\n  credentials: {env: [NPM_TOKEN], files: [~/.npmrc]}\n- {name: make, network: closed, toolchain: nix}\ntoolchain: off\nrpc_host: 127.0.0.1\n"
	for _, kind := range []Kind{KindUser, KindOperator} {
		r, problems := decodeFile([]byte(text), "f", kind, Options{})
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		var got []string
		for i, c := range r.commands {
			if v := r.request.HostCommands[i]; v.V != c.Name || v.Source != c.Source {
				t.Errorf("%s asks for %+v", c.Name, v)
			}
			got = append(got, fmt.Sprintf("%d %s %d %s %v %s %v %s %v %v %v", c.Source.Line, c.Name, len(c.Args), c.Env, c.Network, c.Timeout, c.Ask, c.Toolchain, c.SecretEnv, c.SecretFiles, c.Alone()))
		}
		want := "2 just 0 [] workspace 0s false  [] [] false\n3 npm 2 [NODE_ENV npm_config_*]  10m0s true  [NPM_TOKEN] [~/.npmrc] true\n10 make 0 [] closed 0s false nix [] [] true"
		if s := strings.Join(got, "\n"); s != want {
			t.Errorf("%s:\n got %s\nwant %s", kind, s, want)
		}
	}
	r, problems := decodeFile([]byte("host_commands: [just]\ndangerously_allow_unsandboxed_host_exec: true\nrpc_host: 0.0.0.0\ntoolchain: nix"), "f", KindProject, Options{})
	if len(problems) > 0 || len(r.commands)+len(r.request.HostCommands) > 0 || r.settings.UnsandboxedHostExec != nil || r.settings.RPCHost != nil || r.settings.Toolchain != nil || len(r.warnings) != 4 {
		t.Errorf("of a project: %v %+v", problems, r)
	}
}

func TestHostCommandsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"host_commands: just":                              "want a list",
		"host_commands: [a/b]":                             `"a/b" is not the name of a command`,
		"host_commands: [-x]":                              "is not the name",
		"host_commands: [.]":                               "is not the name",
		"host_commands: ['a;b']":                           "is not the name",
		"host_commands: [" + strings.Repeat("a", 65) + "]": "is not the name",
		"host_commands: [{args: [x]}]":                     "the key name is missing",
		"host_commands: [a, a]":                            `"a" is listed in line 1 already`,
		"host_commands: [{name: a, network: closed, hosts: [b.example]}]":        "has network and hosts",
		"host_commands: [{name: a, args: ['** x']}]":                             "** where it cannot stand",
		"host_commands: [{name: a, args: ['x**']}]":                              "** where it cannot stand",
		"host_commands: [{name: a, env: [PATH]}]":                                "not the caller's to say",
		"host_commands: [{name: a, env: [LD_PRELOAD]}]":                          "not the caller's to say",
		"host_commands: [{name: a, env: ['*']}]":                                 "is not the name of a variable",
		"host_commands: [{name: a, credentials: {env: ['A*']}}]":                 "is not the name of a variable",
		"host_commands: [{name: a, credentials: {files: [x]}}]":                  "neither an absolute path",
		"rpc_host: example.com":                                                  "is not an IP address",
		"toolchain: asdf":                                                        "asdf",
		"presets: {p: {host_commands: [a]}}":                                     `unknown key "host_commands"`,
		"host_commands: [" + strings.Repeat("x, ", maxHostCommands) + "x]":       "more than 256",
		"dangerously_allow_unsandboxed_host_exec: 'yes'":                         "want true or false",
		"host_commands: [{name: a, dangerously_allow_unsandboxed_host_exec: 1}]": "unknown key",
	} {
		r, problems := decodeFile([]byte(text), "f", KindUser, Options{})
		if len(problems) == 0 || !strings.Contains(problems.Error(), want) {
			t.Errorf("%.80q: got %v, want %q", text, problems, want)
		}
		if len(r.commands)+len(r.request.HostCommands) > 0 {
			t.Errorf("%.80q gives %+v", text, r)
		}
	}
}

// TestOperatorsHostCommand: what the operator has said of a command stands.
func TestOperatorsHostCommand(t *testing.T) {
	l := &loader{out: &Loaded{}}
	l.commands(&decoded{commands: []HostCommand{{Name: "gh", Ask: true}}})
	l.commands(&decoded{commands: []HostCommand{{Name: "gh"}, {Name: "just"}}})
	if c := l.out.Commands; len(c) != 2 || !c[0].Ask || len(l.out.Warnings) != 1 {
		t.Errorf("%+v, %v", c, l.out.Warnings)
	}
}

func TestArgPatterns(t *testing.T) {
	for _, c := range []struct {
		pattern string
		args    []string
		want    bool
	}{
		{"", nil, true}, {"", []string{"x"}, false}, {"**", nil, true}, {"**", []string{"a", ""}, true},
		{"run **", []string{"run"}, true}, {"run **", []string{"runs"}, false}, {"run *", []string{"run"}, false}, {"run *", []string{"run", "a b"}, true},
		{"run *", []string{"run", "a", "b"}, false}, {"-j* all", []string{"-j12", "all"}, true}, {"a*b*c", []string{"abxbc"}, true}, {"a*b*c", []string{"ac"}, false},
		{"a*a", []string{"a"}, false}, {"test", []string{"test;x"}, false}, {"*", []string{"\xff\n"}, true},
	} {
		if got := (ArgPattern{Words: strings.Fields(c.pattern)}).Matches(c.args); got != c.want {
			t.Errorf("%q for %q: %t", c.pattern, c.args, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.StringMatching("[abc]{0,3}"), 1, 4).Draw(t, "parts")
		fill := rapid.SliceOfN(rapid.StringMatching("[abc]{0,3}"), len(parts), len(parts)).Draw(t, "fill")
		text := parts[0]
		for i, p := range parts[1:] {
			text += fill[i] + p
		}
		if !starMatch(strings.Join(parts, "*"), text) {
			t.Fatalf("%q does not match %q", parts, text)
		}
	})
}

// TestHostCommandsDecided: a project lists none, and nobody more than a ceiling does.
func TestHostCommandsDecided(t *testing.T) {
	scope := policy.Scope{Project: "/p", Cwd: "/p", Tmp: "/tmp"}
	layers := []policy.Layer{{Kind: policy.LayerUser, Request: policy.Request{HostCommands: valuesOf("just", "gh")}}, policy.Defaults(policy.Agent),
		{Kind: policy.LayerProject, Request: policy.Request{HostCommands: valuesOf("rm")}}}
	e, err := policy.Decide(scope, &policy.Ceiling{HostCommands: valuesOf("gh", "just", "npm")}, layers)
	if err != nil || len(e.HostCommands) != 2 || e.HostCommands[0].V != "just" || len(e.Warnings) != 1 {
		t.Errorf("%+v %v", e, err)
	}
	if _, err := policy.Decide(scope, &policy.Ceiling{HostCommands: valuesOf("just")}, layers); len(policy.Refusals(err)) != 1 {
		t.Errorf("beyond the ceiling: %v", err)
	}
}
