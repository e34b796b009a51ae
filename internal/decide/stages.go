package decide

import (
	"os"

	"carrel/internal/agenthome"
	"carrel/internal/agents"
	"carrel/internal/auditor"
	"carrel/internal/config"
	"carrel/internal/credentials"
	"carrel/internal/egress"
	"carrel/internal/hostfacts"
	"carrel/internal/hostview"
	"carrel/internal/machine"
	"carrel/internal/notices"
	"carrel/internal/policy"
	"carrel/internal/profile"
	"carrel/internal/protectednames"
	"carrel/internal/sandbox"
	"carrel/internal/statedir"
	"carrel/internal/toolchain"
)

// The stages of a decision, each of which embeds the one before it: asked, configured,
// recognised, decided (with rules), startable, serving, networked, displayed, viewed, mountable,
// homed, guarded, Decision. A method belongs to the first stage that has all that it uses, so its
// receiver says how much of a decision it depends on. This is an order of dependence, not of
// time: Prepare fills in credentials, of homed, before the policy is decided.

// asked is what is asked for, by whom, and where on this machine.
type asked struct {
	notices.Log
	Request   Request
	profile   *profile.Profile // its places absolute; nil without
	from      string           // where relative names of the command line start, if that is not the working directory
	Place     hostfacts.Place
	Facts     *hostfacts.Facts
	UID       int
	GID       int
	lender    *lender // of walls for host commands: the run that they belong to; nil for all others
	exactPath string  // of the low-level form: the PATH that its policy gives
}

// configured adds what the configuration says, and where the project's history is kept.
type configured struct {
	asked

	Loaded    *config.Loaded
	State     *statedir.Dir
	HistoryAt string // where the history of the project is kept, "" for nowhere
}

// recognised adds the agent that the command is, and the programs that it starts by.
type recognised struct {
	configured

	Agent      *agents.Agent // nil for a command that is no known agent
	match      agents.Match
	promptsOff bool
	tools      *toolchain.Toolchain // that the agent is started in; nil for none
	programs   []policy.FileRequest // rules that show the command's own program
	found      []foundProgram
}

// rules are the policy that was decided, and what follows from it alone.
type rules struct {
	Policy *policy.Effective
}

// decided adds the policy, and the engine that makes its walls.
type decided struct {
	recognised
	rules

	engine engine
}

// startable adds how the agent is started, and which programs may be.
type startable struct {
	decided

	allowed []string // programs that may be started, where the policy limits that
	starts  []string // and the loaders that they name
}

// serving adds the host commands that programs inside may call.
type serving struct {
	startable

	HostToken string // of the host protocol; "" without
}

// networked adds the way out, and the sockets of the host.
type networked struct {
	serving

	Upstream    *egress.Upstream // the host's own proxy, nil for none
	socketNames []string         // of granted sockets, as they were written
}

// displayed adds the display.
type displayed struct {
	networked

	Desktop   Desktop // the virtual one, as soon as it is there
	NoDisplay string  // why there is none although the policy has one
}

// viewed adds what of the host is in sight, and what of it is recorded.
type viewed struct {
	displayed

	view     *hostview.View
	recorded []string // without walls: places that the broker decides changes of
	ForAgent bool     // without walls: the command is a known agent, which gets nothing for it
}

// mountable adds the mounts of the configuration and of the profile.
type mountable struct {
	viewed

	mounts []shown // of the configuration, then of the profile
}

// homed adds the agent's home, and what of the person's credentials may be used.
type homed struct {
	mountable

	Home    agenthome.Home // of the agent, once it was opened
	binds   []sandbox.Mount
	Keyring *credentials.Keyring // what of the person's credentials may be used; nil for nothing
	Audit   *auditor.Auditor     // of a workspace that stays; nil for a run
}

// guarded adds the names that are protected, and what globs match.
type guarded struct {
	homed

	Guarded     protectednames.Names
	Directories []string // of the project, in which secrets were looked for
	expanded    []policy.Rule
	later       []string // where globs are decided by the broker
	TrapsReads  bool     // globs of roots are decided at each open for reading
}

// Decision is what was decided for one command or one workspace that stays: all is known,
// and nothing is started yet. A session fills in what only stands later: the state
// directory, the desktop, the terminal and the audit log.
type Decision struct {
	guarded

	Plan         *sandbox.Plan     // nil until Compile
	Plain        bool              // without walls, and without namespaces
	Private      string            // stands in for what is private, with an engine without mounts
	Console      string            // the terminal of the command, "" for the process's own
	Container    *Container        // with backend container; nil for all others
	Machine      *machine.Machine  // with backend lima; nil for all others
	Layers       []sandbox.Overlay // of a draft: over what can be written
	HostPrograms map[string]string // of walls for host commands: their files, by name
}

// newDecision is the beginning of every decision.
func newDecision(req Request) *Decision {
	p := new(Decision)
	p.Request, p.Facts, p.UID, p.GID = req, hostfacts.New(), os.Getuid(), os.Getgid()
	return p
}
