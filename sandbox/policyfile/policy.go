// Package policyfile is the policy of the low-level form, `carrel sandbox`: a
// versioned format in JSON, and the Go values that it stands for. A policy says
// all: there is no default that grants anything, no configuration beside it and
// no file that it includes. docs/sandbox.md is its manual.
//
// Parse is strict: an unknown key, a wrong type, a key that stands twice, or a value without
// effect is an error. It names the key, its place and what would be right. It decides nothing;
// package sandbox runs commands under a policy.
package policyfile

import "time"

// Version is the one that this package reads and writes.
const Version = 1

// Access is what a rule says of a place.
type Access string

// What a rule may say. Paths take the first three, globs the last two.
const (
	Read    Access = "read"
	Write   Access = "write"   // read and change
	Deny    Access = "deny"    // neither
	Protect Access = "protect" // no change; reading as without the rule
)

// Missing says what becomes of a rule that what is on the machine at the start
// cannot hold: a path that is not there, a glob that could match later.
type Missing string

const (
	Refuse Missing = "error" // the start is refused; the zero value means it, too
	Skip   Missing = "skip"  // the rule holds for what is there
)

// Special places. All but Tmp may have a "/rest".
const (
	Cwd    = ":cwd"    // the working directory
	System = ":system" // the machine's programs and libraries: /usr, /bin, /lib, /etc, ...
	Tmp    = ":tmp"    // a private /tmp, with Write
)

// Rule gives one access to one place. The deepest rule that matches a path
// decides; at equal depth deny beats write beats read; what no rule matches is
// not there. A denying or protecting glob holds whatever other rules say.
type Rule struct {
	Path    string // an absolute path or a special place; "" where Glob is set
	Glob    string // an absolute pattern, or one below Cwd
	Access  Access
	Missing Missing
}

// Environment is all that a command finds in its environment, but CARREL=1 and,
// in a filtered network, the proxy's variables.
type Environment struct {
	Pass []string          // names that are taken over where they are set
	Set  map[string]string // names with their values
}

// NetworkMode is how much network there is.
type NetworkMode string

// The modes, in widening order.
const (
	Closed   NetworkMode = "closed"   // none; the zero value means it, too
	Local    NetworkMode = "local"    // a loopback of the command's own
	Filtered NetworkMode = "filtered" // that, and listed hosts
	Open     NetworkMode = "open"     // the machine's
)

// Network says what is reached. Hosts are written as in docs/hosts.md.
type Network struct {
	Mode       NetworkMode
	AllowHosts []string
	DenyHosts  []string
	HostPorts  []uint16  // of the machine's loopback, reached inside
	Publish    []Publish // reached on the machine's loopback
}

// Publish is one port inside and its number outside.
type Publish struct{ Inside, Host uint16 }

// Nesting is how much of a sandbox of its own the command may build.
type Nesting string

// The levels, in widening order.
const (
	NestedNone   Nesting = "none"   // none; the zero value means it, too
	NestedUserns Nesting = "userns" // namespaces without mounts, as browsers do
	NestedFull   Nesting = "full"   // mounts too, as bubblewrap does
)

// Limits bounds what the command uses; zero is no limit.
type Limits struct {
	Memory  int64 // bytes
	Pids    int64
	Timeout time.Duration
}

// Policy is a whole policy. The zero value shows and allows nothing.
type Policy struct {
	Cwd         string // absolute; "" is the caller's
	Files       []Rule
	Environment Environment
	Network     Network
	UnixSockets []string // of the machine, by absolute path
	Programs    []string // the only ones that may be started, by absolute path; nil is no limit
	Devices     []string // nodes, by absolute path
	Nested      Nesting
	Limits      Limits
	History     bool // changes are decided one by one and recorded for undo
}
