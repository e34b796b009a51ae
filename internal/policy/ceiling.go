package policy

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Ceiling is the most that any policy may grant, as the file given by
// --permissions or the operator's ceiling block says. A nil or empty field is
// no ceiling for that dimension. Displays are ordered none < virtual < host
// here: a ceiling of "none" means no display of any kind.
type Ceiling struct {
	Source Source // where it stands, for what is refused under any ceiling

	Network    *Value[NetworkMode]
	AllowHosts []Value[string] // bounds the hosts, and the mode to filtered
	DenyHosts  []Value[string] // denied whatever else is asked for; the mode is at most filtered

	HostPorts   []Value[uint16]
	Publish     []Value[Publish]
	UnixSockets []Value[string]
	OnUnknown   *Value[OnUnknown]
	Clipboard   *Value[ClipboardMode]

	Mounts        []Mount
	ProgramsAllow []Value[string]
	Devices       []Value[string]

	Isolation *Value[Isolation]
	Display   *Value[DisplayMode]
	Home      *Value[HomeMode]
	Nested    *Value[Nesting]
	History   *Value[HistoryMode]
	Secrets   *Value[SecretsMode]

	Sound     *Value[Switch]
	Notify    *Value[Switch]
	OpenURLs  *Value[LinkMode]
	AgentHome *Value[AgentHomeMode]

	Memory  *Value[int64] // bytes; 0 is no limit
	Pids    *Value[int64] // 0 is no limit
	Timeout *Value[time.Duration]

	HostCommands []Value[string]   // the only commands of the host that may be brokered
	Undo         *Value[UndoMode]  // what may be done with the history
	Expires      *Value[time.Time] // from then on nothing is started, and what runs is paused
	Credentials  *Value[CredentialsMode]

	// Also are further ceilings that hold beside this one; they have none of their own.
	Also []*Ceiling
}

// UndoMode says what callers may do with a project's history.
// Widening order: none < preview < all.
type UndoMode string

const (
	UndoNone    UndoMode = "none"    // not even look
	UndoPreview UndoMode = "preview" // look, and see what an undo would do
	UndoAll     UndoMode = "all"     // take back, make again, discard
)

// All is the ceiling and those that hold beside it; nil has none.
func (c *Ceiling) All() []*Ceiling {
	if c == nil {
		return nil
	}
	return append([]*Ceiling{c}, c.Also...)
}

// MayUndo is the least that the ceilings allow with the history; without a limit it has
// no source.
func MayUndo(ceilings []*Ceiling) Value[UndoMode] {
	least := Value[UndoMode]{V: UndoAll}
	for _, c := range ceilings {
		if c != nil && c.Undo != nil && undoRank(c.Undo.V) < undoRank(least.V) {
			least = *c.Undo
		}
	}
	return least
}

// Ends is when the first of the ceilings expires, nil where none does.
func Ends(ceilings []*Ceiling) *Value[time.Time] {
	var first *Value[time.Time]
	for _, c := range ceilings {
		if c != nil && c.Expires != nil && (first == nil || c.Expires.V.Before(first.V)) {
			first = c.Expires
		}
	}
	return first
}

func undoRank(m UndoMode) int { return rankOf(m, UndoNone, UndoPreview, UndoAll) }

// Mount bounds the file access below one directory of the host. Where mounts
// are given, nothing outside them is granted but the system directories
// (read-only) and the private temporary directory.
type Mount struct {
	HostPath      string // absolute
	WorkspacePath string // where it shows inside; not used by process workspaces
	Write         bool   // read_write; false is read_only
	Source        Source
}

// Refusal is one explicit request for more than a ceiling allows.
type Refusal struct {
	Dimension Dimension
	Requested string // as a person would write it
	Allowed   string
	Source    Source // of the ceiling
	Asked     Source // who asked for more
}

// Error says who asked, for what, and what the ceiling allows.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%s: %s asks for %s, the ceiling %s allows %s",
		r.Dimension, r.Asked, r.Requested, r.Source, r.Allowed)
}

// RequestError is a request that means nothing: an unknown value, a place
// that cannot be resolved, a pattern that is not one.
type RequestError struct {
	Dimension Dimension
	Source    Source
	Message   string
	Hint      string // what to do, mostly ""
}

// Error names the place that asked and what is wrong with it.
func (e *RequestError) Error() string {
	msg := fmt.Sprintf("%s: %s", e.Source, e.Message)
	if e.Hint != "" {
		msg += "; " + e.Hint
	}
	return msg
}

// Errors holds everything that is wrong with a set of layers, one per line.
type Errors []error

// Error joins the messages by newlines.
func (e Errors) Error() string {
	lines := make([]string, len(e))
	for i, err := range e {
		lines[i] = err.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives errors.Is and errors.As each of them.
func (e Errors) Unwrap() []error { return e }

// Refusals returns the refusals in an error of [Decide], nil if there are none.
func Refusals(err error) []*Refusal {
	var list Errors
	if !errors.As(err, &list) {
		return nil
	}
	var refusals []*Refusal
	for _, e := range list {
		var r *Refusal
		if errors.As(e, &r) {
			refusals = append(refusals, r)
		}
	}
	return refusals
}
