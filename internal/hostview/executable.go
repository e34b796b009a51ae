package hostview

import (
	"bytes"
	"path"
	"strings"

	"carrel/internal/pathname"
)

// versionPlaces are trees below home in which every version of a tool stands
// alone, with the number of components below the tree that name one. A
// negative number takes the tree itself.
var versionPlaces = []struct {
	dir   string
	depth int
}{
	{".nvm/versions/node", 1}, {".config/nvm/versions/node", 1}, {".local/share/fnm/node-versions", 1}, {".fnm/node-versions", 1},
	{".nodenv/versions", 1}, {".pyenv/versions", 1}, {".rbenv/versions", 1}, {".goenv/versions", 1},
	{".asdf/installs", 2}, {".local/share/mise/installs", 2}, {".rustup/toolchains", 1}, {".sdkman/candidates", 2},
	{".local/share/uv/tools", 1}, {".local/share/uv/python", 1}, {".local/share/pipx/venvs", 1}, {".local/pipx/venvs", 1},
	{".local/share/cursor-agent/versions", 1}, {".local/share/claude/versions", 1},
	{".volta", -1}, {".bun", -1}, {".deno", -1}, {".local/share/pnpm", -1}, {".cargo/bin", -1}, {".opencode/bin", -1},
	{".claude/local", -1}, {"miniconda3", -1}, {"anaconda3", -1}, {"miniforge3", -1}, {"micromamba", -1},
	{".linuxbrew", -1}, {"n", -1},
}

// These bound pyvenv.cfg, and how far a chain of environments is followed.
const (
	maxVenvFile  = 64 << 10
	maxVenvChain = 4
)

// ExecutableRoots says which places below home must be visible, read-only, so
// that an executable runs. path is the resolved executable (no link left), home
// the canonical home directory. The answer is empty for an executable outside
// home, and the file alone where nothing is known of its surroundings; it never
// is home itself or a directory that collects programs (~/.local/bin).
func ExecutableRoots(path string, home string) []string {
	if supported() != nil {
		return nil
	}
	return executableRoots(newHost(""), path, home)
}

func executableRoots(h *host, exe, home string) []string {
	var roots []string
	for range maxVenvChain {
		if home == "" || home == "/" || !path.IsAbs(exe) || exe == home || !pathname.Within(exe, home) {
			return roots
		}
		root, next := oneRoot(h, exe, home)
		if root == home || pathname.Within(home, root) {
			root = exe
		}
		if !contains(roots, root) {
			roots = append(roots, root)
		}
		if next == "" {
			return roots
		}
		exe = next
	}
	return roots
}

// oneRoot finds the tree of one executable and, for a virtual environment, the
// interpreter that it stands on.
func oneRoot(h *host, exe, home string) (root, next string) {
	if venv := path.Dir(path.Dir(exe)); pathname.Within(venv, home) && venv != home {
		if data, err := h.read(path.Join(venv, "pyvenv.cfg"), maxVenvFile); err == nil {
			return versionRoot(venv, home), basePython(h, data)
		}
	}
	if root := versionRoot(exe, home); root != exe {
		return root, ""
	}
	if root := packageRoot(exe); root != "" {
		return root, ""
	}
	return exe, ""
}

// versionRoot cuts a path after the component that names a version, or returns
// it as it is.
func versionRoot(p, home string) string {
	for _, v := range versionPlaces {
		dir := path.Join(home, v.dir)
		if p == dir || !pathname.Within(p, dir) {
			continue
		}
		if v.depth < 0 {
			return dir
		}
		parts := strings.Split(p[len(dir)+1:], "/")
		if len(parts) >= v.depth {
			return path.Join(dir, path.Join(parts[:v.depth]...))
		}
	}
	return p
}

// packageRoot is the package of a Node program: alone below lib/node_modules,
// where every global package keeps its own dependencies, else with its
// neighbours, since other installers share them.
func packageRoot(exe string) string {
	const sep = "/node_modules/"
	i := strings.Index(exe, sep)
	if i < 0 {
		return ""
	}
	modules := exe[:i+len(sep)-1]
	if path.Base(exe[:i]) != "lib" {
		return modules
	}
	parts := strings.Split(exe[i+len(sep):], "/")
	if strings.HasPrefix(parts[0], "@") && len(parts) > 1 {
		return path.Join(modules, parts[0], parts[1])
	}
	return path.Join(modules, parts[0])
}

// basePython reads "home = /dir" of pyvenv.cfg and finds the interpreter there.
func basePython(h *host, cfg []byte) string {
	for line := range bytes.Lines(cfg) {
		key, value, ok := strings.Cut(string(line), "=")
		if !ok || strings.TrimSpace(key) != "home" {
			continue
		}
		dir := strings.TrimSpace(value)
		if !path.IsAbs(dir) {
			return ""
		}
		for _, name := range []string{"python3", "python"} {
			if at := h.walk(path.Join(path.Clean(dir), name)); at.isFile() {
				return at.path
			}
		}
	}
	return ""
}
