package api

import "time"

// Operations of a named workspace, beside those of every workspace. Each is
// answered by the supervisor of that one workspace; see [Control] for who may what.
const (
	OpExec    = "exec"    // run a command with the caller's descriptors, and tell its end; carries three of them
	OpLaunch  = "launch"  // start a command that goes on without the caller
	OpApps    = "apps"    // what has been started
	OpWait    = "wait"    // for the end of an app
	OpKill    = "kill"    // end an app, and all that it has started
	OpLogs    = "logs"    // what an app has written; with Follow: as it comes
	OpControl = "control" // who may do what from now on
	OpSight   = "sight"   // how much of each of some paths it shows
	OpYield   = "yield"   // stand still and let go of the history, for an undo, as long as the caller stays

	OpTerminal     = "terminal"      // start a terminal: a shell, or a command, with a screen
	OpTerminalRead = "terminal-read" // its screen, as text
	OpTerminalSend = "terminal-send" // keys and text, or a new size
	OpAttach       = "attach"        // a terminal's bytes, both ways
)

// Modes of a workspace's control. From each to the ones after it anybody outside may
// go; back, only a person at a terminal may. Between read_only and takeover, which
// exclude each other, it takes a person.
const (
	ControlActive   = "active"    // everything that the policy allows
	ControlReadOnly = "read_only" // what runs goes on; beyond that only looking
	ControlTakeover = "takeover"  // a person acts, nobody else
	ControlPaused   = "paused"    // and its processes are frozen
)

// Control is what holds for requests to a workspace. Stop works in every mode.
type Control struct {
	Mode   string    `json:"mode"`
	Since  time.Time `json:"since"`
	By     string    `json:"by,omitempty"` // what asked: person, caller, supervisor
	Reason string    `json:"reason,omitempty"`
}

// ProjectPause says that a project is paused: all workspaces of it stand still, and none
// is started.
type ProjectPause struct {
	Project string    `json:"project"`
	Since   time.Time `json:"since"`
	By      string    `json:"by,omitempty"` // what asked: agent, caller, supervisor
	Reason  string    `json:"reason,omitempty"`
}

// Command is what to start in a named workspace.
type Command struct {
	Name string   `json:"name,omitempty"` // what people call it; "" is the program's
	Argv []string `json:"argv,omitempty"`
	Dir  string   `json:"dir,omitempty"` // inside; "" is the workspace's own
	Env  []string `json:"env,omitempty"` // NAME=VALUE, beside what the workspace has; never kept or told

	Terminal bool `json:"terminal,omitempty"` // exec: a terminal of its own; its near end comes with the answer
	Columns  int  `json:"columns,omitempty"`
	Rows     int  `json:"rows,omitempty"`

	Kept   bool `json:"kept,omitempty"`   // exec: no descriptors; its output is kept as a launched app's is, and comes as replies, too
	Joined bool `json:"joined,omitempty"` // launch, exec with Kept: both streams are one, stdout

	Label string `json:"label,omitempty"` // what its step of the history is called; "" is the command line
}

// Kinds of apps.
const (
	AppExec     = "exec"     // a command that a caller waits for
	AppLaunched = "launched" // one that goes on alone
	AppTerminal = "terminal" // one with a screen
	AppSetup    = "setup"    // a command of the profile, before all others
)

// App is one command that was started in a named workspace. Its id is drawn at
// random and never used again. Environment values are not told.
type App struct {
	ID        string    `json:"id"`
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Argv      []string  `json:"argv"`
	Dir       string    `json:"dir,omitempty"`
	Started   time.Time `json:"started"`
	Ended     time.Time `json:"ended,omitzero"`
	Running   bool      `json:"running"`
	Exit      int       `json:"exit"`             // as a shell would see it; counts when it has ended
	Signal    string    `json:"signal,omitempty"` // the signal that ended it
	Processes int       `json:"processes"`        // that it has started and that still run, itself included
	Title     string    `json:"title,omitempty"`  // a terminal's own; any bytes of a hostile program, escaped
	Steps     []uint64  `json:"steps,omitempty"`  // of the history
}

// Streams of what an app writes.
const (
	StreamStdout = "stdout"
	StreamStderr = "stderr"
)

// Output is a piece of what an app has written, from a place on. Lost says how many
// bytes between this piece and the one before are kept no more.
type Output struct {
	Stream string `json:"stream"`
	At     uint64 `json:"at"`
	Data   []byte `json:"data,omitempty"`
	Lost   uint64 `json:"lost,omitempty"`
}

// Screen is what a terminal shows.
type Screen struct {
	App        string   `json:"app"`
	Title      string   `json:"title,omitempty"`
	Columns    int      `json:"columns"`
	Rows       int      `json:"rows"`
	Lines      []string `json:"lines"`
	Scrollback []string `json:"scrollback,omitempty"` // what has left it at the top, oldest first
	Cursor     [2]int   `json:"cursor"`               // column and row, from 0
	Hidden     bool     `json:"cursor_hidden,omitempty"`
}

// Input is what goes to a terminal or to a command: text and keys in this order, or a
// new size, or a signal.
type Input struct {
	Data    []byte   `json:"data,omitempty"` // as they are
	Text    string   `json:"text,omitempty"` // pasted, where the program can tell
	Keys    []string `json:"keys,omitempty"` // names like Enter, Up, ctrl+c
	Columns int      `json:"columns,omitempty"`
	Rows    int      `json:"rows,omitempty"`
	Signal  int      `json:"signal,omitempty"`
	Pastes  bool     `json:"pastes,omitempty"` // a person has pressed the key for pasting; exec, attach
}

// Desk is a named workspace as it is written down: while it runs, and after.
type Desk struct {
	Manifest
	Runtime  string        `json:"runtime_dir,omitempty"` // where its socket is
	Purpose  string        `json:"purpose,omitempty"`
	Profile  string        `json:"profile,omitempty"`
	State    string        `json:"state"`
	Stopped  time.Time     `json:"stopped,omitzero"`
	Control  Control       `json:"control"`
	Policy   []Decided     `json:"policy"`
	Paused   *ProjectPause `json:"project_paused,omitempty"` // nil where the project is not
	Ceiling  *Ceiling      `json:"ceiling,omitempty"`
	Digest   string        `json:"digest"` // of the whole policy, with the profile's and the ceiling's part
	Apps     []App         `json:"apps"`   // the newest last
	Pending  int           `json:"pending"`
	Events   uint64        `json:"events"` // number of the last one
	Listed   []string      `json:"listed,omitempty"`
	Born     []string      `json:"born_inside,omitempty"`
	Notes    []string      `json:"notes,omitempty"`
	Artifact []Artifact    `json:"artifacts,omitempty"`
}

// Decided is one dimension of a policy.
type Decided struct {
	Dimension string `json:"dimension"`
	Value     string `json:"value"`
	Source    string `json:"source,omitempty"`
}

// Artifact is one file that a workspace keeps outside.
type Artifact struct {
	Kind  string `json:"kind"` // manifest, control, owner, events, audit, app-log, supervisor-log, socket
	Label string `json:"label,omitempty"`
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// StateStopped is a named workspace of which nothing runs.
const StateStopped = "stopped"

// Codes of refusals of a named workspace.
const (
	CodeControl = "control"  // the mode does not allow it
	CodeNoApp   = "no-app"   // there is no such app
	CodeStart   = "no-start" // the command cannot be started; Exit of the reply says with which status a shell would tell it
	CodeExists  = "exists"   // there is one of that name, and it is another

	CodeOtherVersion = "other-version" // what is kept was written by another version; Source says which
)
