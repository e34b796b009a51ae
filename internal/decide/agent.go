package decide

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/agents"
	"carrel/internal/inside"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/toolchain"
	"carrel/internal/view"
)

// agentHost is what recognition may ask of this machine.
func (p *Decision) agentHost() agents.Host {
	if asksForImage(p) {
		return agents.ImageHost(p.Place.Cwd, p.Place.Home, p.Place.Project)
	}
	return agents.OSHost(p.Place.Cwd, p.Place.Home, p.Place.Project, p.Getenv("PATH"), nil)
}

// LookPath finds a command in the outside PATH; relative entries do not count.
func (p *Decision) LookPath(name string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(p.searchPath()) {
		if !filepath.IsAbs(dir) {
			continue
		}
		full := filepath.Join(dir, name)
		if st, err := os.Stat(full); err == nil && !st.IsDir() && st.Mode()&0o111 != 0 {
			return full, nil
		}
	}
	return "", fmt.Errorf("%q is not in PATH: %w", name, os.ErrNotExist)
}

// findProgram looks at where the command itself lies. One in a private part of
// home (~/.local/bin/claude and what it leads to) is made visible with what it
// needs and nothing beside it, and gets a name among the helpers: the
// directory that it was found in stays out of PATH.
func (p *Decision) findProgram() {
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
func (p *Decision) findPrograms(names []string) {
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
		roots := view.ExecutableRoots(real, p.Place.Home)
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
func (p *Decision) hidden(f foundProgram) bool {
	a := p.Policy.Lookup(p.Facts.Canonical(filepath.Dir(f.full))).Access
	return a != policy.Read && a != policy.Write
}

// programLinks give a hidden program a name among the helpers, for whatever
// looks it up again. A name that is there already stays as it is: our own program
// may itself lie in home, or a program there be called as a helper is.
func (p *Decision) programLinks(in *sandbox.Input) []sandbox.Mount {
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
func (p *Decision) programPath() string {
	if len(p.Request.Argv) == 0 || p.tools != nil {
		return ""
	}
	return p.ProgramAt(p.Request.Argv[0])
}

// ProgramAt is the file to execute for a command by its name, "" to look it up.
func (p *Decision) ProgramAt(name string) string {
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

// ToolchainOf gives the environment of the project that a setting means, nil for none. What is
// given secrets, so many of them, has none: the project would choose what gets them.
func (p *Decision) ToolchainOf(setting string, secrets int) (*toolchain.Toolchain, error) {
	if secrets > 0 {
		return nil, nil
	}
	if setting == "" && p.Loaded != nil && p.Loaded.Settings.Toolchain != nil {
		setting = p.Loaded.Settings.Toolchain.V
	}
	if setting = cmp.Or(setting, "off"); setting == "off" || p.Request.Exact != nil {
		return nil, nil
	}
	return toolchain.Search{Project: p.Place.Project, LookPath: p.LookPath, Canonical: p.Facts.Canonical}.Find(setting)
}

// agentToolchain is that of the agent itself.
func (p *Decision) agentToolchain() (*toolchain.Toolchain, error) {
	if p.Agent == nil || p.Request.For != "" || p.lender != nil {
		return nil, nil
	}
	return p.ToolchainOf("", 0)
}
