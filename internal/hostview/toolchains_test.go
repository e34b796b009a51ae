package hostview

import (
	"strings"
	"testing"

	"carrel/internal/policy"
)

func TestToolchains(t *testing.T) {
	files := tree{}
	want := strings.Fields(`.nvm .volta .pyenv .rbenv .asdf .rustup .deno .sdkman .jenv .ghcup .opam .dotnet .pub-cache flutter .rubies
		.local/share/fnm .local/share/mise .local/share/pnpm .local/share/uv/tools .local/share/uv/python .local/share/pipx
		miniconda3 .cargo/bin go/bin sdk .bun/bin n .jdks .npm-global`)
	for _, p := range want {
		files["/home/u/"+p+"/x"] = "x"
	}
	v := inspect(t, files)
	for _, p := range want {
		if access(v, "/home/u/"+p) != policy.Read {
			t.Errorf("~/%s is not shown", p)
		}
	}
	for _, p := range []string{".cargo", "go", ".bun", ".local", ".local/share", ".gradle"} {
		if access(v, "/home/u/"+p) != policy.Unset {
			t.Errorf("~/%s has a rule", p)
		}
	}
}

func TestToolchainVariables(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/tools/nvm/nvm.sh": "x", "/data/pyenv/shims/python": "x", "/home/u/g1/bin/a": "x", "/home/u/g2/bin/a": "x",
		"/data/cargo/bin/c": "x", "/data/cargo/credentials.toml": "t", "/data/gocache/": "", "/home/u/.nvm/x": "x",
	}, "NVM_DIR=/home/u/tools/nvm", "PYENV_ROOT=/data/pyenv/", "GOPATH=/home/u/g1:/home/u/g2:relative", "CARGO_HOME=/data/cargo", "GOCACHE=/data/gocache")
	for _, p := range []string{"/home/u/tools/nvm", "/data/pyenv", "/home/u/g1/bin", "/home/u/g2/bin", "/data/cargo/bin"} {
		if access(v, p) != policy.Read {
			t.Errorf("%s is not shown", p)
		}
	}
	if access(v, "/home/u/.nvm") != policy.Unset {
		t.Error("the default place is shown although the variable names another")
	}
	if access(v, "/data/cargo/credentials.toml") != policy.Deny {
		t.Error("credentials in a moved CARGO_HOME are not denied")
	}
	for _, p := range []string{"/data/gocache", "/data/pyenv/shims"} {
		if _, ok := cacheAt(v, p); !ok {
			t.Errorf("no cache at %s", p)
		}
	}
	a, _ := cacheAt(v, "/home/u/g1/pkg/mod")
	b, _ := cacheAt(v, "/home/u/g2/pkg/mod")
	if a.Name == "" || b.Name == "" || a.Name == b.Name {
		t.Errorf("module caches %+v and %+v", a, b)
	}
}

func TestToolchainRefusals(t *testing.T) {
	files := tree{"/home/u/.ssh/tools/x": "k", "/home/u/.nvm": "-> /home/u", "/proc/": "", "/run/x/": "", "/etc/x/": ""}
	for _, dir := range []string{"/", "/home", "/home/u", "/home/u/src", testProject, "/proc", "/run/x", "/home/u/.ssh/tools", "/home/u/.ssh", "/etc/x", "relative", "/missing"} {
		v := inspect(t, files, "PYENV_ROOT="+dir, "GOCACHE="+dir)
		if strings.HasPrefix(dir, "/") && access(v, dir) == policy.Read {
			t.Errorf("PYENV_ROOT=%s is shown", dir)
		}
		if _, ok := cacheAt(v, dir); ok {
			t.Errorf("GOCACHE=%s is a cache", dir)
		}
		if access(v, testHome) != policy.Unset {
			t.Error("a link from ~/.nvm shows home")
		}
	}
}

func TestToolchainInProject(t *testing.T) {
	v := inspect(t, tree{testProject + "/.cargo/bin/x": "x", testProject + "/.cargo/registry/": ""}, "CARGO_HOME="+testProject+"/.cargo")
	if access(v, testProject+"/.cargo/bin") != policy.Unset {
		t.Error("a toolchain in the project became read-only")
	}
	if _, ok := cacheAt(v, testProject+"/.cargo/registry"); ok {
		t.Error("a directory of the project became a cache")
	}
}

func TestToolchainLinks(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/.nvm": "-> /data/nvm", "/data/nvm/nvm.sh": "x",
		"/home/u/.nix-profile": "-> .local/state/nix/profiles/profile", "/home/u/.local/state/nix/profiles/profile": "-> profile-1-link",
		"/home/u/.local/state/nix/profiles/profile-1-link": "-> /nix/store/abc", "/nix/store/abc/bin/x": "x",
	})
	if access(v, "/data/nvm") != policy.Read || !hasLink(v, "/home/u/.nvm", "/data/nvm") {
		t.Errorf("a linked toolchain is not shown: %v %v", v.Rules, v.Symlinks)
	}
	for _, l := range []string{"/home/u/.nix-profile", "/home/u/.local/state/nix/profiles/profile", "/home/u/.local/state/nix/profiles/profile-1-link"} {
		found := false
		for _, s := range v.Symlinks {
			found = found || s.Path == l
		}
		if !found {
			t.Errorf("the link %s is missing", l)
		}
	}
}

func TestCaches(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/.npm/_cacache/": "", "/home/u/.pyenv/shims/": "", "/home/u/.cache/pre-commit/": "", "/home/u/.local/share/pnpm/store/": "",
		"/home/u/.cache/yarn/": "",
	})
	tests := []struct {
		path                  string
		create, private, keep bool
	}{
		{"/home/u/.npm", true, false, false},
		{"/home/u/.cargo/registry", true, false, false},
		{"/home/u/go/pkg/mod", true, false, false},
		{"/home/u/.cache/go-build", true, false, false},
		{"/home/u/.pyenv/shims", false, false, true},
		{"/home/u/.cache/pre-commit", false, false, true},
		{"/home/u/.cache/yarn", false, false, false},
		{"/home/u/.local/share/pnpm/store", true, true, false},
		{"/home/u/.local/share/carrel/prefix", true, true, false},
	}
	for _, tt := range tests {
		c, ok := cacheAt(v, tt.path)
		if !ok || c.Create != tt.create || c.Private != tt.private || c.Keep != tt.keep {
			t.Errorf("cache at %s: %+v, want create=%v private=%v keep=%v", tt.path, c, tt.create, tt.private, tt.keep)
		}
	}
	if _, ok := cacheAt(v, "/home/u/.cache/ccache"); ok {
		t.Error("a cache that does not exist and is not needed is listed")
	}
	if _, ok := cacheAt(v, "/home/u/.local"); ok {
		t.Error("the host's ~/.local is a cache")
	}
}

func TestConfigFilesWithSecrets(t *testing.T) {
	v := inspect(t, tree{
		"/home/u/.cargo/config.toml": "[registries.x]\ntoken = \"t\"\n", "/home/u/.config/mise/config.toml": "[tools]\nnode='20'\n",
	})
	if access(v, "/home/u/.cargo/config.toml") == policy.Read {
		t.Error("a configuration with a token is shown")
	}
	if access(v, "/home/u/.config/mise/config.toml") != policy.Read {
		t.Error("a harmless configuration is not shown")
	}
}

func TestPathNotes(t *testing.T) {
	v := inspect(t, tree{"/home/u/.nvm/versions/node/v20/bin/node": "x", "/home/u/scripts/bin/x": "x", "/home/u/.local/bin/x": "x"},
		"PATH=/usr/bin:/home/u/.nvm/versions/node/v20/bin:/home/u/scripts/bin:/home/u/.local/bin:relative")
	if !hasNote(v, "~/scripts/bin is on PATH") || hasNote(v, ".nvm/versions") {
		t.Errorf("notes: %q", v.Notes)
	}
	if access(v, "/home/u/.local/bin") != policy.Deny {
		t.Error("the host's ~/.local/bin is not denied")
	}
}

func TestPrefix(t *testing.T) {
	v := inspect(t, tree{"/home/u/.npmrc": "registry=https://r.example/\n//r.example/:_authToken=SECRET\n@a:registry=https://a.example\n" +
		"_auth=SECRET\nproxy=http://u:SECRET@p\nregistry=https://u:SECRET@r\nscript-shell=/tmp/x\n@b:registry=${SECRET}\n"})
	const prefix = "/home/u/.local/share/carrel/prefix"
	if len(v.PathDirs) == 0 || v.PathDirs[0] != prefix+"/bin" {
		t.Errorf("PathDirs = %q", v.PathDirs)
	}
	for _, name := range []string{"PYTHONUSERBASE", "CARGO_INSTALL_ROOT", "GOBIN", "GEM_HOME"} {
		if !strings.HasPrefix(v.Env[name], prefix) {
			t.Errorf("%s = %q, want it below %s", name, v.Env[name], prefix)
		}
	}
	if _, set := v.Env["NPM_CONFIG_PREFIX"]; set {
		t.Error("NPM_CONFIG_PREFIX is set, which nvm refuses")
	}
	rc := mustFile(t, v, v.Env["NPM_CONFIG_USERCONFIG"])
	want := "registry=https://r.example/\n@a:registry=https://a.example\nprefix=" + prefix + "\n"
	if rc != want {
		t.Errorf("npmrc = %q, want %q", rc, want)
	}
}
