package agents

import (
	"path/filepath"
	"slices"
	"strings"
)

// Match says which agent a command line starts.
type Match struct {
	Agent Agent
	// Executable is the canonical path of what was checked: the program, the
	// script (for node), or the runner (npx, uvx, python). Start it by this
	// path or from the same view, so that a link changed since then does not
	// matter.
	Executable string
	Via        []string // wrappers, runners and interpreters passed on the way
	Index      int      // where the agent's own arguments begin in argv, at most len(argv)
}

// maxWrappers bounds how many wrappers may be nested.
const maxWrappers = 16

// Recognise finds the agent that argv starts, looking through wrappers (env,
// nice, timeout ...), package runners (npx, uvx ...) and interpreters (node,
// python -m, deno run). It reports false when argv starts no known agent, when
// anything on the way lies in the project, and whenever it is not sure: an
// option that it does not know, a package version that is a path or an
// address, a PATH that the command line itself sets.
//
// Shells are not looked into: `bash -c "claude"` is no match.
func Recognise(argv []string, host Host) (Match, bool) {
	s := search{argv: argv, host: host}
	for range maxWrappers {
		if s.pos >= len(argv) {
			return Match{}, false
		}
		word := argv[s.pos]
		name := wordName(word)
		if s.wrapper(name, word) {
			continue
		}
		if s.failed {
			return Match{}, false
		}
		return s.program(name, word)
	}
	return Match{}, false
}

// Running names the agent that a process of the machine is, "" for none: by the names of
// its program, or by its command line as [Recognise] reads it. name is that of
// /proc/PID/stat; home and path are where programs are looked for.
func Running(name, exe string, argv []string, home, path string) string {
	names := []string{name, filepath.Base(exe)}
	if len(argv) > 0 {
		names = append(names, filepath.Base(argv[0]))
	}
	for _, a := range Known() {
		if !a.SharedName && slices.ContainsFunc(a.Executables, func(e string) bool { return slices.Contains(names, e) }) {
			return a.Name
		}
	}
	host := OSHost("/", home, "", path, nil)
	for _, words := range [][]string{argv, {exe}} {
		if m, ok := Recognise(words, host); ok {
			return m.Agent.Name
		}
	}
	return ""
}

// search is one walk along argv.
type search struct {
	argv   []string
	host   Host
	pos    int
	via    []string
	pathed bool // the command line changes PATH: bare names cannot be looked up
	failed bool
}

// wordName is the name that a command word goes by: its base name, with the
// version taken off an interpreter's ("python3.12" is "python").
func wordName(word string) string {
	name := commandName(word)
	if rest, ok := strings.CutPrefix(name, "python"); ok && strings.Trim(rest, "0123456789.") == "" {
		return "python"
	}
	return name
}

// program recognises the word that is no wrapper.
func (s *search) program(name, word string) (Match, bool) {
	resolved, ok := s.resolve(word)
	if !ok {
		return Match{}, false
	}
	if run, isRunner := runnerOf(name); isRunner {
		return s.runner(name, resolved, run)
	}
	switch name {
	case "node", "nodejs", "bun":
		return s.script(name)
	case "python":
		return s.module(name, resolved)
	case "deno":
		return s.deno(resolved)
	}
	a, ok := s.agentOf(name, resolved)
	if !ok {
		return Match{}, false
	}
	return s.match(a, resolved, s.pos+1)
}

// resolve finds a command word outside the project.
func (s *search) resolve(word string) (string, bool) {
	if s.pathed && !strings.ContainsRune(word, '/') {
		return "", false
	}
	return s.host.command(word)
}

// agentOf names the agent of a resolved program: by the package that it lies
// in, else by the name that it was started or resolved by.
func (s *search) agentOf(name, resolved string) (Agent, bool) {
	pkg := s.host.packageOf(resolved)
	target := strings.TrimSuffix(strings.TrimSuffix(commandName(resolved), ".js"), ".mjs")
	for _, a := range Known() {
		if pkg != "" && slices.Contains(a.Packages, pkg) {
			return a, s.notShadowed(a, resolved)
		}
	}
	for _, a := range Known() {
		if !slices.Contains(a.Executables, name) && !slices.Contains(a.Executables, target) {
			continue
		}
		if a.SharedName && !s.hasPlaces(a) {
			continue
		}
		return a, s.notShadowed(a, resolved)
	}
	return Agent{}, false
}

// hasPlaces reports whether one of the agent's own places exists in home.
func (s *search) hasPlaces(a Agent) bool {
	if s.host.Home == "" {
		return false
	}
	for _, place := range slices.Concat(a.State, a.Programs) {
		if s.host.exists(s.host.Home + "/" + place) {
			return true
		}
	}
	return false
}

// notShadowed refuses shims that prefer a project's own package: Volta runs
// node_modules/.bin of the project in place of what it installed itself.
func (s *search) notShadowed(a Agent, resolved string) bool {
	if base := commandName(resolved); base != "volta-shim" && base != "volta" {
		return true
	}
	return !s.hasLocal(a.Packages)
}

// hasLocal reports whether the project brings one of the packages itself.
func (s *search) hasLocal(packages []string) bool {
	for _, dir := range s.host.projectDirs() {
		for _, pkg := range packages {
			if s.host.exists(dir + "/node_modules/" + pkg) {
				return true
			}
		}
	}
	return false
}

// match builds the result; an agent's own arguments begin at index.
func (s *search) match(a Agent, executable string, index int) (Match, bool) {
	return Match{Agent: a, Executable: executable, Via: s.via, Index: index}, true
}
