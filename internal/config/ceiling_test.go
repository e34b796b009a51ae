package config

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
)

func ceilingOf(t *testing.T, text string) (*policy.Ceiling, []policy.Warning) {
	t.Helper()
	c, warnings, err := DecodeCeilings([]CeilingText{{Source: "/c.json", Content: []byte(text)}})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c, warnings
}

// TestLocalHosts: under local_only a host of this machine is a port that may be reached.
func TestLocalHosts(t *testing.T) {
	for text, want := range map[string][]uint16{
		`["localhost:3000"]`: {3000}, `["127.0.0.1:3000", "[::1]:3001"]`: {3000, 3001}, `[" LocalHost:80 "]`: {80},
		`["http://localhost:3000", "HTTPS://127.0.0.1:8443/"]`: {3000, 8443}, `["127.9.9.9:1"]`: {1}, `["[::ffff:127.0.0.1]:9"]`: {9},
		`["example.com", "localhost:1"]`: {1},
	} {
		c, _ := ceilingOf(t, `{"network": {"mode": "local_only", "allow_hosts": `+text+`}}`)
		var got []uint16
		for _, v := range c.HostPorts {
			got = append(got, v.V)
			if v.Source.Line != 1 || v.Source.File != "/c.json" {
				t.Errorf("%s: source %+v", text, v.Source)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: ports %v, want %v", text, got, want)
		}
	}
	if c, _ := ceilingOf(t, `{"network": {"allow_hosts": ["localhost:3000"]}}`); len(c.AllowHosts) != 1 || c.HostPorts != nil {
		t.Errorf("without local: %+v", c)
	}
	for text, want := range map[string]string{
		`["localhost"]`: "names no port", `["http://127.0.0.1/"]`: "names no port", `["localhost:http"]`: `"http" is not a port`, `["localhost:0"]`: `"0" is not a port`,
		`["localhost:99999"]`: "not a port", `["::1"]`: "names no port", `[""]`: "", `["http://"]`: "",
	} {
		_, _, err := DecodeCeilings([]CeilingText{{Source: "/c.json", Content: []byte("{\"network\": {\"mode\": \"local_only\",\n  \"allow_hosts\": " + text + "}}")}})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "/c.json:2:19: ") {
			t.Errorf("%s: %v, want an error at 2:19 that says %q", text, err, want)
		}
	}
}

// TestLimitsNothing: an empty list that means none is a limit, and nobody is told that
// it is none.
func TestLimitsNothing(t *testing.T) {
	for text, want := range map[string]bool{`{}`: true, `{"undo": "all"}`: true, `{"network": {"host_ports": []}}`: false, `{"undo": "none"}`: false} {
		_, warnings := ceilingOf(t, text)
		if got := slices.ContainsFunc(warnings, func(w policy.Warning) bool { return strings.Contains(w.Message, "limits nothing") }); got != want {
			t.Errorf("%s: %+v", text, warnings)
		}
	}
}

// TestOddTimes: what no other program reads as a time is none here either.
func TestOddTimes(t *testing.T) {
	for _, at := range []string{"2030-01-01T0:00:00Z", "2030-01-01T00:00:00,5Z", "2030-01-01T00:00:00+24:00", "2030-06-30T23:59:60Z", "2030-02-30T00:00:00Z", ""} {
		if _, _, err := DecodeCeilings([]CeilingText{{Source: "/c.json", Content: []byte(`{"expires": "` + at + `"}`)}}); err == nil || !strings.Contains(err.Error(), "is not a time") {
			t.Errorf("%q: %v", at, err)
		}
	}
}

func TestAuthority(t *testing.T) {
	c, _ := ceilingOf(t, "host_commands: [gh, docker]\nundo: preview\nexpires: 2030-01-31T18:00:00+01:00\n")
	if len(c.HostCommands) != 2 || c.Undo.V != policy.UndoPreview || c.Expires.V.UTC().Format("15:04 2006") != "17:00 2030" || c.Expires.Source.Line != 3 {
		t.Errorf("%+v", c)
	}
	if q, _ := ceilingOf(t, `{"expires": "2030-01-31T17:00:00Z", "undo": "preview", "host_commands": ["docker", "gh"]}`); CeilingHash(q) != CeilingHash(c) {
		t.Error("the same in JSON has another hash")
	}
	for text, want := range map[string]string{
		"undo: some": "1:7: undo: \"some\" is not one of all, preview, none", "expires: tomorrow": "1:10: expires: \"tomorrow\" is not a time", "expires: 2030-01-31": "is not a time",
		"expires: 5": "expires:", "host_commands: [/usr/bin/gh]": "is not the name of a command", "host_commands: gh": "want a list", "expires: {}": "want text", "undos: all": `unknown key "undos"`,
	} {
		_, _, err := DecodeCeilings([]CeilingText{{Source: "f", Content: []byte(text)}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// TestPermissionsRoundTrip: what a ceiling means can be written down and read again.
func TestPermissionsRoundTrip(t *testing.T) {
	c, _ := ceilingOf(t, `{"network": {"mode": "local_only", "allow_hosts": ["localhost:3000"], "publish": ["80:8080", 9]}, "mounts": [{"host_path": "/p/", "workspace_path": "/w", "mode": "read_write"}, {"host_path": "/q"}],
  "apps": {"allow": ["npm", "/bin/sh"]}, "display": {"mode": "virtual", "clipboard": "own"}, "home": "none", "nested": "none", "history": "on", "undo": "none", "devices": ["/dev/kvm"],
  "resources": {"memory": "2g", "pids": 100, "timeout": "90m"}, "host_commands": ["gh"], "expires": "2030-01-31T18:00:00.5Z"}`)
	text, err := json.Marshal(c.Permissions())
	if err != nil {
		t.Fatal(err)
	}
	if again, _ := ceilingOf(t, string(text)); CeilingHash(again) != CeilingHash(c) {
		t.Errorf("%s is read as %+v", text, again.Permissions())
	}
	filtered, _ := ceilingOf(t, `{"network": {"allow_hosts": ["a.example:443", "**.b.example"], "deny_hosts": ["c.example"], "unix_sockets": ["/s"], "on_unknown": "deny"}}`)
	text, _ = json.Marshal(filtered.Permissions())
	if again, _ := ceilingOf(t, string(text)); CeilingHash(again) != CeilingHash(filtered) || filtered.Permissions().Network.Mode != policy.NetFiltered {
		t.Errorf("%s is read as %+v", text, again.Permissions())
	}
}

// TestFrozenCeilings: ceilings that were read before are held, whatever files and
// variables say, and all of them.
func TestFrozenCeilings(t *testing.T) {
	m := newMachine(t)
	file := m.write("c.json", `{"network": "closed"}`)
	frozen, err := ReadCeiling(file)
	m.must(err)
	m.write("c.json", `{}`)
	m.opts.Permissions, m.opts.Environ = file, []string{"CARREL_PERMISSIONS=/no/such"}
	m.opts.Ceilings = []CeilingText{frozen, {Source: "the server", Content: []byte("undo: none")}}
	l := m.load()
	if l.Ceiling.Network.V != policy.NetClosed || len(l.Ceiling.Also) != 1 || l.Ceiling.Also[0].Undo.Source.File != "the server" {
		t.Errorf("%+v", l.Ceiling)
	}
	m.opts.Ceilings[1].Content = []byte("undo: x")
	m.fails("the server:1:7: undo")
	m.opts.Ceilings = []CeilingText{}
	if l := m.load(); l.Ceiling != nil {
		t.Errorf("%+v, want none: that is what was read", l.Ceiling)
	}
}

// TestCeilingVariables: both names mean the same.
func TestCeilingVariables(t *testing.T) {
	m := newMachine(t)
	one, two := m.write("1.json", `{"home": "none"}`), m.write("2.json", `{"nested": "none"}`)
	for _, tt := range []struct {
		environ []string
		home    bool
		fails   string
	}{
		{[]string{"AGENT_WORKSPACE_PERMISSIONS=" + one}, true, ""},
		{[]string{"CARREL_PERMISSIONS=" + one, "AGENT_WORKSPACE_PERMISSIONS=" + one}, true, ""},
		{[]string{"CARREL_PERMISSIONS=", "AGENT_WORKSPACE_PERMISSIONS=" + one}, true, ""},
		{[]string{"CARREL_PERMISSIONS=" + one, "AGENT_WORKSPACE_PERMISSIONS="}, true, ""},
		{[]string{"CARREL_PERMISSIONS="}, false, ""},
		{[]string{"CARREL_PERMISSIONS=" + one, "AGENT_WORKSPACE_PERMISSIONS=" + two}, false, fmt.Sprintf("AGENT_WORKSPACE_PERMISSIONS: it names the ceiling %q, and CARREL_PERMISSIONS names %q", two, one)},
		{[]string{"AGENT_WORKSPACE_PERMISSIONS=/no/such"}, false, "AGENT_WORKSPACE_PERMISSIONS: there is no ceiling file"},
	} {
		m.opts.Environ = tt.environ
		if tt.fails != "" {
			m.fails(tt.fails)
			continue
		}
		if l := m.load(); (l.Ceiling != nil) != tt.home {
			t.Errorf("%q: %+v", tt.environ, l.Ceiling)
		}
	}
}
