// Package policy decides what a workspace may do. It is pure: it knows no
// operating system, no clock, no network and no file; everything that it must
// know of the machine comes in through Scope and the layers.
//
// Its words:
//
//   - A [Request] is what one layer asks for. Every value carries the [Source]
//     that wrote it, so that each decision can say who made it.
//   - A [Layer] is a request with its rank. Decide merges the layers, strongest
//     first, under the ceiling. It returns one [Effective] policy, with a
//     [Reason] for each dimension and a [Warning] for each thing it ignored.
//   - A [Rule] gives one access to one path or glob. The deepest matching rule
//     wins, at equal depth deny beats write beats read; order never matters; a
//     path that no rule matches is not visible.
//
// Paths are bytes in a Go string, not UTF-8. This package must not import any
// other package of this module.
package policy

import "time"

// Access is what a rule grants, in the order in which rules of equal depth
// beat each other: Read < Write < Deny.
type Access uint8

const (
	Unset Access = iota // no rule: not visible
	Read
	Write
	Deny
)

// Source says who wrote a value.
type Source struct {
	Layer  LayerKind
	File   string // configuration file, "" for flags, variables and defaults
	Line   int    // 1-based, 0 where there is none
	Column int    // 1-based, 0 where there is none
	Text   string // the flag, variable, key or built-in reason: "--deny", "CARREL_NETWORK", "toolchain nvm"
}

// LayerKind ranks layers; a smaller value is stronger.
type LayerKind uint8

const (
	LayerOperator    LayerKind = iota + 1 // /etc/carrel/config.yaml
	LayerCeiling                          // --permissions FILE, CARREL_PERMISSIONS
	LayerCommandLine                      // flags
	LayerEnvironment                      // CARREL_* variables
	LayerUser                             // ~/.config/carrel/config.yaml
	LayerProfile                          // a saved workspace definition or the user's own preset
	LayerProject                          // .carrel.yaml or .carrel/config.yaml: may only tighten
	LayerDefault                          // persona, agent and built-in defaults
)

// Value is a value with its source.
type Value[T any] struct {
	V      T
	Source Source
}

// Persona says who drives the keystrokes.
type Persona string

const (
	Human Persona = "human"
	Agent Persona = "agent"
)

// NetworkMode is how much network a workspace has. Widening order:
// closed < local < api < filtered < open.
type NetworkMode string

const (
	NetClosed   NetworkMode = "closed"   // no interface at all
	NetLocal    NetworkMode = "local"    // a loopback shared by the workspace's processes
	NetAPI      NetworkMode = "api"      // filtered, and of an agent's defaults only what it cannot do without; decided, it is filtered
	NetFiltered NetworkMode = "filtered" // a loopback, and listed names and ports
	NetOpen     NetworkMode = "open"     // the host's network
)

// ClipboardMode says what of the person's own clipboard programs inside can read.
type ClipboardMode string

// The clipboard modes, narrowest first.
const (
	ClipboardOwn   ClipboardMode = "own"   // nothing: they have one of their workspace's
	ClipboardPaste ClipboardMode = "paste" // what is on it just after the person's key for pasting
)

// OnUnknown says what becomes of a host that no rule names.
// Widening order: deny < ask.
type OnUnknown string

const (
	UnknownDeny OnUnknown = "deny"
	UnknownAsk  OnUnknown = "ask" // a person, while the connection waits
)

// Publish is a port inside that is reached from outside, on the loopback.
type Publish struct {
	Inside, Host uint16
}

// DisplayMode is the display a workspace gets. Tightening order:
// host > none; virtual is as tight as none (it shows nothing of the host).
type DisplayMode string

const (
	DisplayNone    DisplayMode = "none"
	DisplayVirtual DisplayMode = "virtual"
	DisplayHost    DisplayMode = "host"
)

// HomeMode is what of the home directory is visible.
// Widening order: none < toolchains < full.
type HomeMode string

const (
	HomeNone       HomeMode = "none"
	HomeToolchains HomeMode = "toolchains"
	HomeFull       HomeMode = "full" // read-only, secrets still denied
)

// Nesting is how much of a sandbox of its own a command may build inside.
// Widening order: none < userns < full.
type Nesting string

const (
	NestedNone   Nesting = "none"   // no user namespaces; Landlock file rules
	NestedUserns Nesting = "userns" // user, pid and net namespaces and chroot, no mounts; Landlock file rules
	NestedFull   Nesting = "full"   // mounts too; Landlock only for scopes
)

// HistoryMode says what stands before a change of what file rules let be written.
type HistoryMode string

// History modes, in widening order.
const (
	HistoryDraft HistoryMode = "draft" // changes go to a layer over the project, for review
	HistoryOn    HistoryMode = "on"    // each change is decided and recorded
	HistoryOff   HistoryMode = "off"   // plain writable mounts
)

// SecretsMode says how the project's secrets are kept from being read.
type SecretsMode string

// Secrets modes, in widening order.
const (
	SecretsStrict SecretsMode = "strict" // each open for reading is looked at as well
	SecretsMasked SecretsMode = "masked" // what is found is masked, and what comes as soon as it is seen
)

// FileRequest asks for one access to one place. Place is one of
//
//   - an absolute path, "~" or "~/rest", or a path relative to Base;
//   - a special name with an optional "/rest": ":project", ":home", ":tmp",
//     ":system" (the read-only system directories);
//   - a glob, where Glob is set: only with Deny, or Read when it protects
//     (write denied, reading left as it is). Globs follow ** and {a,b}
//     conventions; a glob without "/" matches the name at any depth below the
//     project; "~/" and "/" anchor it, anything else is relative to the project.
type FileRequest struct {
	Place  string
	Glob   bool
	Access Access
	Base   string // directory for relative places; "" means Scope.Cwd
	Source Source

	// MinHome drops the request where the decided home mode is narrower: a
	// toolchain directory asks with HomeToolchains, so that HomeNone takes it
	// away. "" asks in every mode.
	MinHome HomeMode

	// Optional says that the place need not be there. It is for the caller, who
	// knows the machine; nothing is decided by it.
	Optional bool
}

// Request is what one layer asks for. A nil or empty field asks for nothing.
type Request struct {
	Persona *Value[Persona]
	Backend *Value[Backend]
	// Isolation is the least that the backend has to give.
	Isolation *Value[Isolation]
	Files     []FileRequest

	Network     *Value[NetworkMode]
	AllowHosts  []Value[string]  // host rules and "preset:NAME", for filtered
	DenyHosts   []Value[string]  // the same, over all that is allowed
	HostPorts   []Value[uint16]  // ports of the host's loopback that are reached inside
	Publish     []Value[Publish] // ports inside that are reached on the host's loopback
	UnixSockets []Value[string]  // single sockets of the host, by absolute path
	OnUnknown   *Value[OnUnknown]

	Display         *Value[DisplayMode]
	AllowDesktopGUI *Value[bool] // display.allow_desktop_gui: overrides the persona's default both ways
	VirtualDisplay  *Value[bool] // display.virtual_display: ignored for persona human
	WatchVNC        *Value[bool] // display.watch_vnc
	Clipboard       *Value[ClipboardMode]

	Sound    *Value[Switch]   // virtual_commands.sound
	Notify   *Value[Switch]   // virtual_commands.notify
	OpenURLs *Value[LinkMode] // open_urls

	EnvPass []Value[string]          // names, or globs of names, passed from outside
	EnvSet  map[string]Value[string] // name to value
	EnvDrop []Value[string]          // names removed again

	Home    *Value[HomeMode]
	Nested  *Value[Nesting]
	History *Value[HistoryMode]
	Secrets *Value[SecretsMode]
	Devices []Value[string] // absolute device paths

	HostCommands []Value[string] // commands that run outside these walls, in some of their own
	AgentHome    *Value[AgentHomeMode]

	// ProgramsAllow limits the programs that may be launched: absolute paths
	// or bare names. nil: no limit asked for; empty but not nil: none.
	ProgramsAllow []Value[string]

	Timeout *Value[time.Duration]
	Memory  *Value[int64] // bytes
	Pids    *Value[int64]
}

// Layer is one request with its rank. Of two layers of one kind the earlier in
// the slice is the stronger.
type Layer struct {
	Kind    LayerKind
	Name    string // file, flag set or preset that it stands for
	Request Request

	// Section is set where the layer is what the user's file says of this project: a
	// host in it is to be reached, as one that a flag lists.
	Section bool

	// Ceiling is the ceiling block of the operator's file; on any other kind
	// of layer it is an error.
	Ceiling *Ceiling
}

// Scope is what the decision must know of the machine. All paths are absolute,
// clean and canonical (no symlink left); Tmp and Home may be "" when unknown.
type Scope struct {
	Cwd     string
	Project string
	Home    string
	Tmp     string   // guest temporary directory, "/tmp"
	System  []string // the read-only system directories that exist here

	HostPresets []HostPreset // beside the built-in ones
}

// Rule is one decided file rule.
type Rule struct {
	Path   string // absolute and clean; "" for a glob
	Glob   string // absolute doublestar pattern; "" for a path
	Access Access // Read for a protecting glob
	Source Source
	Note   string // "limited by the ceiling ...", mostly ""
}

// Resources limits what the workspace uses; zero means no limit.
type Resources struct {
	Timeout time.Duration
	Memory  int64 // bytes
	Pids    int64
}

// Env is the decided environment rules; [Env.Lookup] applies them.
type Env struct {
	Pass []Value[string]
	Set  map[string]Value[string]
	Drop []Value[string]
}

// Dimension names one decided thing in reasons, refusals and denials.
type Dimension string

const (
	DimPersona   Dimension = "persona"
	DimBackend   Dimension = "backend"
	DimIsolation Dimension = "isolation"
	DimFiles     Dimension = "files"
	DimNetwork   Dimension = "network"
	DimUnknown   Dimension = "on_unknown" // hosts that no rule names
	DimDisplay   Dimension = "display"
	DimClip      Dimension = "clipboard" // the person's own
	DimSound     Dimension = "sound"
	DimNotify    Dimension = "notify"
	DimLinks     Dimension = "open_urls"
	DimEnv       Dimension = "environment"
	DimHome      Dimension = "home"
	DimNested    Dimension = "nested"
	DimHistory   Dimension = "history"
	DimSecrets   Dimension = "secrets"
	DimDevices   Dimension = "devices"
	DimPrograms  Dimension = "programs"
	DimTimeout   Dimension = "timeout"
	DimMemory    Dimension = "memory"
	DimPids      Dimension = "pids"

	DimAgentHome    Dimension = "agent_home"
	DimHostCommands Dimension = "host_commands"
	DimUndo         Dimension = "undo" // what may be done with the history
	DimExpires      Dimension = "expires"
	DimHosts        Dimension = "hosts"
	DimDenyHosts    Dimension = "deny_hosts"
	DimHostPorts    Dimension = "host_ports"
	DimPublish      Dimension = "publish"
	DimSockets      Dimension = "unix_sockets"
	DimCredentials  Dimension = "credentials" // of the user's, used by the supervisor
)

// Reason says why a dimension has its value.
type Reason struct {
	Dimension Dimension
	Value     string // as a person would write it
	Source    Source
	Note      string // "limited by the ceiling from open", ...; may be ""
	Limited   bool   // a ceiling, also the operator's, has made it narrower
}

// Warning is something that a layer asked for and did not get without the
// start being refused, with the place that asked.
type Warning struct {
	Source  Source
	Message string
}

// Effective is the one policy that everything is enforced from.
type Effective struct {
	Scope   Scope
	Persona Persona
	Backend Backend
	Rules   []Rule // sorted by depth, then bytes; duplicates folded

	Network     NetworkMode
	Hosts       []Value[string] // presets expanded, each rule in its one spelling
	DenyHosts   []Value[string]
	HostPorts   []Value[uint16]
	Publish     []Value[Publish]
	UnixSockets []Value[string]
	OnUnknown   OnUnknown
	OnlyAPI     bool // filtered was asked for as [NetAPI]

	Display   DisplayMode
	WatchVNC  bool
	Clipboard ClipboardMode
	Sound     Switch
	Notify    Switch
	OpenURLs  LinkMode
	Env       Env
	Home      HomeMode
	Nested    Nesting
	History   HistoryMode
	Secrets   SecretsMode
	AgentHome AgentHomeMode
	Devices   []Value[string]
	Programs  []Value[string] // nil: no limit
	// HostCommands are the names of commands that run in walls of their own.
	HostCommands []Value[string]
	Resources    Resources
	Undo         UndoMode
	Expires      time.Time // zero: never
	Reasons      []Reason
	Warnings     []Warning

	Credentials []CredentialUse

	match    *matcher   // built from Rules by Decide; nil in a value made by hand
	hosts    *HostRules // of Hosts and DenyHosts
	ceilings []*Ceiling // that hosts added later are held to
}
