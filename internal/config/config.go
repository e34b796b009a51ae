package config

import (
	"time"

	"carrel/internal/policy"
)

// Kind is which of the configuration files a file is.
type Kind uint8

const (
	KindUser     Kind = iota + 1 // ~/.config/carrel/config.yaml
	KindProject                  // .carrel.yaml or .carrel/config.yaml
	KindOperator                 // /etc/carrel/config.yaml
	KindCeiling                  // the file of --permissions
	KindProfile                  // a saved workspace: ~/.config/carrel/profiles/NAME.yaml
)

// String names the kind as the command line does.
func (k Kind) String() string {
	switch k {
	case KindUser:
		return "user"
	case KindProject:
		return "project"
	case KindOperator:
		return "operator"
	case KindCeiling:
		return "ceiling"
	case KindProfile:
		return "profile"
	}
	return "unknown"
}

func (k Kind) layer() policy.LayerKind {
	switch k {
	case KindProject:
		return policy.LayerProject
	case KindOperator:
		return policy.LayerOperator
	case KindCeiling:
		return policy.LayerCeiling
	case KindProfile:
		return policy.LayerProfile
	}
	return policy.LayerUser
}

// Options say where to look. Nothing is taken from the process itself.
type Options struct {
	Root       string   // prefix of the operator's path, for tests; "" is "/"
	Home       string   // absolute, "" if unknown
	ConfigHome string   // $XDG_CONFIG_HOME; "" or relative means Home/.config
	Project    string   // absolute, "" for no project file
	Cwd        string   // absolute; where a relative Permissions starts
	Environ    []string // NAME=value, as os.Environ

	Permissions string // --permissions; "" means CARREL_PERMISSIONS
	// Ceilings, unless nil, are those that hold, read before; then no file and no
	// variable is asked.
	Ceilings     []CeilingText
	OperatorFile string // instead of /etc/carrel/config.yaml

	// BuiltinPresets are the names that the user's presets cannot take: their
	// personas are fixed.
	BuiltinPresets []string
}

// Loaded is everything that was read.
type Loaded struct {
	Layers   []policy.Layer  // operator, environment, user, project; each only if present
	Ceiling  *policy.Ceiling // of --permissions, CARREL_PERMISSIONS or Options.Ceilings; nil without
	Presets  []Preset        // the user's own, by name
	Mounts   []DefinedMount  // extra_mounts of the operator, then of the user; their grants are in Layers
	Commands []HostCommand   // host_commands of the operator, then of the user, each name once; their names are in Layers
	Settings Settings
	Files    []FileStatus
	Warnings []policy.Warning

	values []Setting
}

// Settings are the keys that are no policy. They are the user's, or the
// operator's where the user says nothing.
type Settings struct {
	Engine     *policy.Value[string] // one of Engines; nil: not said; the operator's word stands
	PromptsOff *policy.Value[bool]   // agents.prompts_off; nil: not said

	ContainerEngine *policy.Value[string] // container.engine, one of ContainerEngines; nil: not said; the operator's word stands
	ContainerImage  *policy.Value[string] // container.image; nil: not said; the operator's word stands

	ContainerImages []policy.Value[string] // container.images; the operator's where the operator says some
	ProjectEnv      []policy.Value[string] // container.project_env, likewise
	Devcontainer    *policy.Value[string]  // container.devcontainer, one of Devcontainers; nil: not said

	Lima Lima // the keys below lima
	VM   VM   // the keys below vm

	AgentConfigDir *policy.Value[string] // agent_config_dir, as it was written; nil: not said

	DisplaySize *policy.Value[string] // display.size, see policy.ParseSize; nil: not said
	DisplayGL   *policy.Value[bool]   // display.gl; nil: not said

	AuditRequired   *policy.Value[bool] // audit.required; what the operator requires stays required
	AuditJournal    *policy.Value[bool] // audit.journald, likewise
	ApprovalsNotify *policy.Value[bool] // approvals.notify; nil: not said

	Safeguards Safeguards
	History    History

	Toolchain           *policy.Value[string]  // one of Toolchains; nil: not said
	UnsandboxedHostExec *policy.Value[bool]    // dangerously_allow_unsandboxed_host_exec; nil: not said
	RPCHost             *policy.Value[string]  // rpc_host, an IP address; nil: not said
	Credentials         []policy.CredentialUse // of the user, then of the operator
}

// Safeguards are bounds on what one step of a run may destroy; nil: not said. 0 is
// no bound.
type Safeguards struct {
	Then             *policy.Value[string] // "notify" or "ask"
	RemovedFiles     *policy.Value[int64]
	RemovedBytes     *policy.Value[int64]
	OverwrittenBytes *policy.Value[int64]
	ReplacedFiles    *policy.Value[int64]
	AlwaysAsk        []policy.FileRequest // what is never destroyed without a question
	AnswerWithin     *policy.Value[time.Duration]
}

// History says what is kept of projects, and where; nil: not said.
type History struct {
	Dir    *policy.Value[string]  // absolute, or in ~; instead of the state directory
	Ignore []policy.Value[string] // patterns of what is not kept, relative to each root

	MaxBytes, MaxSteps, MaxStepBytes, MaxFileBytes *policy.Value[int64]
	MaxTotalBytes                                  *policy.Value[int64] // of all projects together
}

func (h *History) over(under History) {
	over(&h.Dir, under.Dir)
	h.Ignore = append(h.Ignore, under.Ignore...)
	over(&h.MaxBytes, under.MaxBytes)
	over(&h.MaxSteps, under.MaxSteps)
	over(&h.MaxStepBytes, under.MaxStepBytes)
	over(&h.MaxFileBytes, under.MaxFileBytes)
	over(&h.MaxTotalBytes, under.MaxTotalBytes)
}

// over takes what is said in s, and the rest from under.
func (s *Safeguards) over(under Safeguards) {
	over(&s.Then, under.Then)
	over(&s.RemovedFiles, under.RemovedFiles)
	over(&s.RemovedBytes, under.RemovedBytes)
	over(&s.OverwrittenBytes, under.OverwrittenBytes)
	over(&s.ReplacedFiles, under.ReplacedFiles)
	over(&s.AnswerWithin, under.AnswerWithin)
	s.AlwaysAsk = append(s.AlwaysAsk, under.AlwaysAsk...)
}

func over[T any](v **policy.Value[T], under *policy.Value[T]) {
	if *v == nil {
		*v = under
	}
}

// Preset is one of the user's named commands.
type Preset struct {
	Name        string
	Command     []string // program and arguments; may be empty
	Description string
	Persona     policy.Persona // human unless the preset says otherwise
	Request     policy.Request // Persona is always set
	Source      policy.Source
}

// Layer returns the preset as the layer that it is when it is chosen.
func (p Preset) Layer() policy.Layer {
	return policy.Layer{Kind: policy.LayerProfile, Name: "preset " + p.Name, Request: p.Request}
}

// FileStatus says what became of one file that was looked for.
type FileStatus struct {
	Kind    Kind
	Path    string
	Present bool
}

// Setting is one value that somebody wrote, for config show.
type Setting struct {
	Key    string // "display.virtual_display", "read"
	Value  string // as a person would write it
	Source policy.Source
}

// Show lists what was read, strongest layer first, in the order of the files.
func Show(l *Loaded) []Setting { return l.values }
