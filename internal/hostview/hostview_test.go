package hostview

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"carrel/internal/policy"
)

func TestSystemMergedUsr(t *testing.T) {
	v := inspect(t, tree{
		"/bin": "-> usr/bin", "/sbin": "-> usr/sbin", "/usr/sbin/": "", "/lib": "-> usr/lib", "/lib64": "-> usr/lib64",
		"/opt/": "", "/nix/store/": "",
	})
	if want := []string{"/usr", "/etc", "/opt", "/nix/store"}; !slices.Equal(v.System, want) {
		t.Errorf("System = %q, want %q", v.System, want)
	}
	if !hasLink(v, "/bin", "usr/bin") || !hasLink(v, "/lib", "usr/lib") {
		t.Errorf("Symlinks = %q, want /bin and /lib", v.Symlinks)
	}
	if hasLink(v, "/lib64", "usr/lib64") {
		t.Error("a link to nothing is listed")
	}
	if access(v, "/usr") != policy.Read || access(v, "/nix/store") != policy.Read {
		t.Error("system directories have no read rule")
	}
}

func TestSystemSplitUsr(t *testing.T) {
	v := inspect(t, tree{"/bin/": "", "/lib/": ""})
	if want := []string{"/usr", "/bin", "/lib", "/etc"}; !slices.Equal(v.System, want) {
		t.Errorf("System = %q, want %q", v.System, want)
	}
}

func TestSystemNixOS(t *testing.T) {
	v := inspect(t, tree{
		"/nix/store/abc/bin/sh": "x", "/run/current-system": "-> /nix/store/abc",
	})
	if !hasLink(v, "/run/current-system", "/nix/store/abc") {
		t.Errorf("Symlinks = %q, want /run/current-system", v.Symlinks)
	}
}

func TestLinksOutOfTheSystem(t *testing.T) {
	v := inspect(t, tree{
		"/etc/localtime":        "-> /var/db/zone",
		"/var/db/zone":          "TZif",
		"/etc/ssl/cert.pem":     "-> /srv/ca/bundle.pem",
		"/srv/ca/bundle.pem":    "-> real.pem",
		"/srv/ca/real.pem":      "cert",
		"/etc/timezone":         "UTC",
		"/etc/os-release":       "-> ../usr/lib/os-release",
		"/usr/lib/os-release":   "x",
		"/etc/java/cacerts":     "-> /home",
		"/etc/default/locale":   "-> /nowhere",
		"/etc/ssl/certs/a.pem":  "c",
		"/usr/share/zoneinfo/U": "TZif",
	})
	want := []string{"/srv/ca/real.pem", "/var/db/zone"}
	if !slices.Equal(v.ExtraRead, want) {
		t.Errorf("ExtraRead = %q, want %q", v.ExtraRead, want)
	}
	if !hasLink(v, "/srv/ca/bundle.pem", "real.pem") {
		t.Errorf("the link in between is missing: %q", v.Symlinks)
	}
}

func TestHomeModes(t *testing.T) {
	files := tree{"/home/u/.nvm/nvm.sh": "x", "/home/u/.aws/credentials": "k", "/home/u/.ssh/known_hosts": "h", "/home/u/.gitconfig": "[user]\nname = N\n"}
	o := options(build(t, files))

	o.HomeMode = policy.HomeNone
	v := inspectWith(t, o)
	if access(v, "/home/u/.nvm") != policy.Unset {
		t.Error("none: a toolchain is shown")
	}
	if _, ok := file(v, "/home/u/.ssh/known_hosts"); ok {
		t.Error("none: known_hosts is shown")
	}
	if strings.Contains(mustFile(t, v, "/home/u/.gitconfig"), "name") {
		t.Error("none: the identity of home is shown")
	}

	o.HomeMode = policy.HomeFull
	v = inspectWith(t, o)
	if access(v, testHome) != policy.Read || access(v, "/home/u/.aws") != policy.Deny {
		t.Error("full: want home read and .aws denied")
	}
	if access(v, "/home/u/.gnupg") != policy.Deny {
		t.Error("full: a secret that does not exist yet has no rule")
	}

	o.HomeMode = policy.HomeToolchains
	v = inspectWith(t, o)
	if access(v, testHome) != policy.Unset || access(v, "/home/u/.gnupg") != policy.Unset {
		t.Error("toolchains: want no rule for home or for a missing secret")
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{
		{Home: "relative", Project: "/p"}, {Home: "/h/../x", Project: "/p"}, {Home: "/h", Project: ""},
		{Home: "/h", Project: "/p/"}, {Home: "/h", Project: "p"},
	} {
		if _, err := Inspect(o); err == nil {
			t.Errorf("Inspect(%+v) succeeded, want an error", o)
		}
	}
}

func TestNoHome(t *testing.T) {
	o := options(build(t, tree{"/etc/passwd": "root:x:0:0::/root:/bin/sh\n"}))
	o.Home = ""
	v := inspectWith(t, o)
	for _, f := range v.Files {
		if !strings.HasPrefix(f.Path, "/etc/") {
			t.Errorf("without a home there is a file %q", f.Path)
		}
	}
	if len(v.Caches) != 0 {
		t.Errorf("without a home there are caches: %v", v.Caches)
	}
}

// TestInvariants looks at the host this test runs on: whatever is there, some
// things must hold.
func TestInvariants(t *testing.T) {
	home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
	if err != nil {
		home = ""
	}
	for _, m := range []policy.HomeMode{policy.HomeNone, policy.HomeToolchains, policy.HomeFull} {
		v := inspectWith(t, Options{Home: home, Project: "/srv/none", UID: os.Getuid(), GID: os.Getgid(), Environ: os.Environ(), HomeMode: m})
		checkInvariants(t, v, home, m)
	}
}

func checkInvariants(t *testing.T, v *View, home string, m policy.HomeMode) {
	t.Helper()
	names, paths := map[string]bool{}, map[string]bool{}
	for _, c := range v.Caches {
		if names[c.Name] || paths[c.Path] || c.Name == "" {
			t.Errorf("cache %q at %q is not unique", c.Name, c.Path)
		}
		names[c.Name], paths[c.Path] = true, true
	}
	for _, f := range v.Files {
		if !filepath.IsAbs(f.Path) || f.Reason == "" || f.Perm == 0 {
			t.Errorf("generated file %+v", f)
		}
	}
	for _, r := range v.Rules {
		if r.Source.Layer != policy.LayerDefault || r.Source.Text == "" || !filepath.IsAbs(r.Place) || r.Access == policy.Write {
			t.Errorf("rule %+v", r)
		}
		if r.Place == home && m != policy.HomeFull || r.Place == "/" {
			t.Errorf("rule for %q", r.Place)
		}
	}
}

func BenchmarkInspect(b *testing.B) {
	o := options(build(b, benchTree()), "PATH=/usr/bin:/home/u/.nvm/versions/node/v20/bin", "SHELL=/usr/bin/bash")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Inspect(o); err != nil {
			b.Fatal(err)
		}
	}
}

func benchTree() tree {
	return tree{
		"/home/u/.nvm/versions/node/v20/bin/node": "x", "/home/u/.pyenv/shims/python": "x", "/home/u/.cargo/bin/cargo": "x",
		"/home/u/.cargo/registry/": "", "/home/u/.rustup/toolchains/": "", "/home/u/go/pkg/mod/": "", "/home/u/.cache/go-build/": "",
		"/home/u/.ssh/config": "Host a\n HostName b\n", "/home/u/.ssh/known_hosts": "k", "/home/u/.aws/": "", "/home/u/.gnupg/": "",
		"/home/u/.config/gh/hosts.yml": "t", "/home/u/.mozilla/": "", "/home/u/.config/google-chrome/": "", "/home/u/.bash_history": "h",
		"/home/u/.gitconfig": "[user]\nname = U\nemail = u@e\n[includeIf \"gitdir:~/src/\"]\npath = w\n", "/home/u/w": "[user]\nemail = w@e\n",
		"/etc/passwd": "root:x:0:0::/root:/bin/sh\nu:x:1000:1000::/home/u:/usr/bin/bash\n", "/etc/group": "u:x:1000:\n",
		"/etc/nsswitch.conf": "x", "/etc/ssh/ssh_config": "Host *\n", "/etc/resolv.conf": "-> ../run/r/resolv.conf",
		"/run/r/resolv.conf": "nameserver 127.0.0.53\n", "/usr/bin/bash": "x", testProject + "/.env": "A=b\n", testProject + "/.git/": "",
	}
}
