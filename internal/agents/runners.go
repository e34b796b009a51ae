package agents

import (
	"slices"
	"strings"
)

// runner is how a package runner is called. As with wrappers, an unknown
// option ends recognition: it may name another registry.
type runner struct {
	verbs  []string // subcommands that run a package; nil: none needed
	flags  []string // options without a value
	valued []string // options with a value that changes nothing here
	pkg    []string // options that name the package; the command then comes apart
	local  []string // settings files of a project that may change what is run
	npmrc  bool     // reads .npmrc, of which harmless keys are let pass
	node   bool     // prefers node_modules of the project
}

// runnerOf returns how the package runner of that name is called. yarn, pnpm,
// npm and uv also run things of the project; only the listed verbs fetch a
// package.
func runnerOf(name string) (runner, bool) {
	npmFlags := []string{"-y", "--yes", "-q", "--quiet", "--silent", "--ignore-existing", "--prefer-online", "--prefer-offline", "--offline"}
	npmValued := []string{"--loglevel"}
	pnpmFlags := []string{"-s", "--silent", "-y", "--yes"}
	pnpmLocal := []string{"pnpm-workspace.yaml", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js"}
	uvFlags := []string{"-q", "--quiet", "-v", "--verbose", "--isolated", "-n", "--no-cache", "-U", "--upgrade", "--offline", "--native-tls"}
	uvValued := []string{"-p", "--python"}
	switch name {
	case "npx":
		return runner{flags: npmFlags, valued: npmValued, pkg: []string{"-p", "--package"}, npmrc: true, node: true}, true
	case "npm":
		return runner{verbs: []string{"exec", "x"}, flags: npmFlags, valued: npmValued, pkg: []string{"--package"},
			npmrc: true, node: true}, true
	case "bunx":
		return runner{flags: []string{"--bun", "--silent", "--verbose", "-y"}, pkg: []string{"-p", "--package"},
			local: []string{"bunfig.toml"}, npmrc: true, node: true}, true
	case "pnpm":
		return runner{verbs: []string{"dlx"}, flags: pnpmFlags, valued: []string{"--reporter"}, pkg: []string{"--package"},
			local: pnpmLocal, npmrc: true, node: true}, true
	case "pnpx":
		return runner{flags: pnpmFlags, pkg: []string{"--package"}, local: pnpmLocal, npmrc: true, node: true}, true
	case "yarn":
		// yarnPath in .yarnrc.yml is a program of the project.
		return runner{verbs: []string{"dlx"}, flags: []string{"-q", "--quiet"}, pkg: []string{"-p", "--package"},
			local: []string{".yarnrc.yml", ".yarnrc", ".yarn/releases", ".yarn/plugins"}, npmrc: true, node: true}, true
	case "uvx": // uv reads no project settings for tools
		return runner{flags: uvFlags, valued: uvValued, pkg: []string{"--from"}}, true
	case "uv":
		return runner{verbs: []string{"tool run"}, flags: uvFlags, valued: uvValued, pkg: []string{"--from"}}, true
	case "pipx":
		return runner{verbs: []string{"run"}, flags: []string{"--no-cache", "--quiet", "-q", "--verbose", "-v"},
			valued: []string{"--python"}, pkg: []string{"--spec"}, local: []string{"__pypackages__"}}, true
	}
	return runner{}, false
}

// runner recognises the package that a runner fetches.
func (s *search) runner(name, resolved string, run runner) (Match, bool) {
	pos, ok := run.verb(s.argv, s.pos+1)
	if !ok {
		return Match{}, false
	}
	call, ok := run.parse(s.argv, pos)
	if !ok {
		return Match{}, false
	}
	a, ok := call.agent()
	if !ok || s.shadowed(run, a) {
		return Match{}, false
	}
	s.via = append(s.via, name)
	return s.match(a, resolved, call.index)
}

// verb steps over the runner's subcommand.
func (run runner) verb(argv []string, pos int) (int, bool) {
	if run.verbs == nil {
		return pos, true
	}
	for _, verb := range run.verbs {
		words := strings.Fields(verb)
		if len(argv) >= pos+len(words) && slices.Equal(argv[pos:pos+len(words)], words) {
			return pos + len(words), true
		}
	}
	return 0, false
}

// call is what a runner's command line asks for.
type call struct {
	packages []string // from options
	word     string   // the package, or with packages the command
	index    int      // of the first argument behind word
}

// parse reads a runner's options up to its package or command.
func (run runner) parse(argv []string, pos int) (call, bool) {
	var c call
	for ; pos < len(argv); pos++ {
		arg := argv[pos]
		name, value, attached := strings.Cut(arg, "=")
		switch {
		case arg == "--" || slices.Contains(run.flags, arg):
		case !strings.HasPrefix(arg, "-"):
			c.word, c.index = arg, pos+1
			return c, true
		case slices.Contains(run.valued, name), slices.Contains(run.pkg, name):
			if !attached {
				pos++
				if pos >= len(argv) {
					return c, false
				}
				value = argv[pos]
			}
			if slices.Contains(run.pkg, name) {
				c.packages = append(c.packages, value)
			}
		default:
			return c, false
		}
	}
	return c, false
}

// agent names the agent of a call. Without a package option the word has to be
// the package; with one, every package has to be the agent's and the word one
// of its commands, since any other package could bring a command of that name.
func (c call) agent() (Agent, bool) {
	if len(c.packages) == 0 {
		return packageAgent(c.word)
	}
	var found Agent
	for _, spec := range c.packages {
		a, ok := packageAgent(spec)
		if !ok || found.Name != "" && found.Name != a.Name {
			return Agent{}, false
		}
		found = a
	}
	return found, slices.Contains(found.Executables, c.word)
}

// versionBytes are those of versions, ranges, tags and extras. A slash or a
// colon would make it a path, an address or another package.
const versionBytes = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+~^<>=*,-[]@"

// isVersion reports whether text may stand behind a package name.
func isVersion(text string) bool {
	return text == "" || strings.IndexByte("@=>~[", text[0]) >= 0 && strings.Trim(text, versionBytes) == ""
}

// packageAgent returns the agent of a package specification.
func packageAgent(spec string) (Agent, bool) {
	spec = strings.TrimPrefix(spec, "npm:")
	for _, a := range Known() {
		for _, pkg := range a.Packages {
			rest, ok := strings.CutPrefix(spec, pkg)
			if ok && isVersion(rest) {
				return a, true
			}
		}
	}
	return Agent{}, false
}

// shadowed reports whether the project may change what the runner runs: by a
// package of its own or by settings.
func (s *search) shadowed(run runner, a Agent) bool {
	if run.node && s.hasLocal(a.Packages) {
		return true
	}
	for _, dir := range s.host.projectDirs() {
		for _, file := range run.local {
			if s.host.exists(dir + "/" + file) {
				return true
			}
		}
		if run.npmrc && s.host.exists(dir+"/.npmrc") && !s.harmlessNpmrc(dir+"/.npmrc") {
			return true
		}
	}
	return false
}

// harmlessNpmrc reports whether every key of a project's .npmrc is known not
// to change which code is run. registry, prefix and node-options do.
func (s *search) harmlessNpmrc(file string) bool {
	text, err := s.host.ReadFileHead(file, maxConfigHead)
	if err != nil || len(text) >= maxConfigHead {
		return false
	}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		key, _, _ := strings.Cut(line, "=")
		if !harmlessKey(strings.TrimSpace(key)) {
			return false
		}
	}
	return true
}

// harmlessKey reports whether an .npmrc key only changes how npm reports or
// saves.
func harmlessKey(key string) bool {
	switch key {
	case "audit", "auto-install-peers", "engine-strict", "fund", "legacy-peer-deps", "loglevel", "package-lock",
		"progress", "save-exact", "save-prefix", "shamefully-hoist", "strict-peer-dependencies", "update-notifier":
		return true
	}
	return false
}
