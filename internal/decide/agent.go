package decide

import (
	"os"
	"path/filepath"
	"slices"

	"carrel/internal/agents"
	"carrel/internal/hostview"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/toolchain"
)

// findProgram looks at where the command itself lies. One in a private part of
// home (~/.local/bin/claude and what it leads to) is made visible with what it
// needs and nothing beside it, and gets a name among the helpers: the
// directory that it was found in stays out of PATH.
func (p *recognised) findProgram() {
	if len(p.Request.Argv) == 0 { // a policy is decided, and no command
		return
	}
	names := []string{p.Request.Argv[0]}
	if p.tools != nil {
		names = append(names, p.tools.Tool)
	}
	if p.Agent != nil && p.match.Index > 1 {
		names = append(names, p.match.Executable)
	}
	if p.Request.For != "" && p.Agent != nil {
		names = append(names, p.Agent.Executables...)
	}
	p.findPrograms(names)
}

// findPrograms looks for programs in home, which are not in sight by themselves.
func (p *recognised) findPrograms(names []string) {
	for _, name := range names {
		full, err := p.LookPath(name)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(full) {
			full = filepath.Join(p.Place.Cwd, full)
		}
		// A link in the project would choose what of home becomes visible.
		real, kind := p.Facts.Resolve(full)
		if pathname.Within(filepath.Clean(full), p.Place.Project) || kind != sandbox.KindFile || !executable(real) {
			continue
		}
		roots := hostview.ExecutableRoots(real, p.Place.Home)
		for _, root := range roots {
			p.programs = append(p.programs, policy.FileRequest{Place: root, Access: policy.Read,
				Source: policy.Source{Layer: policy.LayerDefault, Text: "the command's own program"}})
		}
		if len(roots) > 0 {
			p.found = append(p.found, foundProgram{name: name, full: full, real: real})
		}
	}
}

// foundProgram is a program in home: as it was asked for, as PATH has it, and
// where that leads.
type foundProgram struct{ name, full, real string }

// hidden says that the directory in which PATH has a program is not visible
// inside. A program that is found in its own place stays there: version
// managers and virtual environments know themselves by it.
func (p *startable) hidden(f foundProgram) bool {
	a := p.Policy.Lookup(p.Facts.Canonical(filepath.Dir(f.full))).Access
	return a != policy.Read && a != policy.Write
}

// programLinks give a hidden program a name among the helpers, for whatever
// looks it up again. A name that is there already stays as it is: our own program
// may itself lie in home, or a program there be called as a helper is.
func (p *startable) programLinks(in *sandbox.Input) []sandbox.Mount {
	taken := map[string]bool{sandbox.SelfPath: true}
	for _, m := range slices.Concat(in.Symlinks, in.Binds) {
		taken[m.Target] = true
	}
	var links []sandbox.Mount
	for _, f := range p.found {
		at := inside.Dir + "/" + filepath.Base(f.full)
		if !taken[at] && p.hidden(f) {
			links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: at, Source: f.real, Reason: "the command's own program"})
			taken[at] = true
		}
	}
	return links
}

// programPath is the file to execute for the command itself, "" to look it up.
func (p *startable) programPath() string {
	if len(p.Request.Argv) == 0 || p.tools != nil {
		return ""
	}
	return p.ProgramAt(p.Request.Argv[0])
}

// ProgramAt is the file to execute for a command by its name, "" to look it up.
func (p *startable) ProgramAt(name string) string {
	for _, f := range p.found {
		if f.name == name && p.hidden(f) {
			return f.real
		}
	}
	return ""
}

func executable(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode()&0o111 != 0
}

// agentToolchain is that of the agent itself.
func (p *recognised) agentToolchain() (*toolchain.Toolchain, error) {
	if p.Agent == nil || p.Request.For != "" || p.lender != nil {
		return nil, nil
	}
	return p.ToolchainOf("", 0)
}

// Recognition says which known agent the command is and what it was recognised
// through; false for a command that is none.
func (p *recognised) Recognition() (agents.Match, bool) { return p.match, p.Agent != nil }
