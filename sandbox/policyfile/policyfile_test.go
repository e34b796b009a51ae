package policyfile

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

const whole = `{
  "version": 1,
  "cwd": "/srv/app",
  "files": [
    {"path": ":system", "access": "read"},
    {"path": ":cwd/out", "access": "write", "if_missing": "skip"},
    {"path": {"base64": "L3Nydi//"}, "access": "deny"},
    {"path": ":tmp", "access": "write"},
    {"glob": ":cwd/**/*.pem", "access": "deny"},
    {"glob": "/srv/**/hooks", "access": "protect"}
  ],
  "environment": {"pass": ["TERM"], "set": {"PATH": "/usr/bin", "X": {"base64": "/w=="}}},
  "network": {"mode": "filtered", "allow_hosts": ["*.example.com:443"], "deny_hosts": ["a.example.com"], "host_ports": [5432], "publish": ["80:8080", "81"]},
  "unix_sockets": ["/run/x.sock"], "programs": [], "devices": ["/dev/kvm"],
  "nested": "userns",
  "limits": {"memory": "2GiB", "pids": 64, "timeout": "1m30s"},
  "history": "on"
}`

func wanted() *Policy {
	return &Policy{
		Cwd: "/srv/app",
		Files: []Rule{
			{Path: System, Access: Read}, {Path: ":cwd/out", Access: Write, Missing: Skip}, {Path: "/srv/\xff", Access: Deny}, {Path: Tmp, Access: Write},
			{Glob: ":cwd/**/*.pem", Access: Deny}, {Glob: "/srv/**/hooks", Access: Protect},
		},
		Environment: Environment{Pass: []string{"TERM"}, Set: map[string]string{"PATH": "/usr/bin", "X": "\xff"}},
		Network: Network{Mode: Filtered, AllowHosts: []string{"*.example.com:443"}, DenyHosts: []string{"a.example.com"},
			HostPorts: []uint16{5432}, Publish: []Publish{{80, 8080}, {81, 81}}},
		UnixSockets: []string{"/run/x.sock"}, Programs: []string{}, Devices: []string{"/dev/kvm"},
		Nested: NestedUserns, Limits: Limits{2 << 30, 64, 90 * time.Second}, History: true,
	}
}

func TestEveryKey(t *testing.T) {
	got, err := Parse([]byte(whole), "p.json")
	if err != nil {
		t.Fatal(err)
	}
	if want := wanted(); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWrittenAndReadAgain(t *testing.T) {
	for _, p := range []*Policy{wanted(), {Files: []Rule{}}} {
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Parse(text, "p.json")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		again, _ := json.Marshal(got)
		if string(again) != string(text) {
			t.Errorf("%s is read as %s", text, again)
		}
	}
}

// TestWrong: each mistake is named by its key and place, with what would be right.
func TestWrong(t *testing.T) {
	rule := func(s string) string { return "{\"version\": 1,\n\"files\": [{" + s + "}]}" }
	for _, c := range []struct{ name, text, want string }{
		{"no object", `[]`, "p.json:1:1: want an object, got a list"},
		{"no version", `{}`, `want "version": 1`},
		{"another version", `{"version": 2, "whatever": 1}`, "p.json:1:13: version: want 1"},
		{"a version as text", `{"version": "1"}`, "version: want 1"},
		{"an unknown key", "{\"version\": 1,\n \"file\": []}", `p.json:2:2: "file": there is no such key: there are version, cwd, files,`},
		{"an unknown key in a rule", rule(`"path": "/a", "acess": "read"`), `p.json:2:26: "files[0].acess": there is no such key: there are path, glob, access, if_missing`},
		{"a key twice", `{"version": 1, "cwd": "/a", "cwd": "/b"}`, "stands twice"},
		{"a wrong type", `{"version": 1, "files": {}}`, "p.json:1:25: files: want a list, got an object"},
		{"a number as a path", rule(`"path": 7, "access": "read"`), "files[0].path: want a string, got a number"},
		{"null", `{"version": 1, "cwd": null}`, "cwd: want a string, got null"},
		{"a relative path", rule(`"path": "a", "access": "read"`), `p.json:2:20: files[0].path: "a" is not an absolute path`},
		{"home", rule(`"path": "~/x", "access": "read"`), "is not an absolute path"},
		{"two dots", rule(`"path": "/a/../b", "access": "read"`), `write it as "/b"`},
		{"two dots out of a place", rule(`"path": ":cwd/../b", "access": "read"`), "write it as"},
		{"NUL", rule(`"path": "/a\u0000b", "access": "read"`), "NUL"},
		{"NUL in base64", rule(`"path": {"base64": "L2EAYg=="}, "access": "read"`), "NUL"},
		{"base64 that is none", rule(`"path": {"base64": "%"}, "access": "read"`), "files[0].path.base64"},
		{"base64 with bits over", rule(`"path": {"base64": "L3="}, "access": "read"`), "files[0].path.base64"},
		{"no base64 in the object", rule(`"path": {}, "access": "read"`), `an object {"base64"`},
		{"an unknown place", rule(`"path": ":home", "access": "read"`), "there are :cwd, :system and :tmp"},
		{"below :tmp", rule(`"path": ":tmp/x", "access": "write"`), "/tmp is the machine's"},
		{":tmp to read", rule(`"path": ":tmp", "access": "read"`), "/tmp is the machine's"},
		{"path and glob", rule(`"path": "/a", "glob": "/b", "access": "deny"`), "files[0]: want one of path and glob"},
		{"neither", rule(`"access": "deny"`), "want one of path and glob"},
		{"no access", rule(`"path": "/a"`), "access is missing"},
		{"an unknown access", rule(`"path": "/a", "access": "rw"`), `"rw" is not known: want read, write, deny`},
		{"a glob that grants", rule(`"glob": "/a/*", "access": "write"`), "want deny, protect"},
		{"a path to protect", rule(`"path": "/a", "access": "protect"`), "want read, write, deny"},
		{"a relative glob", rule(`"glob": "**/x", "access": "deny"`), "one that begins with :cwd/"},
		{"a broken glob", rule(`"glob": "/a/{b", "access": "deny"`), "not balanced"},
		{"a glob that explodes", rule(`"glob": "/` + strings.Repeat("{a,b}", 12) + `", "access": "deny"`), "more than 1024"},
		{"if_missing", rule(`"path": "/a", "access": "read", "if_missing": "no"`), "want error, skip"},
		{"a pattern of variables", `{"version": 1, "environment": {"pass": ["A*"]}}`, "environment.pass[0]: \"A*\": want a name"},
		{"a variable with =", `{"version": 1, "environment": {"set": {"A=B": "c"}}}`, "not the name of a variable"},
		{"a variable twice", `{"version": 1, "environment": {"pass": ["A"], "set": {"A": "c"}}}`, "is in set, too"},
		{"an unknown mode", `{"version": 1, "network": {"mode": "on"}}`, "want closed, local, filtered, open"},
		{"hosts without filtered", `{"version": 1, "network": {"mode": "open", "deny_hosts": ["a.com"]}}`, `of effect with "mode": "filtered" only`},
		{"hosts without a mode", `{"version": 1, "network": {"allow_hosts": ["a.com"]}}`, `of effect with "mode": "filtered" only`},
		{"every host", `{"version": 1, "network": {"mode": "filtered", "allow_hosts": ["*"]}}`, "every host"},
		{"a preset", `{"version": 1, "network": {"mode": "filtered", "allow_hosts": ["preset:npm"]}}`, "no presets"},
		{"a port without a loopback", `{"version": 1, "network": {"host_ports": [80]}}`, "network.host_ports: it is of effect"},
		{"port 0", `{"version": 1, "network": {"mode": "local", "host_ports": [0]}}`, "1 to 65535"},
		{"a port with a fraction", `{"version": 1, "network": {"mode": "local", "host_ports": [1.5]}}`, "1 to 65535"},
		{"publish", `{"version": 1, "network": {"mode": "local", "publish": ["1:2:3"]}}`, "INSIDE:HOST"},
		{"a bare program", `{"version": 1, "programs": ["make"]}`, "programs[0]: \"make\" is not an absolute path"},
		{"nested", `{"version": 1, "nested": "some"}`, "want none, userns, full"},
		{"memory as a number", `{"version": 1, "limits": {"memory": 5}}`, "limits.memory: want a string, got a number"},
		{"memory", `{"version": 1, "limits": {"memory": "much"}}`, "write it like 512MiB"},
		{"pids", `{"version": 1, "limits": {"pids": -1}}`, "whole number"},
		{"pids beyond all", `{"version": 1, "limits": {"pids": 99999999999999999999}}`, "out of range"},
		{"timeout", `{"version": 1, "limits": {"timeout": "5"}}`, "write it like 30s"},
		{"history", `{"version": 1, "history": "maybe"}`, "want on or off"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if p, err := Parse([]byte(c.text), "p.json"); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %+v, %v\nwant an error with %q", p, err, c.want)
			}
		})
	}
}

// TestCheck: a policy that was made in Go is held to the same.
func TestCheck(t *testing.T) {
	for want, p := range map[string]*Policy{
		"files[0].path":  {Files: []Rule{{Path: "x", Access: Read}}},
		"limits.timeout": {Limits: Limits{Timeout: -1}},
		"network.mode":   {Network: Network{Mode: "x"}},

		"environment.pass[0]": {Environment: Environment{Pass: []string{"a\xff"}}},
		"environment.set":     {Environment: Environment{Set: map[string]string{"a\xff": ""}}},
		"network.publish[0]":  {Network: Network{Mode: Local, Publish: []Publish{{0, 1}}}},
	} {
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", p, err)
		}
	}
	if err := new(Policy).Check(); err != nil {
		t.Errorf("the zero policy: %v", err)
	}
}

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.WriteFile(good, []byte(whole), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadFile(good); err != nil {
		t.Error(err)
	}
	large, err := os.Create(filepath.Join(dir, "large"))
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Truncate(100 << 20); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{dir: "no regular file", large.Name(): "larger than", "/dev/zero": "no regular file", filepath.Join(dir, "none"): "opening the policy"} {
		if _, err := ReadFile(name); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFrom(large, "large"); err == nil || !strings.Contains(err.Error(), "larger than") {
		t.Errorf("a large file that is open: %v", err)
	}
}

// FuzzParse: what is taken means something, and means the same when it is
// written and read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{whole, `{"version": 1}`, `{"version": 1, "files": [{"glob": "/{a,b}/[x-z]*", "access": "deny"}]}`, `{"version": 1, "limits": {"memory": "1.5GiB"}}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Parse(data, "p")
		if err != nil {
			return
		}
		if err := p.Check(); err != nil {
			t.Fatalf("taken, and wrong: %v", err)
		}
		text, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(text, "p")
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if second, _ := json.Marshal(again); string(second) != string(text) {
			t.Fatalf("%s is read as %s", text, second)
		}
	})
}
