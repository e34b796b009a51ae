package hostview

import (
	"bytes"
	"path"
	"strings"
)

// prefixPlace is where programs that are installed inside go. It lies in the
// program's own data directory, so that a mount point for it may exist on the
// host, and never is the host's ~/.local.
const prefixPlace = "~/.local/share/carrel/prefix"

// npmrcPlace is the user configuration of npm inside. It is not ~/.npmrc: nvm
// refuses to work when it finds a prefix there or in NPM_CONFIG_PREFIX.
const npmrcPlace = "~/.local/share/carrel/npmrc"

const maxNpmrc = 64 << 10

// prefix sends the "install for this user" of the languages to one private
// directory that is kept per project.
func (in *inspector) prefix() {
	if in.o.Home == "" {
		return
	}
	p := in.base.expand(prefixPlace)
	in.out.view.Caches = append(in.out.view.Caches, Cache{
		Path: p, Name: "prefix", Create: true, Private: true,
		Reason: "programs installed inside by npm -g, pip --user, cargo, go and gem",
	})
	env := in.out.view.Env
	env["PYTHONUSERBASE"] = p
	env["CARGO_INSTALL_ROOT"] = p
	env["GOBIN"] = path.Join(p, "bin")
	env["GEM_HOME"] = path.Join(p, "gem")
	env["PIPX_BIN_DIR"] = path.Join(p, "bin")
	env["UV_TOOL_BIN_DIR"] = path.Join(p, "bin")
	env["UV_LINK_MODE"] = "copy" // hard links cannot cross mounts
	env["NPM_CONFIG_USERCONFIG"] = in.base.expand(npmrcPlace)
	in.out.view.PathDirs = append(in.out.view.PathDirs, path.Join(p, "bin"), path.Join(p, "gem", "bin"))
	in.out.homeFile(in.base.expand(npmrcPlace), in.npmrc(p), 0o644, "npm settings without tokens")
}

// npmrc keeps the registries of the user's .npmrc and adds the private prefix.
func (in *inspector) npmrc(prefix string) []byte {
	var b bytes.Buffer
	if in.o.wantsHome() {
		if data, _, err := in.h.load(in.base.expand("~/.npmrc"), maxNpmrc); err == nil {
			for _, line := range safeNpmrc(data) {
				b.WriteString(line + "\n")
			}
		}
	}
	b.WriteString("prefix=" + prefix + "\n")
	return b.Bytes()
}

// safeNpmrcKeys are settings of npm that hold no secret and run nothing. A
// scope's registry is allowed besides.
var safeNpmrcKeys = wordSet("registry", "strict-ssl", "cafile", "save-exact", "save-prefix", "engine-strict", "fund", "audit",
	"legacy-peer-deps", "init-license", "loglevel", "progress", "update-notifier", "prefer-offline", "fetch-retries",
	"fetch-timeout", "maxsockets", "package-lock", "lockfile-version", "min-release-age", "ignore-scripts")

// safeNpmrc returns the lines of an .npmrc that may be seen inside.
func safeNpmrc(data []byte) []string {
	var keep []string
	for line := range bytes.Lines(data) {
		key, value, ok := strings.Cut(strings.TrimSpace(string(line)), "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		scope := strings.HasPrefix(key, "@") && strings.HasSuffix(key, ":registry")
		if !ok || !scope && !safeNpmrcKeys()[key] || hasUserinfo(value) || strings.Contains(value, "${") {
			continue
		}
		keep = append(keep, key+"="+value)
	}
	return keep
}
