package agents

import (
	"slices"
	"strings"
)

// script recognises `node [options] /path/cli.js`: by the package that the
// resolved script lies in. Options that load or evaluate other code end
// recognition. `bun x` is the package runner.
func (s *search) script(name string) (Match, bool) {
	pos := s.pos + 1
	if name == "bun" && pos < len(s.argv) {
		switch s.argv[pos] {
		case "x":
			s.pos++
			return s.bunx()
		case "run":
			pos++
		}
	}
	for pos < len(s.argv) && strings.HasPrefix(s.argv[pos], "-") {
		if s.argv[pos] == "--" {
			pos++
			break
		}
		if !harmlessNode(s.argv[pos]) {
			return Match{}, false
		}
		pos++
	}
	if pos >= len(s.argv) {
		return Match{}, false
	}
	file, ok := s.host.trusted(s.argv[pos])
	if !ok {
		return Match{}, false
	}
	pkg := s.host.packageOf(file)
	for _, a := range Known() {
		if pkg != "" && slices.Contains(a.Packages, pkg) {
			s.via = append(s.via, name)
			return s.match(a, file, pos+1)
		}
	}
	return Match{}, false
}

// bunx recognises `bun x PACKAGE`, with the position at "x".
func (s *search) bunx() (Match, bool) {
	resolved, ok := s.resolve(s.argv[s.pos-1])
	if !ok {
		return Match{}, false
	}
	run, _ := runnerOf("bunx")
	return s.runner("bun", resolved, run)
}

// harmlessNode reports whether a node option is known to take its value in the
// same word and to load no code.
func harmlessNode(option string) bool {
	name, _, _ := strings.Cut(option, "=")
	switch name {
	case "--max-old-space-size", "--stack-size", "--no-warnings", "--no-deprecation", "--enable-source-maps",
		"--disable-warning", "--use-system-ca", "--use-openssl-ca", "--experimental-strip-types", "--expose-gc":
		return true
	}
	return false
}

// module recognises `python -m MODULE`. Python looks for the module in the
// working directory first, unless -I or -P says not to.
func (s *search) module(name, resolved string) (Match, bool) {
	isolated := false
	for pos := s.pos + 1; pos < len(s.argv); pos++ {
		arg := s.argv[pos]
		switch {
		case arg == "-m":
			if pos+1 >= len(s.argv) {
				return Match{}, false
			}
			a, ok := moduleAgent(s.argv[pos+1])
			if !ok || !isolated && s.localModule(s.argv[pos+1]) {
				return Match{}, false
			}
			s.via = append(s.via, name)
			return s.match(a, resolved, pos+2)
		case len(arg) > 1 && arg[0] == '-' && strings.Trim(arg[1:], "BEIOPqsu") == "":
			isolated = isolated || strings.ContainsAny(arg, "IP")
		default:
			return Match{}, false
		}
	}
	return Match{}, false
}

// localModule reports whether a module of that name lies where Python looks
// first.
func (s *search) localModule(module string) bool {
	top, _, _ := strings.Cut(module, ".")
	for _, form := range []string{top, top + ".py", top + ".pyc", top + ".so"} {
		if s.host.exists(s.host.Cwd + "/" + form) {
			return true
		}
	}
	return false
}

// moduleAgent returns the agent that a Python module starts.
func moduleAgent(module string) (Agent, bool) {
	for _, a := range Known() {
		if slices.Contains(a.Modules, module) {
			return a, true
		}
	}
	return Agent{}, false
}

// deno recognises `deno run [permissions] npm:PACKAGE`. A deno.json of the
// project may map the package elsewhere.
func (s *search) deno(resolved string) (Match, bool) {
	pos := s.pos + 1
	if pos >= len(s.argv) || s.argv[pos] != "run" {
		return Match{}, false
	}
	for pos++; pos < len(s.argv); pos++ {
		arg := s.argv[pos]
		switch {
		case arg == "-A", arg == "-q", arg == "--quiet", strings.HasPrefix(arg, "--allow-"):
		case strings.HasPrefix(arg, "npm:"):
			a, ok := packageAgent(arg)
			if !ok || s.shadowed(denoSettings(), a) {
				return Match{}, false
			}
			s.via = append(s.via, "deno")
			return s.match(a, resolved, pos+1)
		default:
			return Match{}, false
		}
	}
	return Match{}, false
}

// denoSettings is what of a project deno lets decide.
func denoSettings() runner {
	return runner{local: []string{"deno.json", "deno.jsonc", "package.json"}, npmrc: true, node: true}
}
