package hostview

import (
	"slices"
	"sync"
)

// toolTable is what is known of toolchains: version managers, languages, and
// programs that only keep caches. Read parts are shown at the same path,
// read-only; shims and caches are copy-on-write, since normal use writes them.
var toolTable = sync.OnceValue(func() []tool {
	return slices.Concat(versionManagers(), languages(), packageManagers(), cachesOnly())
})

func versionManagers() []tool {
	return []tool{
		{name: "nvm", env: []string{"NVM_DIR"}, places: []string{"~/.nvm", "$CONFIG/nvm"},
			caches: []toolCache{{sub: ".cache", name: "nvm"}}},
		{name: "fnm", env: []string{"FNM_DIR"}, places: []string{"$DATA/fnm", "~/.fnm"}},
		{name: "volta", env: []string{"VOLTA_HOME"}, places: []string{"~/.volta"}, run: []string{"VOLTA_UNSAFE_GLOBAL=1"},
			caches: []toolCache{{sub: "tmp", name: "volta-tmp"}, {sub: "log", name: "volta-log"}}},
		{name: "n", env: []string{"N_PREFIX"}, places: []string{"~/n", "~/.n"}},
		{name: "nodenv", env: []string{"NODENV_ROOT"}, places: []string{"~/.nodenv"}, caches: shims("nodenv")},
		{name: "pyenv", env: []string{"PYENV_ROOT"}, places: []string{"~/.pyenv"}, caches: shims("pyenv")},
		{name: "rbenv", env: []string{"RBENV_ROOT"}, places: []string{"~/.rbenv"}, caches: shims("rbenv")},
		{name: "rvm", env: []string{"rvm_path"}, places: []string{"~/.rvm"}},
		{name: "chruby", places: []string{"~/.rubies"}},
		{name: "goenv", env: []string{"GOENV_ROOT"}, places: []string{"~/.goenv"}, caches: shims("goenv")},
		{name: "gvm", env: []string{"GVM_ROOT"}, places: []string{"~/.gvm"}},
		{name: "jenv", env: []string{"JENV_ROOT"}, places: []string{"~/.jenv"}, caches: shims("jenv")},
		{name: "plenv", env: []string{"PLENV_ROOT"}, places: []string{"~/.plenv"}, caches: shims("plenv")},
		{name: "phpenv", env: []string{"PHPENV_ROOT"}, places: []string{"~/.phpenv"}, caches: shims("phpenv")},
		{name: "luaenv", env: []string{"LUAENV_ROOT"}, places: []string{"~/.luaenv"}, caches: shims("luaenv")},
		{name: "tfenv", env: []string{"TFENV_ROOT"}, places: []string{"~/.tfenv"}},
		{name: "asdf", env: []string{"ASDF_DATA_DIR"}, places: []string{"~/.asdf"}, caches: shims("asdf")},
		{name: "asdf program", env: []string{"ASDF_DIR"}},
		{name: "asdf versions", places: []string{"~/.tool-versions"}},
		{name: "mise", env: []string{"MISE_DATA_DIR"}, places: []string{"$DATA/mise", "$DATA/rtx"}, caches: shims("mise")},
		{name: "mise settings", env: []string{"MISE_CONFIG_DIR"}, places: []string{"$CONFIG/mise"}, read: []string{},
			files: []string{"config.toml", "settings.toml"}},
		{name: "mise state", env: []string{"MISE_STATE_DIR"}, places: []string{"$STATE/mise"}, read: []string{},
			caches: []toolCache{{name: "mise-state"}}},
		{name: "mise cache", env: []string{"MISE_CACHE_DIR"}, places: []string{"$CACHE/mise"}, read: []string{},
			caches: []toolCache{{name: "mise-cache"}}},
		{name: "proto", env: []string{"PROTO_HOME"}, places: []string{"~/.proto"}, caches: shims("proto")},
		{name: "aqua", env: []string{"AQUA_ROOT_DIR"}, places: []string{"$DATA/aquaproj-aqua"}},
		{name: "rustup", env: []string{"RUSTUP_HOME"}, places: []string{"~/.rustup"}},
		{name: "sdkman", env: []string{"SDKMAN_DIR"}, places: []string{"~/.sdkman"}},
		{name: "ghcup", env: []string{"GHCUP_INSTALL_BASE_PREFIX"}, places: []string{"~/.ghcup"}},
		{name: "juliaup", places: []string{"~/.juliaup"}},
		{name: "elan", env: []string{"ELAN_HOME"}, places: []string{"~/.elan"}},
		{name: "swiftly", env: []string{"SWIFTLY_HOME_DIR"}, places: []string{"$DATA/swiftly"}},
		{name: "zvm", places: []string{"~/.zvm"}},
		{name: "nix profile", places: []string{"~/.nix-profile", "$STATE/nix/profiles", "/nix/var/nix/profiles"}},
		{name: "guix profile", places: []string{"~/.guix-profile", "~/.guix-home/profile", "/var/guix/profiles", "/gnu/store"}},
		{name: "homebrew", env: []string{"HOMEBREW_PREFIX"}, places: []string{"/home/linuxbrew/.linuxbrew", "~/.linuxbrew"}},
		{name: "pkgx", places: []string{"~/.pkgx"}},
	}
}

func languages() []tool {
	return []tool{
		{name: "cargo", env: []string{"CARGO_HOME"}, places: []string{"~/.cargo"}, read: []string{"bin", "env"},
			files: []string{"config.toml", "config"}, hide: []string{"credentials", "credentials.toml"},
			caches: []toolCache{{sub: "registry", name: "cargo-registry", create: true}, {sub: "git", name: "cargo-git", create: true}}},
		{name: "go", env: []string{"GOPATH"}, list: true, places: []string{"~/go"}, read: []string{"bin"},
			caches: []toolCache{{sub: "pkg/mod", name: "go-mod", env: "GOMODCACHE", create: true}}},
		{name: "go root", env: []string{"GOROOT"}, places: []string{"~/sdk", "~/.local/go", "~/.go"}},
		{name: "go settings", places: []string{"$CONFIG/go"}, read: []string{}, files: []string{"env"}},
		{name: "go build", env: []string{"GOCACHE"}, places: []string{"$CACHE/go-build"}, read: []string{},
			caches: []toolCache{{name: "go-build", create: true}}},
		{name: "golangci-lint", env: []string{"GOLANGCI_LINT_CACHE"}, places: []string{"$CACHE/golangci-lint"}, read: []string{},
			caches: []toolCache{{name: "golangci-lint"}}},
		{name: "deno", env: []string{"DENO_INSTALL"}, places: []string{"~/.deno"}},
		{name: "deno cache", env: []string{"DENO_DIR"}, places: []string{"$CACHE/deno"}, read: []string{},
			caches: []toolCache{{name: "deno"}}},
		{name: "bun", env: []string{"BUN_INSTALL"}, places: []string{"~/.bun"}, read: []string{"bin", "install/global"},
			caches: []toolCache{{sub: "install/cache", name: "bun", env: "BUN_INSTALL_CACHE_DIR"}}},
		{name: "java", env: []string{"JAVA_HOME", "JDK_HOME"}, places: []string{"~/.jdks", "~/.jdk"}},
		{name: "jbang", env: []string{"JBANG_DIR"}, places: []string{"~/.jbang"}, read: []string{"bin", "currentjdk"},
			caches: []toolCache{{sub: "cache", name: "jbang", env: "JBANG_CACHE_DIR", keep: true}}},
		{name: "kotlin native", env: []string{"KONAN_DATA_DIR"}, places: []string{"~/.konan"}},
		{name: "android sdk", env: []string{"ANDROID_HOME", "ANDROID_SDK_ROOT"}, places: []string{"~/Android/Sdk"}},
		{name: "flutter", env: []string{"FLUTTER_ROOT"}, places: []string{"~/flutter", "~/development/flutter"}},
		{name: "dart", env: []string{"PUB_CACHE"}, places: []string{"~/.pub-cache"}, hide: []string{"credentials.json"},
			caches: []toolCache{{name: "pub", keep: true}}},
		{name: "dotnet", env: []string{"DOTNET_ROOT"}, places: []string{"~/.dotnet"}},
		{name: "opam", env: []string{"OPAMROOT"}, places: []string{"~/.opam"}},
		{name: "cabal", env: []string{"CABAL_DIR"}, places: []string{"~/.cabal"}, read: []string{"bin", "store"},
			caches: []toolCache{{sub: "packages", name: "cabal"}}},
		{name: "stack", env: []string{"STACK_ROOT"}, places: []string{"~/.stack"}, read: []string{},
			caches: []toolCache{{name: "stack", keep: true}}},
		{name: "julia", places: []string{"~/.julia"}, read: []string{}, caches: []toolCache{{name: "julia", keep: true}}},
		{name: "elixir", env: []string{"MIX_HOME"}, places: []string{"~/.mix"}},
		{name: "hex", env: []string{"HEX_HOME"}, places: []string{"~/.hex"}, read: []string{}, hide: []string{"hex.config"},
			caches: []toolCache{{sub: "packages", name: "hex"}}},
		{name: "kerl", places: []string{"~/.kerl"}},
		{name: "perl", places: []string{"~/perl5"}},
		{name: "luarocks", places: []string{"~/.luarocks"}, read: []string{"bin", "lib", "share"}},
		{name: "nim", places: []string{"~/.nimble", "~/.choosenim"}},
		{name: "crystal", places: []string{"$CACHE/crystal"}, read: []string{}, caches: []toolCache{{name: "crystal"}}},
		{name: "conda", env: []string{"CONDA_ROOT", "MAMBA_ROOT_PREFIX"}, hide: []string{".condarc"},
			places: []string{"~/miniconda3", "~/anaconda3", "~/miniforge3", "~/mambaforge", "~/micromamba", "~/.conda/envs", "~/mambaforge-pypy3"}},
		{name: "virtual environment", env: []string{"VIRTUAL_ENV"}},
		{name: "virtualenvwrapper", env: []string{"WORKON_HOME"}, places: []string{"~/.virtualenvs", "$DATA/virtualenvs"}},
		{name: "wasmtime", env: []string{"WASMTIME_HOME"}, places: []string{"~/.wasmtime", "~/.wasmer"}},
		{name: "emscripten", env: []string{"EMSDK"}, places: []string{"~/emsdk"}},
		{name: "foundry", env: []string{"FOUNDRY_DIR"}, places: []string{"~/.foundry"}, read: []string{"bin", "versions"}},
		{name: "cuda", env: []string{"CUDA_HOME", "CUDA_PATH"}},
	}
}

// shims is the state that version managers of one family rewrite ("rehash").
func shims(name string) []toolCache {
	return []toolCache{{sub: "shims", name: name + "-shims", keep: true}}
}

// toolVariables are the variables of the table, for the allow-list.
var toolVariables = sync.OnceValue(func() map[string]bool {
	m := make(map[string]bool, 128)
	for _, t := range toolTable() {
		for _, name := range t.env {
			m[name] = true
		}
		for _, c := range t.caches {
			m[c.env] = true
		}
	}
	delete(m, "")
	return m
})
