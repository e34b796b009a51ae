package decide

import (
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
)

// Lend decides and compiles the walls of host commands, from what the workspace was
// decided from: nothing is read again that programs inside could have changed, and no
// ceiling is passed.
func (p *Decision) Lend(command *config.HostCommand) (*Decision, error) {
	if err := ceilings.Of(p.Loaded).CheckHostCommands("host-exec"); err != nil {
		return nil, err
	}
	l := &lender{p: p, command: command}
	b := newDecision(l.borrowed())
	b.UID, b.GID, b.Place, b.Loaded, b.lender = p.UID, p.GID, p.Place, l.frozen(), l
	b.State, b.HistoryAt, b.engine = p.State, p.HistoryAt, p.engine
	if p.contained() || p.inMachine() { // they are the host's programs, behind walls beside the container or machine
		b.engine = engine{}
	}
	b.Hear(func(d api.Denial) { p.Deny(d) })
	if p.Request.Cwd == "" {
		if err := b.Facts.Pin(&p.Place); err != nil {
			return nil, err
		}
	}
	b.findHostPrograms()
	for _, step := range []func() error{b.decide, b.mountsAllowed, b.buildable} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	b.GuardNames()
	if err := b.ExpandGlobs(); err != nil {
		return nil, err
	}
	if b.NoWalls() {
		if err := b.ChooseEngine(nil); err != nil {
			return nil, err
		}
	}
	if err := b.Compile(true); err != nil {
		return nil, err
	}
	b.Plan.Command.Argv = nil
	return b, b.EngineHolds()
}

// findHostPrograms finds out which files host commands are, and makes those visible that
// lie in home. What programs inside can write, or lead to by a link, is none of them: it
// would be the project's choice what runs with the person's credentials.
func (p *Decision) findHostPrograms() {
	main := p.lender.p
	kept := slices.DeleteFunc(filepath.SplitList(p.Getenv("PATH")), func(dir string) bool {
		return !filepath.IsAbs(dir) || main.canWrite(p.Facts.Canonical(dir)) || main.canWrite(filepath.Clean(dir))
	})
	p.Request.Environ = append(slices.DeleteFunc(slices.Clone(p.Request.Environ), func(e string) bool { return strings.HasPrefix(e, "PATH=") }), "PATH="+strings.Join(kept, ":"))
	p.HostPrograms = make(map[string]string)
	var names []string
	for _, c := range main.HostCommands() {
		full, err := p.LookPath(c.Name)
		if err != nil {
			continue // told when it is called
		}
		if real, kind := p.Facts.Resolve(full); kind == sandbox.KindFile && !main.canWrite(real) && !main.canWrite(full) {
			p.HostPrograms[c.Name] = full
			names = append(names, c.Name)
		}
		if t, err := main.ToolchainOf(c.Toolchain, 0); err == nil && t != nil { // else told when it is called
			names = append(names, t.Tool)
		}
	}
	p.findPrograms(names)
}

// canWrite says whether programs of the workspace can change what is at a path.
func (p *Decision) canWrite(path string) bool {
	return pathname.Within(path, p.Place.Project) || slices.ContainsFunc(p.Plan.Roots, func(root string) bool { return pathname.Within(path, root) }) || p.Policy.Lookup(path).Access == policy.Write
}
