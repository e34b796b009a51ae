package api

import "time"

// Manifest says which process supervises a workspace. Pid and Start together
// name a process for as long as the machine runs, Boot says which run of the
// machine, PIDNamespace in which namespace Pid counts.
type Manifest struct {
	ID           string    `json:"id"`
	Name         string    `json:"name,omitempty"` // of a workspace that stays
	PID          int       `json:"pid"`
	Start        uint64    `json:"start"` // of the process, as /proc/PID/stat has it
	Boot         string    `json:"boot"`
	PIDNamespace string    `json:"pid_namespace"`
	Project      string    `json:"project"`
	Argv         []string  `json:"argv"`
	Persona      string    `json:"persona"`
	Backend      string    `json:"backend,omitempty"`   // as a policy has it; "" for process where an older version wrote it
	Isolation    string    `json:"isolation,omitempty"` // what the backend gives: vm, kernel, container, process or none
	Started      time.Time `json:"started"`
}

// Operations of a running workspace. OpStatus alone is answered to callers
// from inside walls or containers, and in its shortest form.
const (
	OpStatus    = "status"
	OpEvents    = "events"    // with Follow: as they come
	OpApprovals = "approvals" // with Follow: as they come
	OpApprove   = "approve"   // needs a person at a terminal
	OpDeny      = "deny"
	OpPause     = "pause"
	OpResume    = "resume"
	OpProject   = "project" // look anew whether the project is paused, and do as that says
	OpStop      = "stop"
	OpNetAllow  = "net-allow" // a host rule, as long as it runs; needs a person at a terminal
	OpNetDeny   = "net-deny"

	// OpAsk files a change of the control for a person to approve, by whoever may not make
	// it: with Mode, Reason and Within. The reply has the approval at once; [OpApprovals]
	// with its ID tells the answer.
	OpAsk = "ask"

	// OpTerms says what the process with which a workspace ends wants to be asked about,
	// and how much of its history is kept; only that process may.
	OpTerms = "terms"

	// OpAgentState says for the agent of a workspace how it stands, with Mode: one of
	// [TaskWorking], [TaskWaiting] and [TaskDone], or "clear".
	OpAgentState = "agent-state"
)

// Request is one line to a supervisor; each connection carries one.
type Request struct {
	Op      string `json:"op"`
	Ceiling string `json:"ceiling,omitempty"` // the hash of the ceiling that the caller is held to
	ID      string `json:"id,omitempty"`      // of an approval, whole; approvals: only that one, also when it was answered lately
	End     bool   `json:"end,omitempty"`     // deny: end the app that asks first, so that it never hears the answer
	Follow  bool   `json:"follow,omitempty"`  // the answer goes on until one end closes
	Check   bool   `json:"check,omitempty"`   // approve, net-allow, clipboard-send: only say whether this caller may
	Scope   string `json:"scope,omitempty"`   // approve: one of the approval's scopes, "" for once
	Host    string `json:"host,omitempty"`    // net-allow, net-deny: the rule

	Since   uint64   `json:"since,omitempty"`   // events: those after this number; logs: from this place on
	Command *Command `json:"command,omitempty"` // exec, launch, terminal
	App     string   `json:"app,omitempty"`     // id, its beginning, or name
	Stream  string   `json:"stream,omitempty"`  // logs: one of the Stream constants, "" for both
	Tail    int64    `json:"tail,omitempty"`    // logs: at most this many bytes of the end
	Input   *Input   `json:"input,omitempty"`   // terminal-send; on an open conversation: exec, attach
	Full    bool     `json:"full,omitempty"`    // terminal-read: with what has left the screen
	Mode    string   `json:"mode,omitempty"`    // control, ask
	Reason  string   `json:"reason,omitempty"`  // control, ask, yield: why
	Within  int64    `json:"within,omitempty"`  // ask: seconds that a person has, 0 for five minutes
	Desktop *Desktop `json:"desktop,omitempty"` // desktop-see, desktop-do
	Watch   *Watch   `json:"watch,omitempty"`   // watch
	Terms   *Terms   `json:"terms,omitempty"`   // terms
	Paths   [][]byte `json:"paths,omitempty"`   // sight: absolute, any bytes
}

// Reply is one line of an answer. All lines but the last have More set.
type Reply struct {
	OK       bool             `json:"ok"`
	More     bool             `json:"more,omitempty"`
	Error    *Denial          `json:"error,omitempty"`
	Status   *WorkspaceStatus `json:"status,omitempty"`
	Approval *Approval        `json:"approval,omitempty"`
	Event    *Event           `json:"event,omitempty"`
	App      *App             `json:"app,omitempty"`
	Output   *Output          `json:"output,omitempty"`
	Screen   *Screen          `json:"screen,omitempty"`
	Control  *Control         `json:"control,omitempty"`
	Desktop  *DesktopReply    `json:"desktop,omitempty"`
	Watching *Watching        `json:"watching,omitempty"`
	Sights   string           `json:"sights,omitempty"` // a [Sight] for each path
	Exit     *int             `json:"exit,omitempty"`   // with CodeStart: 126 or 127
}

// States of a workspace.
const (
	StateRunning  = "running"
	StatePaused   = "paused"
	StateStopping = "stopping"
	StateNoAnswer = "not answering" // what a surface says for a supervisor that is silent
)

// WorkspaceStatus is one running workspace as `carrel ps` shows it.
type WorkspaceStatus struct {
	ID        string      `json:"id"`
	Name      string      `json:"name,omitempty"`
	State     string      `json:"state"`
	PID       int         `json:"pid,omitempty"`
	Project   string      `json:"project,omitempty"`
	Argv      []string    `json:"argv,omitempty"`
	Persona   string      `json:"persona,omitempty"`
	Backend   string      `json:"backend,omitempty"`   // as in [Manifest]
	Isolation string      `json:"isolation,omitempty"` // likewise
	Started   time.Time   `json:"started,omitzero"`
	Pending   int         `json:"pending"` // approvals that wait for an answer
	Published []Published `json:"published,omitempty"`
	Ceiling   *Ceiling    `json:"ceiling,omitempty"` // that it was started under; nil for none

	ProjectPaused *ProjectPause `json:"project_paused,omitempty"` // nil where the project is not

	AgentState string `json:"agent_state,omitempty"` // what the agent in it says of itself, see [OpAgentState]

	// Of a named workspace.
	Purpose string    `json:"purpose,omitempty"`
	Profile string    `json:"profile,omitempty"`
	Control *Control  `json:"control,omitempty"`
	Policy  []Decided `json:"policy,omitempty"`
	Digest  string    `json:"digest,omitempty"`
	Apps    int       `json:"apps,omitempty"` // that run
	Events  uint64    `json:"events,omitempty"`
}

// Ceiling names the ceiling that a workspace was started under. The operator's own is
// not part of the hash: it holds for all.
type Ceiling struct {
	Hash    string    `json:"hash,omitempty"` // of its meaning, see policy.Ceiling; "" for the operator's alone
	Source  string    `json:"source"`
	Expires time.Time `json:"expires,omitzero"`
	Expired bool      `json:"expired,omitempty"`
}

// Approval is one operation that waits, or waited, for a person's word. Subject
// and Reason may hold bytes chosen by a hostile program: escape them before
// they reach a terminal. A subject that is not UTF-8 is in Go's quoted form.
type Approval struct {
	ID        string    `json:"id"`
	Workspace string    `json:"workspace"`
	Project   string    `json:"project,omitempty"`
	Operation string    `json:"operation"`
	Subject   string    `json:"subject"`
	Rule      string    `json:"rule,omitempty"`
	Source    string    `json:"source,omitempty"`
	Reason    string    `json:"reason,omitempty"`
	Hint      string    `json:"hint,omitempty"`
	Step      uint64    `json:"step,omitempty"`   // of the history, that it is about to be part of
	App       string    `json:"app,omitempty"`    // of a workspace that stays, whose step that is
	Scopes    []string  `json:"scopes,omitempty"` // what an approval may hold for beside this once
	Term      string    `json:"term,omitempty"`   // the one of the owner's terms that holds it, whose yes counts then
	Sample    []string  `json:"sample,omitempty"` // the first paths that the step has removed, where that is what is counted
	Asked     time.Time `json:"asked"`
	Deadline  time.Time `json:"deadline"`
	Answer    string    `json:"answer,omitempty"` // one of the Answer constants; "" while it waits
}

// Terms are what the process that a workspace belongs to has asked for, beside what the
// user's configuration says, which holds all the same. 0 and nil are nothing said.
type Terms struct {
	Deletes    int64 `json:"deletes,omitempty"`    // that many names removed by one command: it waits before the last of them
	Overwrites int64 `json:"overwrites,omitempty"` // bytes of a file, from which on it waits to be opened for writing or truncated
	Replaces   bool  `json:"replaces,omitempty"`   // a rename over something waits
	Within     int64 `json:"within,omitempty"`     // milliseconds until no answer is no; 0 for 30 seconds

	// Limits of the history, as history.max_bytes, max_steps and max_step_bytes are.
	MaxBytes     *int64 `json:"max_bytes,omitempty"`
	MaxSteps     *int64 `json:"max_steps,omitempty"`
	MaxStepBytes *int64 `json:"max_step_bytes,omitempty"`
}

// The owner's terms that hold a change.
const (
	TermDeletes    = "delete_threshold"
	TermOverwrites = "overwrite_large_file"
	TermReplaces   = "rename_over_existing"
)

// Scopes of approvals.
const (
	ScopeWorkspace = "workspace" // as long as it runs
	ScopeProject   = "project"   // and the one who approves writes it into the user's configuration, for the project
	ScopeAlways    = "always"    // and the one who approves writes it into the user's configuration
)

// How an approval ended.
const (
	AnswerApproved = "approved"
	AnswerDenied   = "denied"
	AnswerExpired  = "expired" // nobody answered in time: denied
	AnswerEnded    = "ended"   // the workspace or the caller went first: denied
)

// Event is something that happened in a workspace. Lost is how many events
// before this one a slow follower has missed.
type Event struct {
	Seq       uint64    `json:"seq"`
	Time      time.Time `json:"time"`
	Workspace string    `json:"workspace"`
	Kind      string    `json:"kind"`
	Text      string    `json:"text,omitempty"`
	Approval  *Approval `json:"approval,omitempty"`
	Denial    *Denial   `json:"denial,omitempty"`
	Lost      int       `json:"lost,omitempty"`
}

// Kinds of events.
const (
	EventStarted  = "workspace_start"
	EventAsked    = "approval-asked"
	EventAnswered = "approval-answered"
	EventDenial   = "denial"
	EventPaused   = "paused"
	EventResumed  = "resumed"
	EventStopping = "stopping"
	EventEnded    = "workspace_stop"
	EventNote     = "note"
	EventListed   = "listed"          // a name was made inside that can make programs outside run code
	EventHeld     = "ceiling_refused" // a request was beyond the ceiling, or held to another one
	EventExpired  = "ceiling_expired"

	EventDisplay     = "display"      // the virtual display is ready, or was let go
	EventDisplayLost = "display_lost" // its server ended by itself

	EventScreenshot      = "screenshot"
	EventDesktopInput    = "desktop_input" // what was done, and how many characters were typed
	EventWindow          = "window"
	EventCopied          = "clipboard_set"
	EventClipboardSent   = "clipboard_sent"  // by a person, from their desktop; its kind and size
	EventClipboardTaken  = "clipboard_taken" // by a person, to their desktop; likewise
	EventClipboardPasted = "clipboard_lent"  // of the person's desktop, after their key for pasting; likewise
	EventSound           = "sound"           // a program inside had one played outside, by its name
	EventNotification    = "notification"    // it had one shown there; its title
	EventLink            = "link"            // it wanted one opened
	EventElement         = "accessibility"
	EventRecord          = "record"
	EventWatch           = "watch"           // a watch begins or ends, a viewer comes or goes
	EventDisplayRefused  = "display_refused" // what a program wanted of it and did not get

	EventHostExec = "host_exec" // a host command has ended, with what status

	EventLaunch       = "app_launch"
	EventExit         = "app_exit"
	EventWait         = "wait_app"
	EventKill         = "kill_app"
	EventLog          = "read_app_log"
	EventInput        = "terminal_input" // sizes only
	EventControl      = "control"
	EventAgentState   = "agent_state" // what the agent in it says of itself
	EventBlocked      = "control_blocked"
	EventSetup        = "setup"
	EventCredential   = "credential_used" // of the person's; for what, and which key
	EventCouldNotKeep = "not_kept"        // something of what is written down is missing
)

// Codes of denials of the supervisor's API.
const (
	CodeRequest   = "request"    // the request is not understood
	CodeInside    = "inside"     // the caller is inside walls and may not
	CodeNotHuman  = "not-human"  // a person at a terminal is needed
	CodeNotFound  = "not-found"  // no such approval, or it is answered
	CodeBusy      = "busy"       // too many at once, or another pause is under way
	CodeNotPaused = "not-paused" // freezing or thawing went wrong
)
