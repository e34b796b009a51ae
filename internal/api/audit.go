package api

import "time"

// AuditRecord is one line of a named workspace's audit log, without its own hash:
// see package audit. Subject, Detail and Program may hold bytes chosen by a hostile
// program: escape them before they reach a terminal. What somebody typed or copied,
// the values of variables and the content of files are never in one.
type AuditRecord struct {
	Seq       uint64     `json:"seq"`
	Time      time.Time  `json:"time"`
	Kind      string     `json:"kind"` // one of the Audit constants
	Who       AuditWho   `json:"who"`
	Operation string     `json:"operation,omitempty"`
	Subject   string     `json:"subject,omitempty"`
	Decision  string     `json:"decision,omitempty"` // one of the Decision constants; "" where nothing was decided
	Rule      string     `json:"rule,omitempty"`
	Source    string     `json:"source,omitempty"`
	Step      uint64     `json:"step,omitempty"` // of the history
	App       string     `json:"app,omitempty"`  // its id
	Detail    string     `json:"detail,omitempty"`
	Ceiling   string     `json:"ceiling,omitempty"` // start: digest of what bounds its policy
	Torn      *AuditTorn `json:"torn,omitempty"`

	Session *AuditSession `json:"session,omitempty"` // of the record with which a run or workspace begins

	Prev string `json:"prev"` // hash of the record before, in hexadecimal; zeros for none
}

// AuditWho is who did what a record tells of.
type AuditWho struct {
	Kind    string `json:"kind"`              // one of the Who constants
	PID     int    `json:"pid,omitempty"`     // outside; 0 where it is not known
	Program string `json:"program,omitempty"` // of a caller; of who is inside the name that it has given itself
}

// AuditSession says which run or workspace a log is of, and under which policy.
type AuditSession struct {
	ID      string `json:"id"`
	UID     int    `json:"uid"`
	Project Text   `json:"project"`
	Policy  string `json:"policy"`  // its digest
	Version string `json:"version"` // of Carrel
}

// AuditTorn is what a killed writer left of a record.
type AuditTorn struct {
	Bytes int    `json:"bytes"`
	Hash  string `json:"hash"` // SHA-256 of them
}

// Kinds of records.
const (
	AuditRequest    = "request"    // of a caller, that acts or was refused
	AuditApproval   = "approval"   // one was asked for or answered
	AuditDenial     = "denial"     // something was refused to a program inside
	AuditNetwork    = "network"    // an attempt to reach something
	AuditStep       = "step"       // one of the history began or was closed
	AuditApp        = "app"        // one was started or has ended
	AuditControl    = "control"    // the mode changed
	AuditCredential = "credential" // one of the person's was used
	AuditWorkspace  = "workspace"  // it started or stops
	AuditVirtual    = "virtual"    // a built-in command reached the person outside

	AuditBegin   = "begin"   // the log begins here
	AuditRotated = "rotated" // a new file begins, and goes on from the one before
	AuditKilled  = "killed"  // the log was not closed: its supervisor was killed
	AuditTornOff = "torn"    // and in the middle of a record
	AuditLost    = "lost"    // so many records could not be written
	AuditClosed  = "closed"  // the log was closed in order
)

// Who did something.
const (
	WhoPerson     = "person"     // at a terminal outside, as far as can be seen
	WhoOwner      = "owner"      // the process that the workspace belongs to
	WhoCaller     = "caller"     // any other program outside
	WhoInside     = "inside"     // a program behind walls or in a container
	WhoSupervisor = "supervisor" // of the workspace itself
)

// How something was decided.
const (
	DecisionAllowed  = "allowed"
	DecisionRefused  = "refused"
	DecisionAsked    = "asked" // it waits for a person
	DecisionApproved = "approved"
	DecisionDenied   = "denied"
	DecisionExpired  = "expired"
)

// AuditResult is what checking an audit log has found.
type AuditResult struct {
	OK      bool         `json:"ok"`
	Records uint64       `json:"records"` // that hold, up to the first that does not
	First   uint64       `json:"first,omitempty"`
	Last    uint64       `json:"last,omitempty"`
	From    time.Time    `json:"from,omitzero"`
	To      time.Time    `json:"to,omitzero"`
	Head    string       `json:"head,omitempty"` // hash of the last record
	Broken  *AuditBroken `json:"broken,omitempty"`
	Notes   []string     `json:"notes,omitempty"` // what the log says of itself: kills, losses, a torn end
}

// AuditBroken is the first place at which a log does not hold.
type AuditBroken struct {
	Record uint64 `json:"record"` // the number that should be there
	File   string `json:"file"`
	Line   int    `json:"line"`
	Why    string `json:"why"`
}

// CodeAudit is a refusal because it could not be written down, where that is required.
const CodeAudit = "audit"
