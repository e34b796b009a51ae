package workspace

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"carrel/internal/agents"
	"carrel/internal/inside"
	"carrel/internal/logins"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/view"
)

// agentHost is what recognition may ask of this machine.
func (p *Prepared) agentHost() agents.Host {
	return agents.OSHost(p.place.Cwd, p.place.Home, p.place.Project, p.getenv("PATH"), nil)
}

// lookPath finds a command in the outside PATH; relative entries do not count.
func (p *Prepared) lookPath(name string) (string, error) {
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
func (p *Prepared) findProgram() {
	if len(p.req.Argv) == 0 { // a policy is decided, and no command
		return
	}
	names := []string{p.req.Argv[0]}
	if p.tools != nil {
		names = append(names, p.tools.tool)
	}
	if p.Agent != nil && p.match.Index > 1 {
		names = append(names, p.match.Executable)
	}
	if p.req.For != "" && p.Agent != nil {
		names = append(names, p.Agent.Executables...)
	}
	p.findPrograms(names)
}

// findPrograms looks for programs in home, which are not in sight by themselves.
func (p *Prepared) findPrograms(names []string) {
	for _, name := range names {
		full, err := p.lookPath(name)
		if err != nil {
			continue
		}
		if !filepath.IsAbs(full) {
			full = filepath.Join(p.place.Cwd, full)
		}
		// A link in the project would choose what of home becomes visible.
		real, kind := p.facts.Resolve(full)
		if pathname.Within(filepath.Clean(full), p.place.Project) || kind != sandbox.KindFile || !executable(real) {
			continue
		}
		roots := view.ExecutableRoots(real, p.place.Home)
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
func (p *Prepared) hidden(f foundProgram) bool {
	a := p.Policy.Lookup(p.facts.Canonical(filepath.Dir(f.full))).Access
	return a != policy.Read && a != policy.Write
}

// programLinks give a hidden program a name among the helpers, for whatever
// looks it up again.
func (p *Prepared) programLinks() []sandbox.Mount {
	var links []sandbox.Mount
	for _, f := range p.found {
		if p.hidden(f) {
			links = append(links, sandbox.Mount{Kind: sandbox.MakeSymlink, Target: inside.Dir + "/" + filepath.Base(f.full), Source: f.real, Reason: "the command's own program"})
		}
	}
	return links
}

// programPath is the file to execute for the command itself, "" to look it up.
func (p *Prepared) programPath() string {
	if len(p.req.Argv) == 0 || p.tools != nil {
		return ""
	}
	return p.programAt(p.req.Argv[0])
}

// programAt is the file to execute for a command by its name, "" to look it up.
func (p *Prepared) programAt(name string) string {
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

func (p *Prepared) agentDir() string { return p.state.Agent(p.place.Project, p.Agent.Name) }

func (p *Prepared) agentPlaces() agents.Places {
	var own []string // hidden as well, and what the copy is of
	for _, place := range p.Agent.State {
		if home, at, err := agents.Follow(p.place.Home, place); err == nil {
			own = append(own, filepath.Join(home, at))
		}
	}
	return agents.Places{HostHome: p.place.Home, Private: p.agentDir(), Hidden: func(place string) bool {
		d := p.Policy.Lookup(filepath.Join(p.place.Home, place))
		return d.Access == policy.Deny && (d.Rule == nil || !slices.ContainsFunc(own, func(at string) bool { return pathname.Within(d.Rule.Path, at) }))
	}}
}

// agentLogins are those of the agent that runs here.
func (p *Prepared) agentLogins() logins.Logins {
	return logins.Logins{Agent: *p.Agent, Places: p.agentPlaces(), Lock: filepath.Join(p.state.Root(), "agents", p.Agent.Name+".lock"), Note: p.note, Tell: p.agentNotes}
}

// watchLogins keeps them alike from now on, if there is a copy of any.
func (p *Prepared) watchLogins() {
	if p.Agent != nil && p.state != nil && p.ownDir() == "" && p.logins == nil && len(p.Agent.MergeBack) > 0 {
		p.logins = p.agentLogins().Watch()
	}
}

// mergeAgent carries out what is left, at the end.
func (p *Prepared) mergeAgent() {
	if p.logins != nil {
		p.logins.End()
		p.logins = nil
	}
}

// mirrorAgent brings the private copy of the agent's state up to date with the
// host and gives the binds that put it in place. What was renewed inside by a run
// that was killed is carried out with it.
func (p *Prepared) mirrorAgent() error {
	if p.Agent == nil || p.place.Home == "" {
		return nil
	}
	if dir := p.ownDir(); dir != "" {
		return p.openOwnDir(dir)
	}
	if p.state == nil {
		p.note("no state directory: %s starts without its settings and login, and nothing of it is kept", p.Agent.Title)
		return nil
	}
	if err := os.MkdirAll(p.agentDir(), 0o700); err != nil {
		return fmt.Errorf("making the private copy of %s: %w", p.Agent.Title, err)
	}
	err := p.mirrorLocked()
	p.dropKilled()
	return err
}

// mirrorLocked does so while nobody else works on the agent's logins.
func (p *Prepared) mirrorLocked() error {
	l := p.agentLogins()
	unlock, err := l.Hold()
	if err != nil {
		return fmt.Errorf("locking the logins of %s: %w", p.Agent.Title, err)
	}
	defer unlock()
	agreed, notes, err := agents.MirrorIn(l.Agent, l.Places, l.Agreed())
	if err != nil {
		// What a command did to its copy must not lock the agent out.
		aside := fmt.Sprintf("%s.broken-%d", p.agentDir(), time.Now().UnixNano())
		if os.Rename(p.agentDir(), aside) != nil || os.Mkdir(p.agentDir(), 0o700) != nil {
			return fmt.Errorf("copying the settings of %s: %w", p.Agent.Title, err)
		}
		p.note("the private copy of %s could not be used (%v) and begins anew; the old one is %s", p.Agent.Title, err, aside)
		agreed, notes, err = agents.MirrorIn(l.Agent, l.Places, agents.Agreed{})
	}
	if err != nil {
		return fmt.Errorf("copying the settings of %s: %w", p.Agent.Title, err)
	}
	p.agentNotes(notes)
	if err := l.Agree(agreed); err != nil {
		p.note("%s: a login renewed inside is not carried out: %v", p.Agent.Name, err)
	}
	p.addAgentBinds(agents.PlanState(*p.Agent, p.place.Home, p.place.Home, p.agentDir()).Binds, "private copy of the agent's state")
	if p.sharesHome() {
		return p.shareHome()
	}
	return nil
}

func (p *Prepared) addAgentBinds(binds []agents.StateBind, reason string) {
	for _, b := range binds {
		source, kind := p.facts.Resolve(b.Source)
		if kind == sandbox.KindNone {
			continue
		}
		if err := p.clearPlace(b.Target, kind == sandbox.KindDir); err != nil {
			p.note("%s: %s is not shown: %v", p.Agent.Name, b.Target, err)
			continue
		}
		p.binds = append(p.binds, sandbox.Mount{Kind: sandbox.MountBind, Target: b.Target, Source: source,
			ReadOnly: !b.Writable, Optional: b.Optional, Dir: kind == sandbox.KindDir, Reason: reason})
	}
}

// clearPlace makes sure that a mount point inside the private copy is what the
// mount needs: a command may have put a link there.
func (p *Prepared) clearPlace(target string, dir bool) error {
	if p.ownDir() != "" { // openOwnDir has seen to it
		return nil
	}
	rel, err := filepath.Rel(p.place.Home, target)
	inState := slices.ContainsFunc(p.Agent.State, func(s string) bool { return pathname.Within(rel, s) && rel != s })
	if err != nil || !inState {
		return err
	}
	root, err := os.OpenRoot(p.agentDir())
	if err != nil {
		return err
	}
	defer root.Close()
	if st, err := root.Lstat(rel); err == nil && st.IsDir() == dir && (dir || st.Mode().IsRegular()) {
		return nil
	} else if err == nil {
		if err := root.Rename(rel, fmt.Sprintf("%s.broken-%d", rel, time.Now().UnixNano())); err != nil {
			return err
		}
	}
	if dir {
		return root.MkdirAll(rel, 0o700)
	}
	if err := root.MkdirAll(filepath.Dir(rel), 0o700); err != nil {
		return err
	}
	f, err := root.OpenFile(rel, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	return f.Close()
}

// agentNotes tells each thing once: logins are looked at many times.
func (p *Prepared) agentNotes(notes []agents.Note) {
	for _, n := range notes {
		text := fmt.Sprintf("%s: %s", p.Agent.Name, n)
		if !slices.Contains(p.noted(), text) {
			p.addNotes(text)
		}
	}
}
