package foreign

import (
	"slices"
	"strings"
	"testing"

	"carrel/sandbox/policyfile"
)

// lost are the keys of what was not carried over, those of restrictions with a "!".
func lost(in *Imported) []string {
	var keys []string
	for _, l := range in.Lost {
		key := l.Key
		if l.Restriction {
			key += "!"
		}
		keys = append(keys, key)
	}
	return keys
}

func TestNothingIsLostInSilence(t *testing.T) {
	none := Options{Cwd: "/w"}
	for _, c := range []struct {
		name string
		read reader
		o    Options
		text string
		want []string // keys, restrictions with "!"
	}{
		{"an unknown place to write", Codex, options, split(":root=read", ":future=write"), []string{"entries[1].path"}},
		{"an unknown place to deny", Codex, options, split(":root=read", ":future=deny"), []string{"entries[1].path!"}},
		{"an unknown place to read, which may narrow", Codex, options, split("/w=write", ":future=read"), []string{"entries[1].path!"}},
		{"a pattern that grants", Codex, options, split("*/a/*=write"), []string{"entries[0].path"}},
		{"a pattern in a home that nobody knows", Codex, none, split("*~/a/*=deny"), []string{"entries[0].path!"}},
		{"a pattern with dots", Codex, options, split("*/a/../*=deny"), []string{"entries[0].path!"}},
		{"a place above the directory", Codex, options, split(":project_roots|../x=write"), []string{"entries[0].path"}},
		{"a place above the directory, denied", Codex, options, split(":project_roots|../x=deny"), []string{"entries[0].path!"}},
		{"no path in the workspace", Codex, options, "default_permissions = \"p\"\n[permissions.p.filesystem.\":workspace_roots\"]\n\"\" = \"write\"\n", []string{`permissions.p.filesystem.":workspace_roots".""`}},
		{"a relative path", Codex, options, split("x=write"), []string{"entries[0].path"}},
		{"an unknown key", Codex, options, `{"kind": "restricted", "entries": [], "mask": []}`, []string{"mask!"}},
		{"an unknown access", Codex, options, split("/w=execute"), []string{"entries[0].access!"}},
		{"an unknown mode", Codex, options, `{"type": "strict"}`, []string{"type!"}},
		{"an unknown word for the network", Codex, options, `{"file_system": {"kind": "restricted"}, "network": "proxy"}`, []string{"network"}},
		{"a profile of the configuration", Codex, options, "sandbox_mode = \"read-only\"\nprofile = \"x\"\n", []string{"profile!"}},
		{"nothing said of a sandbox", Codex, options, "model = \"x\"\n", []string{"sandbox_mode"}},
		{"two words for the same", Codex, options, "sandbox_mode = \"read-only\"\ndefault_permissions = \":danger-full-access\"\n", []string{"sandbox_mode!"}},
		{"the workspace's settings are no table", Codex, options, "sandbox_mode = \"workspace-write\"\nsandbox_workspace_write = 1\n", []string{"sandbox_workspace_write!"}},
		{"type and kind", Codex, options, `{"type": "read-only", "kind": "unrestricted"}`, []string{"type!"}},
		{"two file systems", Codex, options, `{"file_system": {"kind": "restricted"}, "filesystem": {"kind": "unrestricted"}}`, []string{"filesystem!"}},
		{"an unknown key of a path", Codex, options, `{"kind": "restricted", "entries": [{"access": "write", "path": {"type": "path", "path": "/w", "except": ["/w/a"]}}]}`, []string{"entries[0].path.except!"}},
		{"a part of the root", Codex, options, split(":root|x=write"), []string{"entries[0].path.subpath!"}},
		{"a pattern in which ** is no name", Codex, options, split("*/a/**.env=deny"), []string{"entries[0].path!"}},
		{"a relative place in a profile", Codex, options, "default_permissions = \"p\"\n[permissions.p.filesystem]\n\"docs\" = \"write\"\n", []string{"permissions.p.filesystem.\"docs\""}},
		{"places of the workspace that leave it", Codex, options, "default_permissions = \"p\"\n[permissions.p.filesystem.\":workspace_roots\"]\n\"/etc\" = \"write\"\n\"../x\" = \"write\"\n\":root\" = \"write\"\n\"~/x\" = \"deny\"\n",
			[]string{`permissions.p.filesystem.":workspace_roots"."../x"`, `permissions.p.filesystem.":workspace_roots"."/etc"`, `permissions.p.filesystem.":workspace_roots".":root"`, `permissions.p.filesystem.":workspace_roots"."~/x"!`}},
		{"other roots of the workspace", Codex, options, "default_permissions = \"p\"\n[permissions.p.workspace_roots]\n\"/v\" = true\n", []string{"permissions.p.workspace_roots!"}},
		{"a network with fewer methods", Codex, options, "default_permissions = \"p\"\n[permissions.p.network]\nenabled = true\nmode = \"limited\"\n[permissions.p.network.domains]\n\"a.com\" = \"allow\"\n", []string{"permissions.p.network.mode!"}},
		{"permissions that are not there", Codex, options, "default_permissions = \"x\"\n", []string{"default_permissions!"}},

		{"srt: an unknown key", SRT, options, `{"filesystem": {"denyExec": ["/bin"]}}`, []string{"filesystem.denyExec!"}},
		{"srt: a deny that is no string", SRT, options, `{"filesystem": {"denyRead": [1, "/x"]}}`, []string{"filesystem.denyRead[0]!"}},
		{"srt: a pattern to write", SRT, options, `{"filesystem": {"allowWrite": ["/w/*.log"]}}`, []string{"filesystem.allowWrite[0]"}},
		{"srt: to write in what is denied", SRT, options, `{"filesystem": {"denyRead": ["/home"], "allowWrite": ["/home/u/x"]}}`, []string{"filesystem.allowWrite[0]"}},
		{"srt: to write in what is denied deeper", SRT, options, `{"filesystem": {"denyRead": ["/home", "/home/u/d/s"], "allowRead": ["/home/u/d"], "allowWrite": ["/home/u/d/s/x"]}}`, []string{"filesystem.allowWrite[0]"}},
		{"srt: to write what is protected", SRT, options, `{"filesystem": {"allowWrite": [".git/hooks", "~/.bashrc", ".vscode/x", ".claude/agents"]}}`, []string{"filesystem.allowWrite[0]", "filesystem.allowWrite[1]", "filesystem.allowWrite[2]", "filesystem.allowWrite[3]"}},
		{"srt: a class with a letter", SRT, options, `{"filesystem": {"denyRead": ["/a/[!b]*"], "denyWrite": ["/a/\\*"]}}`, []string{"filesystem.denyRead[0]!", "filesystem.denyWrite[0]!"}},
		{"srt: rules for hosts that are ours alone", SRT, options, `{"network": {"allowedDomains": ["**.a.com", "10.0.0.0/8", "GET http://a.com/"], "deniedDomains": ["**.b.com", "http://b.com/x"]}}`,
			[]string{"network.allowedDomains[0]", "network.allowedDomains[1]", "network.allowedDomains[2]", "network.deniedDomains[0]!", "network.deniedDomains[1]!"}},
		{"srt: a device", SRT, options, `{"filesystem": {"allowWrite": ["/dev/null"]}}`, []string{"filesystem.allowWrite[0]"}},
		{"srt: every domain", SRT, options, `{"network": {"allowAllDomains": true}}`, []string{"network.allowAllDomains"}},
		{"srt: a proxy decides", SRT, options, `{"network": {"httpProxyPort": 8080}}`, []string{"network.httpProxyPort!"}},
		{"srt: a port of all hosts", SRT, options, `{"network": {"allowedDomains": ["a.com"], "deniedDomains": ["*:22"]}}`, []string{"network.deniedDomains[0]!"}},
		{"srt: all sockets", SRT, options, `{"network": {"allowAllUnixSockets": true}}`, []string{"network.allowAllUnixSockets"}},
		{"srt: a masked file", SRT, options, `{"credentials": {"files": [{"path": "~/.netrc", "mode": "mask"}]}}`, []string{"credentials.files"}},
		{"srt: home is not known", SRT, none, `{"filesystem": {"denyRead": ["~/.ssh"], "allowWrite": ["~/x"]}}`, []string{"filesystem.denyRead[0]!", "filesystem.allowWrite[0]"}},

		{"fence: what it extends", Fence, options, `{"extends": "code"}`, []string{"extends!"}},
		{"fence: a command", Fence, options, `{"command": {"deny": ["git push"]}}`, []string{"command.deny[0]!"}},
		{"fence: every domain", Fence, options, `{"network": {"allowedDomains": ["*"]}}`, []string{"network.allowedDomains[0]"}},
		{"fence: to read in what is denied", Fence, options, `{"filesystem": {"denyRead": ["/a"], "allowRead": ["/a/b"], "allowWrite": ["/a/c"]}}`, []string{"filesystem.allowRead[0]", "filesystem.allowWrite[0]"}},
		{"fence: to start", Fence, options, `{"filesystem": {"allowExecute": ["/opt/x"]}}`, []string{"filesystem.allowExecute[0]"}},
		{"fence: all devices", Fence, options, `{"devices": {"mode": "host"}}`, []string{"devices.mode"}},
		{"fence: all ports of the machine", Fence, options, `{"network": {"allowLocalOutbound": true}}`, []string{"network.allowLocalOutbound"}},
		{"fence: hosts that ssh may reach", Fence, options, `{"ssh": {"allowedHosts": ["a.com"], "deniedHosts": ["b.com"]}}`, []string{"ssh.allowedHosts[0]!", "ssh.deniedHosts[0]"}},
		{"fence: commands over ssh", Fence, options, `{"ssh": {"allowedCommands": ["ls"]}}`, []string{"ssh.allowedCommands[0]!"}},
		{"fence: an unknown key", Fence, options, `{"filesystem": {"denyList": []}}`, []string{"filesystem.denyList!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			restricted := slices.ContainsFunc(c.want, func(k string) bool { return strings.HasSuffix(k, "!") })
			if _, err := c.read([]byte(c.text), c.o); (err != nil) != restricted {
				t.Errorf("without --lossy: %v", err)
			}
			c.o.Lossy = true
			if got := lost(imported(t, c.read, c.o, c.text)); !slices.Equal(got, c.want) {
				t.Errorf("lost %q, want %q", got, c.want)
			}
		})
	}
}

func TestSRT(t *testing.T) {
	in := imported(t, SRT, options, `{
  "network": {"allowedDomains": ["github.com", "*.npmjs.org:443"], "deniedDomains": ["gist.github.com"], "allowLocalBinding": false},
  "filesystem": {"denyRead": ["/home", "/w/secret"], "allowRead": [".", "/home/u/docs"], "allowWrite": [".", "/tmp/x/**"], "denyWrite": ["keep", "**/*.lock"]},
  "credentials": {"envVars": [{"name": "TERM", "mode": "deny"}], "files": [{"path": "/home/u/docs/token", "mode": "deny"}]}
}`)
	if len(in.Lost) > 0 {
		t.Errorf("lost %+v", in.Lost)
	}
	e := decided(t, in.Policy)
	for path, want := range map[string]string{
		"/usr/bin/env": "read", "/home/u/.ssh/id": "deny", "/home/u/docs/a": "read", "/home/u/docs/token": "deny", "/w/src/a": "write", "/w/secret/x": "deny",
		"/w/keep": "read", "/w/keep/a": "read", "/w/a/b.lock": "read", "/w/.git/hooks/x": "read", "/w/sub/.git/config": "read", "/w/a/.bashrc": "read", "/w/.claude/commands/x": "read", "/w/.claude/x": "write",
		"/tmp/x/a": "write", "/tmp/y": "read",
	} {
		if got := resolved(e, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if n := in.Policy.Network; n.Mode != policyfile.Filtered || !slices.Equal(n.AllowHosts, []string{"github.com", "*.npmjs.org:443"}) || !slices.Equal(n.DenyHosts, []string{"gist.github.com"}) {
		t.Errorf("network %+v", n)
	}
	if slices.Contains(in.Policy.Environment.Pass, "TERM") || !slices.Contains(in.Policy.Environment.Pass, "PATH") {
		t.Errorf("environment %+v", in.Policy.Environment)
	}
	if !in.Policy.History {
		t.Error("names that are not there yet are not held")
	}
}

func TestFence(t *testing.T) {
	in := imported(t, Fence, options, `{
  // as people write it
  "filesystem": {"defaultDenyRead": true, "allowRead": ["/srv"], "denyRead": ["/srv/key"], "allowWrite": ["."], "denyWrite": [".env"], "allowGitConfig": true},
  "network": {"allowedDomains": [], "allowLocalOutbound": true, "allowLocalOutboundPorts": [5432]},
  "devices": {"mode": "minimal", "allow": ["/dev/kvm"]},
}`)
	if len(in.Lost) > 0 {
		t.Errorf("lost %+v", in.Lost)
	}
	e := decided(t, in.Policy)
	for path, want := range map[string]string{
		"/usr/bin/env": "read", "/home": "deny", "/srv/a": "read", "/srv/key": "deny", "/srv/key/a": "deny", "/w/a": "write", "/w/.env": "read", "/w/.git/hooks/a": "read", "/w/.git/config": "write",
	} {
		if got := resolved(e, path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
	if n := in.Policy.Network; n.Mode != policyfile.Local || !slices.Equal(n.HostPorts, []uint16{5432}) {
		t.Errorf("network %+v", n)
	}
	if in.Policy.Files[0].Path != policyfile.Tmp || !slices.Equal(in.Policy.Devices, []string{"/dev/kvm"}) {
		t.Errorf("%+v", in.Policy)
	}
	ssh := imported(t, Fence, options, `{"ssh": {"deniedHosts": ["b.com"]}, "network": {"allowedDomains": ["*.com"]}}`)
	if !slices.Equal(ssh.Policy.Network.DenyHosts, []string{"b.com"}) {
		t.Errorf("%+v", ssh.Policy.Network)
	}
	if denied := imported(t, Fence, options, `{"filesystem": {"denyRead": ["/tmp"]}}`).Policy; denied.Files[0].Path == policyfile.Tmp {
		t.Errorf("/tmp is denied, and private: %+v", denied)
	}
	none := imported(t, Fence, options, `{"filesystem": {"allowWrite": ["/tmp"]}, "network": {"allowedDomains": ["a.com"], "deniedDomains": ["*"]}}`)
	if none.Policy.Network.Mode != policyfile.Closed || none.Policy.Files[0].Path == policyfile.Tmp {
		t.Errorf("%+v", none.Policy)
	}
}

// TestCodexNetwork: a network that is off stays off.
func TestCodexNetwork(t *testing.T) {
	for text, want := range map[string]policyfile.NetworkMode{
		`{"type": "read-only"}`: policyfile.Closed, `{"type": "read-only", "network_access": true}`: policyfile.Open,
		`{"type": "workspace-write", "network_access": false}`:                                    policyfile.Closed,
		`{"file_system": {"kind": "restricted"}, "network": "enabled"}`:                           policyfile.Open,
		`{"kind": "restricted"}`:                                                                  policyfile.Closed,
		`{"type": "external-sandbox", "network_access": "restricted"}`:                            policyfile.Closed,
		`{"type": "disabled"}`:                                                                    policyfile.Open,
		"default_permissions = \"p\"\n[permissions.p.network]\nenabled = true\nmode = \"full\"\n": policyfile.Closed,
		"default_permissions = \"p\"\n[permissions.p.network]\nenabled = true\n[permissions.p.network.domains]\n\"a.com\" = \"allow\"\n": policyfile.Filtered,
		"default_permissions = \"p\"\n[permissions.p.network.domains]\n\"a.com\" = \"allow\"\n":                                          policyfile.Closed,
	} {
		if got := imported(t, Codex, options, text).Policy.Network.Mode; got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}

// TestCodexDeniesHosts: a port of a denied host is none of Codex's.
func TestCodexDeniesHosts(t *testing.T) {
	net := imported(t, Codex, options, "default_permissions = \"p\"\n[permissions.p.network]\nenabled = true\n[permissions.p.network.domains]\n\"**.com\" = \"allow\"\n\"a.com:443\" = \"deny\"\n\"[2001:db8::1]:1\" = \"deny\"\n").Policy.Network
	if !slices.Equal(net.DenyHosts, []string{"[2001:db8::1]", "a.com"}) || len(net.AllowHosts) != 1 {
		t.Errorf("%+v", net)
	}
}

// TestListsResolve: what the lists of srt and fence take away is taken away
// here, however it is written.
func TestListsResolve(t *testing.T) {
	for _, c := range []struct {
		name string
		read reader
		text string
		want map[string]string
	}{
		{"everything denied", SRT, `{"filesystem": {"denyRead": ["/**"], "allowRead": ["/usr"]}}`, map[string]string{"/": "deny", "/home/u": "deny", "/w/a": "deny", "/usr/a": "read"}},
		{"no file may be written", SRT, `{"filesystem": {"allowWrite": [".", "/v"], "denyWrite": ["/**"]}}`, map[string]string{"/w/a": "read", "/v/a": "read"}},
		{"everything hidden", SRT, `{"credentials": {"files": [{"path": "/**", "mode": "deny"}]}}`, map[string]string{"/v": "deny"}},
		{"everything written", SRT, `{"filesystem": {"allowWrite": ["/**"]}}`, map[string]string{"/v": "write"}},
		{"listed for reading as well", SRT, `{"filesystem": {"allowWrite": [".", ".git/hooks"], "allowRead": ["docs", ".git/hooks/a", "~/b"]}}`,
			map[string]string{"/w/docs/a": "write", "/w/.git/hooks/a": "read", "/home/u/b": "read"}},
		{"within what is protected", SRT, `{"filesystem": {"allowWrite": [".git/hooks"], "allowRead": [".git/hooks/a"]}}`,
			map[string]string{"/w/.git/hooks/a": "read"}},
		{"a repository", SRT, `{"filesystem": {"allowWrite": [".git"]}}`, map[string]string{"/w/.git/hooks/a": "read", "/w/.git/config": "read", "/w/.git/HEAD": "write"}},
		{"settings of an agent", SRT, `{"filesystem": {"allowWrite": ["~/.claude"]}}`, map[string]string{"/home/u/.claude/commands/a": "read", "/home/u/.claude/x": "write"}},
		{"braces", Fence, `{"filesystem": {"denyRead": ["/x/*.{pem,key}", "/y/{a,b}"], "allowWrite": ["/z"], "denyWrite": ["/z/{c,d}"]}}`,
			map[string]string{"/x/a.pem": "deny", "/x/a.{pem,key}": "deny", "/y/a": "deny", "/y/{a,b}": "deny", "/y/c": "read", "/z/c": "read", "/z/{c,d}": "read", "/z/e": "write"}},
		{"braces that do not close", Fence, `{"filesystem": {"denyRead": ["/x/{*"]}}`, map[string]string{"/x/{a": "deny"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := decided(t, imported(t, c.read, options, c.text).Policy)
			for path, want := range c.want {
				if got := resolved(e, path); got != want {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
		})
	}
}

// fuzz: whatever the text, what comes out is a policy that can be read.
func fuzz(f *testing.F, read reader, seeds ...string) {
	for _, s := range seeds {
		f.Add([]byte(s), true)
		f.Add([]byte(s), false)
	}
	f.Fuzz(func(t *testing.T, data []byte, lossy bool) {
		o := options
		o.Lossy = lossy
		in, err := read(data, o)
		if err != nil {
			return
		}
		for _, l := range in.Lost {
			if l.Restriction && !lossy {
				t.Fatalf("a restriction is gone: %s", l)
			}
		}
		imported(t, read, o, string(data))
	})
}

func FuzzCodex(f *testing.F) {
	fuzz(f, Codex, split(":project_roots=write", "/w/docs=read", "*/**/x=deny", ":future=deny", ":minimal=read"), `{"type": "workspace-write", "writable_roots": ["/x", "~"]}`,
		`{"type": "managed", "file_system": {"type": "unrestricted"}, "network": "enabled"}`, "sandbox_mode = \"workspace-write\"\n", "default_permissions = \"p\"\n[permissions.p.filesystem]\n\":root\" = \"read\"\n",
		`{"kind": "restricted", "entries": [{"path": {"type": "path", "path": ""}, "access": "read"}]}`)
}

func FuzzSRT(f *testing.F) {
	fuzz(f, SRT, `{"filesystem": {"denyRead": ["~/.ssh", "/**/*.pem"], "allowWrite": [".", "/tmp/**"], "denyWrite": ["/"]}, "network": {"allowedDomains": ["a.com:1"], "deniedDomains": ["*"]}, "credentials": {"envVars": [{"name": "A", "mode": "deny"}]}}`)
}

func FuzzFence(f *testing.F) {
	fuzz(f, Fence, `{/* x */"filesystem": {"strictDenyRead": true, "allowWrite": ["."],}, "ssh": {"deniedHosts": ["a"]}, "network": {"allowLocalOutboundPorts": [1], "allowLocalOutbound": true}}`)
}
