package egress

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"carrel/internal/policy"
)

// refusal is an attempt that the rules, or the form of what was sent, ended.
type refusal struct {
	code   string
	host   string
	rule   *policy.Value[string]
	reason string
	hint   string
}

func (r *refusal) Error() string { return r.reason }

// failure is an attempt that was allowed and did not come about.
type failure struct {
	code string
	err  error
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

func malformed(format string, args ...any) *refusal {
	return &refusal{code: CodeMalformed, reason: fmt.Sprintf(format, args...)}
}

func notCarried(format string, args ...any) *refusal {
	return &refusal{code: CodeProtocol, reason: fmt.Sprintf(format, args...)}
}

// refused turns a decision of the rules into words.
func refused(t policy.Target, d policy.HostDecision) *refusal {
	r := &refusal{code: string(d.Code), host: t.Host, rule: d.Rule}
	rule := ""
	if d.Rule != nil {
		rule = fmt.Sprintf("%q (%s)", d.Rule.V, d.Rule.Source)
	}
	at := hostPort(t.Host, t.Port)
	switch d.Code {
	case policy.HostDenied:
		r.reason = "denied by the rule " + rule
		r.hint = "a denied host stays denied, whatever else lists it; take the rule away to reach it"
	case policy.HostSpecial:
		r.reason = "it is or leads to an address of the " + d.Range + " range, which is reached only when the address itself is listed"
		r.hint = listAddress
	case policy.HostMethod:
		r.reason = "the rule " + rule + " lists other methods or paths"
		if t.Method != "" {
			r.reason += " than " + t.Method + " " + shorten(t.Path)
		}
		r.hint = "only plain HTTP requests can be told apart; a rule of host and port alone lists all of them"
	case policy.HostMalformed:
		r.reason = d.Detail
	default:
		r.reason = "no rule lists " + at
		r.hint = "list it: --allow-host " + at + ", carrel allow " + at + " for this project, or carrel net allow " + at + " while it runs"
	}
	return r
}

const listAddress = "list the address itself in network.allow_hosts or with --allow-host"

// ownAddress refuses what leads back to this machine. Its services often trust
// what comes from itself, and a firewall sees nothing of it, so that a public
// address is no different from the loopback here.
func ownAddress(t policy.Target) *refusal {
	return &refusal{code: CodeSpecial, host: t.Host, hint: listAddress,
		reason: "it is or leads to an address of this machine, which is reached only when the address itself is listed"}
}

func hostPort(host string, port uint16) string {
	if port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}

// shorten bounds what a message repeats.
func shorten(s string) string {
	if len(s) > 256 {
		return s[:256] + "..."
	}
	return s
}

// failed names the kind of an error of the network.
func failed(code string, err error) *failure {
	var f *failure
	switch {
	case errors.As(err, &f):
		return f
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		code = CodeTimeout
	case errors.Is(err, context.Canceled):
		code = CodeGone
	}
	return &failure{code: code, err: err}
}

// text is what a program shows its user.
func text(host string, err error) string {
	var b strings.Builder
	if host == "" {
		host = "this"
	}
	fmt.Fprintf(&b, "carrel: %s is not reachable from here: %s\n", shorten(host), err)
	var r *refusal
	if errors.As(err, &r) && r.hint != "" {
		fmt.Fprintf(&b, "hint: %s\n", r.hint)
	}
	return b.String()
}
