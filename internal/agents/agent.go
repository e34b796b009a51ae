package agents

import "slices"

// Agent is what is known of one agent. All paths are relative to the home
// directory, with slashes; a last component of a Config path may be a pattern
// as path.Match reads it.
type Agent struct {
	Name  string // short name, unique, as used by presets and flags
	Title string // as its maker writes it

	Executables []string // base names of its commands
	Packages    []string // names in the npm and PyPI registries
	Modules     []string // Python modules that start it with python -m
	Install     string   // the command that installs it; "" where its maker has only an installer of its own

	// SharedName says that other software uses the same command name. The
	// name alone is then no recognition: one of the agent's own places has to
	// exist in the home directory too.
	SharedName bool

	Programs []string // where its own installer puts the program; visible read-only
	State    []string // directories that persist in the private copy
	Config   []string // host truth, mirrored at each start
	Seed     []string // files copied into the private copy once, when absent

	// Shared are the places below State that are the host's own in a shared home:
	// transcripts and history. What the host would run, or take settings, rules or
	// addresses from, must not be among them; all else stays in the private copy.
	Shared []SharedPlace

	JSON      []JSONPart  // files of which only some keys are taken over
	MergeBack []MergeFile // logins that are kept alike inside and outside

	// Credentials are the places that hold logins of this agent. Others must
	// not see them, whether they are below State or not.
	Credentials []string

	EnvPass []string          // variables passed from outside when they are set
	EnvSet  map[string]string // variables set inside; a leading "~/" is the home directory
	Hosts   []string          // rules for its API and login hosts

	SandboxOff Off // its own sandbox off: the walls replace it
	PromptsOff Off // its permission questions off: offered, never forced

	// SettingsFlag takes settings as JSON on the command line; "" where there is none.
	SettingsFlag string

	// Resume says how a conversation is gone on with that is kept in the private copy.
	Resume Resume

	// Headless is what stands between its command and a prompt that it is to
	// work on without a terminal; see [Agent.HeadlessArgv]. A last word that
	// ends with "=" is joined with the prompt. nil: it has no such way, or none
	// that is known.
	Headless []string

	// Prompted is the same for a prompt that a conversation at a terminal begins with; see
	// [Agent.PromptedArgv].
	Prompted []string
}

// Resume is where an agent keeps transcripts, whose names end with the id of the
// conversation and ".jsonl", and the words before that id on its command line.
type Resume struct {
	Place string // below one of State
	Words []string
}

// MergeFile is a login file of which the listed top-level keys are kept alike on
// both sides of a private copy. Keys of just "*" stand for the whole file.
type MergeFile struct {
	File    string
	Private string // its place in the private copy, "" for the same
	Keys    []string

	// Login are the names of fields that belong to a login beside its tokens, as
	// text, a number, yes or no, or a list of texts. Where there are any, a login
	// that is made inside is made on the host as well; without, it is only renewed.
	Login []string
	// Kinds says that the file holds an entry for each provider, with a "type"
	// that has to be one of these.
	Kinds []string

	// Entries are the fields of the file in which objects may be made that the host has
	// not: of any plain name in one that is a key, by that name in a whole file.
	Entries []string
	// Opaque says that the file is no JSON, or nobody's but its agent's, and holds
	// keys only: it is carried as it is.
	Opaque bool
}

// JSONPart takes over single top-level keys of a JSON file, where the rest of
// the file is state or the history of other projects.
type JSONPart struct {
	Host    string   // file on the host
	Private string   // file in the private copy; it may have another place there
	Seed    []string // taken over when the private copy has no such key
	Follow  []string // taken over whenever the host has such a key
	Mirror  []string // host truth: also removed when the host has no such key
	Trust   []string // yes or no, of a project below "projects": a yes is taken over as Seed is
}

// Known returns all known agents, sorted by name. The result is the caller's.
func Known() []Agent {
	all := slices.Concat(builtin(), terminals(), services(), relatives())
	slices.SortFunc(all, func(a, b Agent) int {
		switch {
		case a.Name < b.Name:
			return -1
		case a.Name > b.Name:
			return 1
		}
		return 0
	})
	return all
}

// ByName returns the agent with that short name.
func ByName(name string) (Agent, bool) {
	for _, a := range Known() {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// Commands returns the words that start the agent where its name is asked for,
// as carrel's own command line does: its name, and the names of its programs.
func (a Agent) Commands() []string {
	words := []string{a.Name}
	for _, e := range a.Executables {
		if e != a.Name {
			words = append(words, e)
		}
	}
	return words
}

// Program returns the base name of the program that one of [Agent.Commands]
// starts: itself, or the first program of an agent whose name is none.
func (a Agent) Program(command string) string {
	if slices.Contains(a.Executables, command) {
		return command
	}
	return a.Executables[0]
}

// ByCommand returns the agent that a word of [Agent.Commands] starts.
func ByCommand(word string) (Agent, bool) {
	for _, a := range Known() {
		if slices.Contains(a.Commands(), word) {
			return a, true
		}
	}
	return Agent{}, false
}

// OtherCredentials returns, sorted, the login places of all agents but the
// named one: what a run of that agent must not see. With "" it returns those
// of all agents.
func OtherCredentials(name string) []string {
	var places []string
	for _, a := range Known() {
		if a.Name != name {
			places = append(places, a.Credentials...)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}
