package policy

import (
	"net/netip"
	"strconv"
	"strings"
)

// A host rule is a name, "*.name" (its sub-names), "**.name" (both), or an
// address in any form, each with an optional ":port". An IPv6 address with a
// port is written in brackets.

// splitHost takes a rule or a target apart: the lower-case name without a
// final dot, and the port, "" where there is none.
func splitHost(s string) (name, port string) {
	s = strings.ToLower(strings.TrimSpace(s))
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return s, ""
		}
		name, port = s[1:end], strings.TrimPrefix(s[end+1:], ":")
	case strings.Count(s, ":") == 1:
		name, port, _ = strings.Cut(s, ":")
	default:
		name = s
	}
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().String(), port
	}
	return strings.TrimSuffix(name, "."), port
}

// badHost says what is wrong with a host rule, "" if nothing is.
func badHost(s string) string {
	name, port := splitHost(s)
	bare := strings.TrimPrefix(strings.TrimPrefix(name, "**."), "*.")
	_, err := netip.ParseAddr(bare)
	switch {
	case bare == "":
		return "has no name"
	case bare == "*" || bare == "**":
		return "would be every host: use network open"
	case err == nil && bare != name:
		return "is an address with a wildcard"
	case err != nil && strings.ContainsFunc(bare, notInName):
		return "is not a host name, address or *.name, with an optional :port"
	}
	if port != "" || strings.HasSuffix(strings.TrimSpace(s), ":") && err != nil {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return "has no port between 1 and 65535"
		}
	}
	return ""
}

// notInName holds names to what DNS and /etc/hosts use, so that no separator,
// control byte or wildcard hides in the middle.
func notInName(r rune) bool {
	return !(r == '.' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z')
}

// hostListed tells whether a list of rules covers a host or a narrower rule.
func hostListed(list []Value[string], host string) bool {
	return hostRule(list, host) != nil
}

// hostRule returns the first rule that covers the host.
func hostRule(list []Value[string], host string) *Value[string] {
	for i := range list {
		if hostCovers(list[i].V, host) {
			return &list[i]
		}
	}
	return nil
}

func hostCovers(rule, host string) bool {
	rname, rport := splitHost(rule)
	hname, hport := splitHost(host)
	if rport != "" && rport != hport {
		return false
	}
	if rname == hname {
		return true
	}
	if rest, ok := strings.CutPrefix(rname, "**."); ok {
		bare := strings.TrimPrefix(strings.TrimPrefix(hname, "**."), "*.")
		return bare == rest || strings.HasSuffix(bare, "."+rest)
	}
	if rest, ok := strings.CutPrefix(rname, "*."); ok {
		// "**.d" holds d itself, which "*.d" does not.
		if inner, both := strings.CutPrefix(hname, "**."); both {
			return strings.HasSuffix(inner, "."+rest)
		}
		inner := strings.TrimPrefix(hname, "*.")
		return strings.HasSuffix(inner, "."+rest)
	}
	return false
}
