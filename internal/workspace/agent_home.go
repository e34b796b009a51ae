package workspace

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/hostfile"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/sandbox"
)

// ownDir is the directory that agent_config_dir gives the running agent, "" for none:
// nobody set it, no agent runs, or somebody said for this start whose its places are.
func (p *Prepared) ownDir() string {
	v := p.Loaded.Settings.AgentConfigDir
	if v == nil || p.Agent == nil || p.NoWalls() {
		return ""
	}
	if by := p.agentHomeBy(); by.Layer == policy.LayerCommandLine {
		return ""
	}
	full, err := policy.Resolve(p.place.Scope(nil), policy.FileRequest{Place: strings.ReplaceAll(v.V, config.AgentPlaceholder, p.Agent.Name)})
	if err != nil || len(full) != 1 {
		return "" // in a home that is not known
	}
	return full[0]
}

// AgentDirectory is the directory that agent_config_dir gives the running agent, ""
// where it has none.
func (p *Prepared) AgentDirectory() string { return p.ownDir() }

func (p *Prepared) agentHomeBy() policy.Source { return p.reason(policy.DimAgentHome).Source }

// sharesHome says whether the agent's transcripts and history are the host's.
func (p *Prepared) sharesHome() bool {
	return p.wantsShared() && len(p.Agent.Shared) > 0
}

func (p *Prepared) wantsShared() bool {
	return p.Agent != nil && !p.NoWalls() && p.Policy.AgentHome == policy.AgentHomeShared && p.ownDir() == ""
}

// agentHomeAllowed refuses an agent's home that cannot be as somebody wants it.
func (p *Prepared) agentHomeAllowed() error {
	if v := p.Loaded.Settings.AgentConfigDir; v != nil && p.Agent != nil && !p.NoWalls() && p.place.Home == "" && strings.HasPrefix(v.V, "~") {
		return p.ownDirRefused(v.V, "HOME is no directory that is there", "name it by an absolute path")
	}
	if dir := p.ownDir(); dir != "" {
		return p.ownDirAllowed(dir)
	}
	// Who sets it for all agents is told; who asks for this one, refused.
	if p.wantsShared() && !p.sharesHome() && p.agentHomeBy().Layer == policy.LayerCommandLine {
		return &advice.Error{Err: fmt.Errorf("%s: agent_home shared: it is not known which places of %s hold data only", p.agentHomeBy(), p.Agent.Title),
			Hint: "--agent-home private keeps a copy for each project, and logins go out of that too; agent_config_dir gives it a directory of its own"}
	}
	return nil
}

func (p *Prepared) ownDirAllowed(dir string) error {
	source := p.Loaded.Settings.AgentConfigDir.Source
	for _, c := range p.underCeilings().All() {
		if c.AgentHome != nil && c.AgentHome.V == policy.AgentHomePrivate {
			return ceilings.Beyond("start", policy.DimAgentHome, "agent_config_dir "+dir, string(c.AgentHome.V), c.AgentHome.Source)
		}
	}
	real, kind := p.facts.Resolve(dir)
	const hint = "give it a directory of its own, such as ~/agents/" + config.AgentPlaceholder
	if kind != sandbox.KindDir && kind != sandbox.KindNone {
		return p.ownDirRefused(dir, "it is no directory", hint)
	}
	if kind == sandbox.KindNone {
		real = p.facts.Canonical(dir)
	}
	m := &shown{Mount: profile.Mount{Host: dir, Workspace: dir, Write: true, Source: source}, real: real, extra: true}
	why := cmp.Or(p.mountTooWide(m), p.mountByOthers(m), p.mountOfCarrel(m), p.mountOfSecrets(m), p.mountOfGit(m), p.mountOfSockets(m), p.ownDirTaken(real))
	if why == "" && kind == sandbox.KindDir {
		why = notAlone(real)
	}
	if why != "" {
		return p.ownDirRefused(dir, why, hint)
	}
	return nil
}

// ownDirTaken: the project, and the places of agents outside. Those are settings that
// they run; agent_home shared gives of them what is none.
func (p *Prepared) ownDirTaken(real string) string {
	if pathname.Within(real, p.place.Project) || pathname.Within(p.place.Project, real) {
		return fmt.Sprintf("the project is %q", p.place.Project)
	}
	for _, place := range agents.OwnPlaces() {
		at := filepath.Join(p.place.Home, place)
		if at := p.facts.Canonical(at); p.place.Home != "" && (pathname.Within(real, at) || pathname.Within(at, real)) {
			return fmt.Sprintf("an agent outside has its settings or its login in %q", "~/"+place)
		}
	}
	return ""
}

// notAlone says why a directory is not this user's alone to write.
func notAlone(dir string) string {
	st, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err.Error()
	case !hostfile.OwnedByUs(st):
		return "it is another user's"
	case st.Mode().Perm()&0o022 != 0:
		return fmt.Sprintf("others may write it (mode %04o): chmod go-w", st.Mode().Perm())
	}
	return ""
}

func (p *Prepared) ownDirRefused(dir, why, hint string) error {
	source := p.Loaded.Settings.AgentConfigDir.Source
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: dir, Rule: "an agent's directory is its own", Source: source.String(),
		Message: fmt.Sprintf("%s: %q cannot be the directory of %s: %s", source, dir, p.Agent.Title, why), Hint: hint}
}

// openOwnDir makes the agent's directories in agent_config_dir where they are missing,
// and gives the binds that put them in place.
func (p *Prepared) openOwnDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return p.ownDirRefused(dir, err.Error(), "make it, or name another")
	}
	p.facts.Forget(dir)
	if err := p.ownDirAllowed(dir); err != nil { // as it is now
		return err
	}
	real := p.facts.Canonical(dir)
	root, err := os.OpenRoot(real)
	if err != nil {
		return p.ownDirRefused(dir, err.Error(), "name another")
	}
	defer root.Close()
	places := slices.Clone(p.Agent.State)
	for _, program := range p.Agent.ProgramsInState() { // a mount needs a place
		if _, kind := p.facts.Resolve(filepath.Join(p.place.Home, program)); kind == sandbox.KindDir {
			places = append(places, program)
		}
	}
	for _, place := range places {
		in := p.Agent.InOwn(place)
		if err := root.MkdirAll(in, 0o700); err != nil {
			return p.ownDirRefused(dir, err.Error(), "what is in it has to be directories, and no links out of it")
		}
		if at := filepath.Join(real, in); p.facts.Canonical(at) != at { // a command may have put it there
			return p.ownDirRefused(dir, fmt.Sprintf("%q in it is a link", in), "make it a directory")
		}
	}
	p.addAgentBinds(agents.PlanOwn(*p.Agent, p.place.Home, p.place.Home, real).Binds, "agent_config_dir")
	return nil
}

// homeAnnouncement says what the user has to know of the agent's home, "" for nothing.
func (p *Prepared) homeAnnouncement() string {
	switch {
	case p.sharesHome():
		return fmt.Sprintf("agent_home shared: %s reads and writes your own transcripts and history of all projects (%s)", p.Agent.Title, p.agentHomeBy())
	case p.wantsShared():
		return fmt.Sprintf("agent_home shared (%s): it is not known which places of %s hold data only, so it has a private copy", p.agentHomeBy(), p.Agent.Title)
	}
	return ""
}

// shareHome makes the places that are shared where the host has none, and gives the
// binds that put them over the private copy.
func (p *Prepared) shareHome() error {
	if p.engine.name == sandbox.EngineLandlock {
		return &advice.Error{Err: fmt.Errorf("%s: agent_home shared cannot be held with engine landlock: without mounts the copy and the host's places cannot be put together", p.agentHomeBy()),
			Hint: "--agent-home private"}
	}
	for _, s := range p.Agent.Shared {
		made, err := makeShared(p.place.Home, s)
		if err != nil {
			return fmt.Errorf("%s: agent_home shared: ~/%s: %w", p.agentHomeBy(), s.Place, err)
		}
		at := filepath.Join(p.place.Home, s.Place)
		p.facts.Forget(at)
		real := p.facts.Canonical(at)
		if real != made { // what is bound is what was looked at
			return fmt.Errorf("%s: agent_home shared: ~/%s leads to %q now, and led to %q before", p.agentHomeBy(), s.Place, real, made)
		}
		if pathname.Within(real, p.place.Project) || pathname.Within(p.place.Project, real) {
			return fmt.Errorf("%s: agent_home shared: ~/%s leads to %q, into or around the project", p.agentHomeBy(), s.Place, real)
		}
		for _, name := range s.Except {
			if err := p.clearPlace(filepath.Join(at, name), true); err != nil {
				return fmt.Errorf("the private copy of ~/%s/%s: %w", s.Place, name, err)
			}
		}
	}
	p.addAgentBinds(agents.PlanShared(*p.Agent, p.place.Home, p.place.Home, p.agentDir()), "agent_home shared")
	return p.beginShared()
}

// makeShared makes a shared place of the host, and what is left out of it, where they
// are missing: a mount needs a place. It gives the path without links. The user's own
// link to elsewhere below home leads there, see [agents.Follow]; one in a place that
// commands write leads nowhere.
func makeShared(home string, s agents.SharedPlace) (string, error) {
	top, at, err := realShared(home, s)
	if err != nil {
		return "", err
	}
	root, err := os.OpenRoot(top)
	if err != nil {
		return "", err
	}
	defer root.Close()
	if s.File {
		if err := root.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			return "", err
		}
		f, err := root.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_APPEND|hostfile.NoFollow, 0o600)
		if err != nil {
			return "", err
		}
		defer f.Close()
		if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
			return "", errors.New("want a regular file")
		}
		return filepath.Join(top, at), nil
	}
	if err := root.MkdirAll(at, 0o700); err != nil {
		return "", err
	}
	for _, name := range s.Except {
		place := filepath.Join(at, name)
		if err := root.Mkdir(place, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
		if st, err := root.Lstat(place); err != nil || !st.IsDir() {
			return "", fmt.Errorf("%q in it is no directory", name)
		}
	}
	return filepath.Join(top, at), nil
}
