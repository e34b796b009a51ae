package egress

import (
	"context"
	"net"
	"net/netip"
	"time"

	"carrel/internal/policy"
)

// Pool is the range of addresses inside that stand for names.
var Pool = netip.MustParsePrefix("198.18.0.0/15")

// Own is the one address of the pool that is ours; see [ProxyPort] and [DNSPort].
var Own = netip.MustParseAddr("198.18.0.1")

// Ports on [Own].
const (
	ProxyPort = 3128
	DNSPort   = 53
)

// Bounds of what programs inside can make us hold or wait for.
const (
	maxConns     = 2500             // connections from inside at one time
	maxRefusing  = 64               // above that: refused readably this many at a time, then closed
	headTimeout  = 10 * time.Second // for what a client has to say first, from its first byte on
	resolveLimit = 10 * time.Second
	dialLimit    = 20 * time.Second // for all addresses of a name together
	askLimit     = 2 * time.Minute  // for a person's answer
	idleLimit    = 5 * time.Minute  // between two plain HTTP requests
	maxAddresses = 64               // of one name that are looked at
	maxDials     = 8                // of one name that are dialled
	maxQuestions = 64               // that wait for a person at one time
)

// Answer is what a person says of a target that no rule lists.
type Answer uint8

// The answers; only Always is remembered.
const (
	No     Answer = iota
	Once          // this connection, and those that waited with it
	Always        // the host and port, as long as the engine lives
)

// Config says what an engine decides by and how it reaches both sides.
type Config struct {
	Rules *policy.HostRules

	// Ask puts a target that no rule lists or denies before a person, where
	// unlisted hosts are asked for. One question for a host and port is asked
	// at a time; ctx ends when nobody waits for the answer any more. nil: no.
	Ask func(ctx context.Context, t policy.Target) Answer
	// Listen makes a TCP listener inside on an address of the pool, for
	// programs that know no proxy. nil: such programs reach nothing.
	Listen func(ctx context.Context, network, address string) (net.Listener, error)
	// Owner says which process inside made a connection; may be nil.
	Owner func(local, remote netip.AddrPort) (pid int, name string)
	// Attempt is called once for each attempt, when it was refused or has
	// ended, from several goroutines; may be nil.
	Attempt func(Attempt)

	// Upstream is the host's own proxy, nil for none.
	Upstream *Upstream
	// Resolve looks a name up outside; nil: the host's resolver.
	Resolve func(ctx context.Context, name string) ([]netip.Addr, error)
	// Machine tells whether an address is one of this machine's own; nil: those of
	// its interfaces.
	Machine func(netip.Addr) bool
	// Dial connects to an address outside; nil: plain TCP.
	Dial func(ctx context.Context, addr netip.AddrPort) (net.Conn, error)
}

// Attempt is one connection, one plain HTTP request or one refused DNS
// question, and how it ended. What comes from inside (Host, Process, Method) is
// bounded but not escaped.
type Attempt struct {
	Time     time.Time
	PID      int    // 0 where it is not known
	Process  string // "" where it is not known
	Protocol string // "connect", "http", "socks5", "tcp" (the transparent way), "dns"
	Host     string // normalised, where it could be
	Port     uint16
	Address  string // that was dialled, "" for none
	Method   string // of a plain HTTP request

	Decision string // one of [Allowed], [Refused], [Failed]
	Code     string // one of the Code constants
	Rule     string // the rule that decided, as it was written
	// RuleSource says where the rule stands.
	RuleSource string
	Reason     string // of what was not allowed or failed
	Hint       string

	// Delegated says that the host's own proxy resolved the name, so that its
	// addresses were not checked here.
	Delegated bool

	Sent, Received int64 // bytes, as seen from inside
	Duration       time.Duration
}

// Values of Attempt.Decision.
const (
	Allowed = "allowed"
	Refused = "refused"
	Failed  = "failed"
)

// Values of Attempt.Code; those of refusals are also what X-Carrel-Denied says.
const (
	CodeListed    = string(policy.HostListed)
	CodeAsked     = "asked" // allowed by a person
	CodeNotListed = string(policy.HostNotListed)
	CodeDenied    = string(policy.HostDenied)
	CodeSpecial   = string(policy.HostSpecial)
	CodeMethod    = string(policy.HostMethod)
	CodeName      = "name"                       // TLS or HTTP named another host than the connection
	CodeMalformed = string(policy.HostMalformed) // not what the protocol allows, or ambiguous
	CodeProtocol  = "protocol"                   // well formed, and not carried
	CodeBusy      = "busy"                       // too much at one time
	CodeResolve   = "resolve"                    // failed: the name
	CodeDial      = "dial"                       // failed: the connection
	CodeTimeout   = "timeout"                    // failed: no answer in time
	CodeBroken    = "broken"                     // failed: the far side ended in the middle
	CodeGone      = "gone"                       // failed: the program gave up
	CodeEnded     = "ended"                      // ended by us: the rules changed, or the workspace is over
)
