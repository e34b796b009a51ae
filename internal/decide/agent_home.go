package decide

import (
	"cmp"
	"fmt"
	"os"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/agenthome"
	"carrel/internal/api"
	"carrel/internal/ceilings"
	"carrel/internal/config"
	"carrel/internal/hostfile"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/sandbox"
)

// ownDir is the directory that agent_config_dir gives the running agent, "" for none:
// nobody set it, no agent runs, or somebody said for this start whose its places are.
func (p *startable) ownDir() string {
	v := p.Loaded.Settings.AgentConfigDir
	if v == nil || p.Agent == nil || p.NoWalls() {
		return ""
	}
	if by := p.agentHomeBy(); by.Layer == policy.LayerCommandLine {
		return ""
	}
	full, err := policy.Resolve(p.Place.Scope(nil), policy.FileRequest{Place: strings.ReplaceAll(v.V, config.AgentPlaceholder, p.Agent.Name)})
	if err != nil || len(full) != 1 {
		return "" // in a home that is not known
	}
	return full[0]
}

// AgentDirectory is the directory that agent_config_dir gives the running agent, ""
// where it has none.
func (p *startable) AgentDirectory() string { return p.ownDir() }

// sharesHome says whether the agent's transcripts and history are the host's.
func (p *startable) sharesHome() bool {
	return p.wantsShared() && len(p.Agent.Shared) > 0
}

func (p *startable) wantsShared() bool {
	return p.Agent != nil && !p.NoWalls() && p.Policy.AgentHome == policy.AgentHomeShared && p.ownDir() == ""
}

// agentHomeAllowed refuses an agent's home that cannot be as somebody wants it.
func (p *mountable) agentHomeAllowed() error {
	if v := p.Loaded.Settings.AgentConfigDir; v != nil && p.Agent != nil && !p.NoWalls() && p.Place.Home == "" && strings.HasPrefix(v.V, "~") {
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

func (p *mountable) ownDirAllowed(dir string) error {
	source := p.Loaded.Settings.AgentConfigDir.Source
	for _, c := range ceilings.Of(p.Loaded).All() {
		if c.AgentHome != nil && c.AgentHome.V == policy.AgentHomePrivate {
			return ceilings.Beyond("start", policy.DimAgentHome, "agent_config_dir "+dir, string(c.AgentHome.V), c.AgentHome.Source)
		}
	}
	real, kind := p.Facts.Resolve(dir)
	const hint = "give it a directory of its own, such as ~/agents/" + config.AgentPlaceholder
	if kind != sandbox.KindDir && kind != sandbox.KindNone {
		return p.ownDirRefused(dir, "it is no directory", hint)
	}
	if kind == sandbox.KindNone {
		real = p.Facts.Canonical(dir)
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

func (p *recognised) ownDirRefused(dir, why, hint string) error {
	source := p.Loaded.Settings.AgentConfigDir.Source
	return &api.Denial{Code: api.CodeNotHeld, Operation: "start", Subject: dir, Rule: "an agent's directory is its own", Source: source.String(),
		Message: fmt.Sprintf("%s: %q cannot be the directory of %s: %s", source, dir, p.Agent.Title, why), Hint: hint}
}

// homeAnnouncement says what the user has to know of the agent's home, "" for nothing.
func (p *startable) homeAnnouncement() string {
	switch {
	case p.sharesHome():
		return fmt.Sprintf("agent_home shared: %s reads and writes your own transcripts and history of all projects (%s)", p.Agent.Title, p.agentHomeBy())
	case p.wantsShared():
		return fmt.Sprintf("agent_home shared (%s): it is not known which places of %s hold data only, so it has a private copy", p.agentHomeBy(), p.Agent.Title)
	}
	return ""
}

// homeOptions say what the agent's home is to be; there has to be an agent.
func (p *mountable) homeOptions() agenthome.Options {
	return agenthome.Options{
		Agent: *p.Agent, Host: p.Place.Home, Inside: p.homeInside(), Project: p.Place.Project, State: p.State, Facts: p.Facts,
		Lookup: func(at string) policy.Decision { return p.Policy.Lookup(at) },
		Own:    p.ownDir(), OwnAllowed: p.ownDirAllowed, OwnRefused: p.ownDirRefused, Shared: p.sharesHome(), By: p.agentHomeBy(),
		Hooks: p.stepHooks(), Bare: p.engine.name == sandbox.EngineLandlock, Note: p.Note, Once: p.NoteOnce,
	}
}

// openAgentHome gets the agent's home ready, for the plan that is made.
func (p *homed) openAgentHome() (err error) {
	p.binds = nil
	if p.Agent == nil {
		return nil
	}
	p.Home.Options = p.homeOptions()
	p.binds, err = p.Home.Open()
	return err
}

// previewAgentHome gives the mounts of the agent's home, and makes nothing.
func (p *mountable) previewAgentHome() []sandbox.Mount {
	if p.Agent == nil {
		return nil
	}
	h := agenthome.Home{Options: p.homeOptions()}
	return h.Preview()
}
