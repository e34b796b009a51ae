package profile

import (
	"fmt"
	"strings"
	"testing"

	"carrel/internal/config"
	"carrel/internal/policy"
)

const foreign = `{"profiles": [{
 "id": "web", "description": "d", "width": 1280, "height": 720, "cwd": "/workspace/p/sub",
 "env": [{"name": "K", "value": "v"}, {"name": "P", "value": "/workspace/p/bin"}],
 "mounts": [{"host_path": "/src/p", "workspace_path": "/workspace/p", "mode": "read_write"}, {"host_path": "/ref"}],
 "network": {"mode": "local_only", "allow_hosts": ["localhost:5432", "http://127.0.0.1:80/x", "[::1]:81", "127.0.0.1", "10.0.0.1:3"]},
 "require_enforced_policy": true,
 "setup_commands": [{"name": "install deps", "command": ["npm", "ci"], "cwd": "/workspace/p", "env": []}],
 "startup_apps": [{"name": "a", "command": ["x"]}, {"name": "a", "command": ["y"]}]
}, {"id": "plain"}]}`

func TestForeign(t *testing.T) {
	if !IsForeign([]byte(foreign)) || !IsForeign([]byte(`{"id":"x"}`)) || IsForeign([]byte("home: none")) || IsForeign([]byte(`{"home": "none"}`)) {
		t.Error("a profile of the one kind counts as one of the other")
	}
	list, lost, err := Foreign([]byte(foreign), "f.json")
	if err != nil {
		t.Fatal(err)
	}
	if len(list) != 2 || list[1].Request.Network.V != policy.NetOpen {
		t.Fatalf("got %+v", list)
	}
	p := list[0]
	ports := fmt.Sprint(p.Request.HostPorts[0].V, p.Request.HostPorts[1].V, p.Request.HostPorts[2].V)
	got := fmt.Sprint(p.Name, p.Width, p.Height, p.Cwd, len(p.Env), p.Mounts[0].Host, p.Mounts[0].Workspace, p.Mounts[0].Write, p.Mounts[1].Write, p.Request.Network.V, ports, p.Strict, p.Setup[0].Cwd, p.Setup[0].Name, p.Apps[0].Name, p.Apps[1].Name)
	if want := fmt.Sprint("web", 1280, 720, "/workspace/p/sub", 2, "/src/p", "/workspace/p", true, false, policy.NetLocal, "5432 80 81", true, "/workspace/p", "", "a", ""); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var keys []string
	for _, l := range lost {
		keys = append(keys, l.Key)
		if l.Profile != "web" || l.Line == 0 {
			t.Errorf("loss %+v", l)
		}
	}
	if s := strings.Join(keys, " "); s != "network.allow_hosts network.allow_hosts setup_commands.name startup_apps.name" {
		t.Errorf("lost %s", s)
	}
	for _, p := range list {
		text, err := config.EncodeDefinition(&p.Definition)
		if err != nil {
			t.Fatal(err)
		}
		parse(t, string(text))
	}
}

func TestForeignMistakes(t *testing.T) {
	tests := []struct{ text, want string }{
		{`{"id": "x", "descripton": "d"}`, `f:1:13: unknown key "descripton"`},
		{`{"id": "../x"}`, `f:1:8: id: "../x" is not a profile's name`},
		{`{"profiles": [1]}`, "want a profile, an object, got a number"},
		{`{"profiles": {}}`, "want a list, got an object"},
		{`{"id": "x", "width": 1.5}`, "want a number of pixels"},
		{`{"id": "x", "cwd": "rel"}`, `cwd: "rel" is not an absolute path`},
		{`{"id": "x", "mounts": [{"workspace_path": "/a"}]}`, "the key host_path is missing"},
		{`{"id": "x", "mounts": [{"host_path": "/a", "mode": "rw"}]}`, `"rw" is neither read_only nor read_write`},
		{`{"id": "x", "mounts": [{"host_path": "/a"}, {"host_path": "/a"}]}`, `"/a" is the place of another mount too`},
		{`{"id": "x", "network": {"mode": "closed"}}`, `"closed" is not one of inherit_host`},
		{`{"id": "x", "setup_commands": [{"command": []}]}`, "there is no program"},
		{`{"id": "x", "env": [{"name": "A=B", "value": ""}]}`, "is not the name of a variable"},
		{`{"id": "x", "env": [{"name": "A"}, {"name": "A"}]}`, `"A" stands twice`},
		{`{"id": "x", "require_enforced_policy": "yes"}`, "want true or false, got a string"},
		{`{"id": "x"} {}`, "this is no JSON"},
	}
	for _, tt := range tests {
		_, _, err := Foreign([]byte(tt.text), "f")
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s:\n got %v\nwant %s", tt.text, err, tt.want)
		}
	}
}

func FuzzForeign(f *testing.F) {
	for _, seed := range []string{foreign, `{"id":"x"}`, `{"profiles":[]}`, `{"id":"x","mounts":[{"host_path":"/"}]}`, `{"id":"x","network":{"mode":"local_only","allow_hosts":["::1","[","localhost:0"]}}`, "", "[]"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _, err := Foreign(data, "f")
		if err != nil {
			return
		}
		for _, p := range list {
			text, err := config.EncodeDefinition(&p.Definition)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := Parse(p.Name, text, "again"); err != nil {
				t.Errorf("what was imported is not read back: %v\n%s", err, text)
			}
		}
	})
}
