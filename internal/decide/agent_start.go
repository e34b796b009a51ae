package decide

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/advice"
	"carrel/internal/agents"
	"carrel/internal/api"
	"carrel/internal/inside"
	"carrel/internal/machine"
	"carrel/internal/pathname"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
)

// NotInstalledError says that the program of an agent that was asked for by name is
// not in PATH.
type NotInstalledError struct {
	Agent   agents.Agent
	Program string // the name that was looked for
}

func (e *NotInstalledError) Error() string {
	return fmt.Sprintf("%s: %q was not found in PATH\nhint: %s", e.Agent.Title, e.Program, e.install())
}

func (e *NotInstalledError) install() string {
	if e.Agent.Install == "" {
		return "its maker's page says how to install it"
	}
	return "install it with: " + e.Agent.Install
}

// recognise finds out which agent the workspace is for: the one that the command is,
// or that it was said to be for.
func (p *recognised) recognise() error {
	if p.Request.For == "" {
		if m, ok := agents.Recognise(p.Request.Argv, p.agentHost()); ok {
			p.match, p.Agent = m, &m.Agent
		}
		return nil
	}
	a, ok := agents.ByCommand(p.Request.For)
	if !ok {
		return &advice.Error{Err: fmt.Errorf("--agent %q: no agent of that name is known", p.Request.For),
			Hint: "known are " + strings.Join(agentNames(), ", ")}
	}
	p.Agent = &a
	p.match.Index = len(p.Request.Argv) // none of the words is its own
	return nil
}

func agentNames() []string {
	var names []string
	for _, a := range agents.Known() {
		names = append(names, a.Name)
	}
	return names
}

// agentMissing says that the agent that the workspace is for has no program here, ""
// where it has: the workspace is of use without, to look at its files.
func (p *startable) agentMissing() string {
	if p.Request.For == "" || p.Agent == nil || p.NoWalls() || p.contained() || p.ofMachine() {
		return ""
	}
	for _, name := range p.Agent.Executables {
		if _, err := p.LookPath(name); err == nil {
			return ""
		}
	}
	missing := &NotInstalledError{Agent: *p.Agent, Program: p.Agent.Executables[0]}
	return fmt.Sprintf("%s: %q is not in your PATH, so it cannot be started here; %s", p.Agent.Title, missing.Program, missing.install())
}

// checkAgent sees that the command is the agent that was asked for by name. Who asks
// for an agent wants its login and its network; a program that only goes by its name
// gets neither, so it is not started in its place.
func (p *recognised) checkAgent() error {
	if p.Request.Agent != "" && (p.Agent == nil || p.Agent.Name != p.Request.Agent) {
		return p.anotherProgram()
	}
	if !p.Request.PromptsOff {
		return nil
	}
	if p.Agent == nil {
		return fmt.Errorf("--no-prompts: no agent that carrel knows is started, so there are no questions of one to switch off")
	}
	if !p.canPromptsOff() {
		return fmt.Errorf("--no-prompts: no way is known to switch off the questions of %s before it is started; its own manual may have one", p.Agent.Title)
	}
	p.promptsOff = true
	return nil
}

// anotherProgram says why a name does not lead to the agent.
func (p *recognised) anotherProgram() error {
	program := p.Request.Argv[0]
	wanted, ok := agents.ByName(p.Request.Agent)
	if !ok {
		return fmt.Errorf("no agent %q is known", p.Request.Agent)
	}
	full, err := p.LookPath(program)
	if err != nil {
		return &NotInstalledError{Agent: wanted, Program: program}
	}
	d := &api.Denial{Code: api.CodeProject, Operation: "start", Subject: full, Rule: "an agent's program lies outside the project", Source: "built in",
		Hint: fmt.Sprintf("`carrel run -- %s` runs it as any other command, without the agent's login and network", program)}
	real, _ := p.Facts.Resolve(full)
	switch {
	case p.Agent != nil:
		d.Rule, d.Message = "a name leads to its agent", fmt.Sprintf("%q is %s and not %s", full, p.Agent.Title, wanted.Title)
	case pathname.Within(filepath.Clean(full), p.Place.Project) || pathname.Within(real, p.Place.Project):
		d.Message = fmt.Sprintf("%q lies in the project; whoever writes the project could call any program %s", full, program)
	case wanted.SharedName:
		d.Rule = "a name that others use counts only with the agent's own places"
		d.Message = fmt.Sprintf("%q cannot be told to be %s: other software has that name too, and nothing of the agent (~/%s) is in your home", full, wanted.Title, strings.Join(wanted.State, ", ~/"))
		d.Hint += "; set the agent up outside first"
	default:
		d.Message = fmt.Sprintf("%q cannot be told to be %s: what it is run by lies in the project, or cannot be read", full, wanted.Title)
	}
	return d
}

// canPromptsOff says whether the agent's questions can be switched off here.
func (p *recognised) canPromptsOff() bool {
	off := p.Agent.PromptsOff
	return off.Possible() && !(p.UID == 0 && off.RefusedAsRoot && len(off.RootEnv) == 0)
}

// StartsWithoutPrompts says whether the agent is started with its own questions off.
func (p *recognised) StartsWithoutPrompts() bool {
	return p.Agent != nil && p.promptsOff && p.canPromptsOff()
}

// OffersNoPrompts says whether the user should hear, once, that the agent can be
// started without its own questions: they may be switched off, nobody has said
// whether they are to be, and the agent was never started in this project.
func (p *recognised) OffersNoPrompts() bool {
	if p.Agent == nil || p.promptsOff || p.Agent.PromptsOff.Needless || p.Loaded.Settings.PromptsOff != nil || !p.canPromptsOff() || p.Agent.PromptsOff.In(p.agentArgs()) {
		return false
	}
	state := statedir.Path(p.Getenv)
	if state == "" {
		return false
	}
	_, err := os.Lstat(statedir.At(state).Agent(p.Place.Project, p.Agent.Name))
	return errors.Is(err, fs.ErrNotExist)
}

// agentArgs are the agent's own arguments, as they were given.
func (p *recognised) agentArgs() []string {
	return p.Request.Argv[min(p.match.Index, len(p.Request.Argv)):]
}

// homeInside is the home of programs inside.
func (p *startable) homeInside() string {
	if p.ofMachine() {
		return machine.Home
	}
	return p.Place.Home
}

func (p *startable) agentEnv() map[string]string {
	env := make(map[string]string)
	if p.Agent == nil {
		return env
	}
	maps.Copy(env, agents.PlanState(*p.Agent, p.Place.Home, p.homeInside(), "").Env)
	maps.Copy(env, p.Agent.SandboxOff.Env)
	if p.promptsOff {
		maps.Copy(env, p.Agent.PromptsOff.Env)
	}
	for name, value := range p.stepHooks().Env {
		if p.Getenv(name) == "" { // else the user's own settings
			env[name] = value
		}
	}
	// Whoever gives the agent's own flag by hand means it too.
	if p.UID == 0 && (p.promptsOff || p.Agent.PromptsOff.In(p.agentArgs())) {
		maps.Copy(env, p.Agent.PromptsOff.RootEnv)
	}
	return env
}

// agentArgv puts the flags that switch the agent's own sandbox (and, when the user
// says so, its questions) off before its own arguments.
func (p *startable) agentArgv() []string {
	if p.Request.For != "" { // a shell in the agent's workspace
		return p.Request.Argv
	}
	return p.tools.Enter(p.withFlags(p.Request.Argv, p.match.Index))
}

// WithAgentFlags does the same for a command of a workspace that stays, where it is
// the agent that the workspace was made for.
func (p *startable) WithAgentFlags(argv []string) []string {
	if p.Agent == nil {
		return argv
	}
	m, ok := agents.Recognise(argv, p.agentHost())
	if !ok || m.Agent.Name != p.Agent.Name {
		return argv
	}
	return p.tools.Enter(p.withFlags(argv, m.Index))
}

// withFlags puts the agent's flags before what stands at an index.
func (p *startable) withFlags(argv []string, index int) []string {
	if p.Agent == nil {
		return argv
	}
	at := min(index, len(argv))
	start := agents.Start{PromptsOff: p.StartsWithoutPrompts(), Hooks: p.stepHooks()}
	return slices.Concat(argv[:at], p.Agent.StartFlags(argv[at:], start), argv[at:])
}

// stepHooks are the agent's hooks that make each tool call a step, for this start; nothing
// where no step is kept.
func (p *startable) stepHooks() agents.StepHooks {
	if p.Agent == nil || !p.History() || p.NoWalls() {
		return agents.StepHooks{}
	}
	return p.Agent.StepHooks(sandbox.SelfPath, path.Join(path.Dir(inside.Dir), "hooks"), !p.inMachine()) // which makes it
}
