// Package api holds the words that every surface shares: what a refusal looks
// like, what a run ended with, what a workspace tells of itself. The command
// line, the MCP server and the JSON Lines API print the same values.
//
// It holds data only and imports nothing of this module.
package api

import (
	"fmt"
	"time"
)

// Denial is one refused operation: what, by which rule, and what would allow it.
// Subject may hold bytes chosen by a hostile program: escape it before it
// reaches a terminal.
type Denial struct {
	Time      time.Time `json:"time,omitzero"`
	Workspace string    `json:"workspace,omitempty"`
	Project   string    `json:"project,omitempty"`
	Code      string    `json:"code"`      // one of the Code constants
	Message   string    `json:"message"`   // one sentence for a person
	Operation string    `json:"operation"` // "start", "open-link", "exec", "read", "write", "limit"
	Subject   string    `json:"subject"`   // path, host, variable, program
	Rule      string    `json:"rule"`      // the rule that refused, as it was written
	Source    string    `json:"source"`    // where the rule stands: file:line:column, flag, or default
	Hint      string    `json:"hint,omitempty"`
}

// Rules of refused connections where no rule of the user's decided: RuleFiltered with a
// code of package egress behind it, and RuleUnlisted for a host that no rule lists.
const (
	RuleFiltered = "network filtered: "
	RuleUnlisted = RuleFiltered + "not_listed"
)

// Codes of denials. They are part of the interface.
const (
	CodeCeiling     = "ceiling"     // more than the ceiling allows was asked for
	CodeProject     = "project-key" // a project file asked for what only the user may give
	CodeNotVisible  = "not-visible" // the program exists outside but not inside
	CodeLink        = "link"        // a link was not opened
	CodeOff         = "off"         // a built-in command was used that is switched off
	CodeFile        = "file"        // a change of a file was refused
	CodeProgram     = "program"     // a program was not started: it is not among those that may be
	CodeTimeout     = "timeout"     // the time limit ended the run
	CodeMemory      = "memory"      // the memory limit ended processes
	CodeNotHeld     = "not-held"    // a limit that cannot be held here was asked for
	CodeNetwork     = "network"     // a connection was refused
	CodeHidden      = "hidden"      // files of secrets could not be read; whether one was wanted is not known
	CodeListed      = "listed"      // nothing was refused: a name was made that can run code later
	CodeCredential  = "credential"  // one of the person's was not used
	CodeUnsupported = "unsupported" // something that this version does not do was asked for
)

// Error makes a denial usable as an error.
func (d *Denial) Error() string {
	if d.Hint == "" {
		return d.Message
	}
	return fmt.Sprintf("%s\nhint: %s", d.Message, d.Hint)
}

// Refused is a denial by a rule of the workspace itself, which no configuration changes.
func Refused(code, op, subject, message, hint string) *Denial {
	return &Denial{Code: code, Operation: op, Subject: subject, Message: message, Rule: "workspace", Source: "built in", Hint: hint}
}

// Link is one link that a program inside wanted opened.
type Link struct {
	Time     time.Time `json:"time"`
	URL      string    `json:"url"`
	Opened   bool      `json:"opened"`
	Callback int       `json:"callback_port,omitempty"`
}

// Result is how a run ended.
type Result struct {
	Workspace string        `json:"workspace"`
	Exit      int           `json:"exit"`             // as a shell would see it
	Signal    string        `json:"signal,omitempty"` // the signal that ended the command
	Started   time.Time     `json:"started"`
	Duration  time.Duration `json:"duration_ns"`
	Engine    string        `json:"engine"`                  // what made the walls or stands for them: namespaces, lima, vm; none
	Layer     string        `json:"layer,omitempty"`         // of a draft: what holds its changes, see carrel review
	History   string        `json:"history"`                 // on: each change was decided and recorded
	Changed   *int          `json:"changed_files,omitempty"` // nil: not counted
	Steps     []Step        `json:"steps,omitempty"`         // of the history, oldest first, where they were asked for
	Listed    []string      `json:"listed,omitempty"`        // names made inside that could run code later, as the broker saw them
	Born      []string      `json:"born_inside,omitempty"`   // names that could run code outside and did not exist before
	Denials   []Denial      `json:"denials"`
	Hidden    []string      `json:"hidden,omitempty"` // secrets of the project that could not be read
	Links     []Link        `json:"links,omitempty"`
	Notes     []string      `json:"notes,omitempty"`

	Sounds        int `json:"sounds,omitempty"`        // that programs inside had played outside
	Notifications int `json:"notifications,omitempty"` // that they had shown there
}

// Step is one step of the history that a run made, with what it changed in the
// end. A step that changed nothing is not told.
type Step struct {
	Step     uint64    `json:"step"`
	Kind     string    `json:"kind"` // run, or job: of what was started in a step and outlived that
	Label    string    `json:"label,omitempty"`
	Added    int       `json:"added"`
	Modified int       `json:"modified"`
	Renamed  int       `json:"renamed"`
	Removed  int       `json:"removed"`
	NotKept  []NotKept `json:"not_kept,omitempty"`
	// Edited are files that another program wrote during the step, and the step then
	// destroyed: the history keeps what they held.
	Edited []string `json:"edited,omitempty"`
	Newest bool     `json:"-"` // of the project: no later step has begun
}

// NotKept is a path whose former content an undo cannot bring back.
type NotKept struct {
	Path string `json:"path"`
	Why  string `json:"why"`
}
