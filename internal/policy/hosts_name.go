package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"

	"golang.org/x/net/idna"
)

// NormalHost returns the one spelling of a host: a name in lower case, in ASCII
// and without a final dot, or an address as netip writes it, a mapped IPv4
// address as IPv4. A zone is kept, without percent-encoding. Anything that a
// program could read as another host than this is an error: IPv4 addresses in
// octal, hexadecimal, as one number or with parts left out, percent-encoding,
// characters that no name has.
func NormalHost(s string) (string, error) {
	host := strings.Trim(s, " \t")
	inner, bracketed := strings.CutPrefix(host, "[")
	if bracketed {
		var closed bool
		if inner, closed = strings.CutSuffix(inner, "]"); !closed || !strings.Contains(inner, ":") {
			return "", hostError(s, "has brackets that are not those of an IPv6 address")
		}
		host = inner
	}
	if strings.Contains(host, ":") {
		return normalIPv6(s, host)
	}
	if a, err := netip.ParseAddr(strings.TrimSuffix(host, ".")); err == nil {
		return a.String(), nil
	}
	return normalName(s, host)
}

// ParseTarget reads "NAME", "NAME:PORT", "ADDRESS:PORT" or "[v6]:PORT" as a
// person writes it; the port is 0 where none is given.
func ParseTarget(s string) (Target, error) {
	host, ports, err := cutPorts(strings.Trim(s, " \t"))
	if err != nil {
		return Target{}, hostError(s, err.Error())
	}
	if len(ports) > 1 {
		return Target{}, hostError(s, "has more than one port")
	}
	if host, err = NormalHost(host); err != nil {
		return Target{}, err
	}
	t := Target{Host: host}
	if len(ports) == 1 {
		t.Port = ports[0]
	}
	return t, nil
}

func hostError(given, what string) error {
	return fmt.Errorf("host %q %s", given, what)
}

func normalIPv6(given, host string) (string, error) {
	host, zone, zoned := strings.Cut(host, "%")
	zone = strings.TrimPrefix(zone, "25") // percent-encoded, as in a URL
	if zoned && !goodZone(zone) {
		return "", hostError(given, "has a zone that is not the name of an interface")
	}
	a, err := netip.ParseAddr(host)
	switch {
	case err != nil:
		return "", hostError(given, "is not an IPv6 address; a port goes behind brackets: [::1]:443")
	case a.Is4In6() && zoned:
		return "", hostError(given, "is an IPv4 address with a zone")
	}
	return a.Unmap().WithZone(zone).String(), nil
}

// goodZone leaves out a zone that begins with "25": nobody could tell it from
// an encoded percent sign.
func goodZone(zone string) bool {
	bad := func(r rune) bool { return r != '.' && notInName(r) && !(r >= 'A' && r <= 'Z') }
	return zone != "" && len(zone) <= 15 && !strings.HasPrefix(zone, "25") && !strings.ContainsFunc(zone, bad)
}

func normalName(given, host string) (string, error) {
	name := strings.ToLower(host)
	if !isASCII(host) {
		var err error
		if name, err = idna.Lookup.ToASCII(host); err != nil || !isASCII(name) {
			return "", hostError(given, "is not a name that DNS could hold")
		}
		if _, err := netip.ParseAddr(strings.TrimSuffix(name, ".")); err == nil {
			return "", hostError(given, "spells an address in other characters than digits")
		}
	}
	name = strings.TrimSuffix(name, ".")
	if msg := badName(name); msg != "" {
		return "", hostError(given, msg)
	}
	return name, nil
}

// badName says what is wrong with a lower-case ASCII name, "" if nothing is.
// The letters are those of DNS and /etc/hosts, so that no separator, control
// byte or wildcard hides in the middle.
func badName(name string) string {
	if name == "" {
		return "has no name"
	}
	if len(name) > 253 {
		return "is longer than the 253 bytes of a name"
	}
	label := ""
	for label = range strings.SplitSeq(name, ".") {
		switch {
		case label == "":
			return "has an empty part between two dots"
		case len(label) > 63:
			return "has a part longer than 63 bytes"
		case strings.ContainsFunc(label, notInName):
			return "is not a host name or address"
		case label[0] == '-':
			return "has a part that begins with a dash"
		case strings.HasPrefix(label, "xn--"):
			if ascii, err := idna.Lookup.ToASCII(label); err != nil || ascii != label {
				return "has a part that is not what any international name encodes to"
			}
		}
	}
	if numeric(label) {
		return "is a number or an IPv4 address in an odd spelling; write four decimal parts"
	}
	return ""
}

// numeric tells whether programs take a name with this last part for an IPv4
// address.
func numeric(label string) bool {
	if hex, ok := strings.CutPrefix(label, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}

// notInName is for lower-case letters.
func notInName(r rune) bool {
	return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z')
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= 0x80 })
}

var (
	errPort    = errors.New("has no port between 1 and 65535")
	errBracket = errors.New("has a bracket that is not closed; an IPv6 address with a port is written [::1]:443")
)

// cutPorts takes ":port[,port]" off a host. An address with two colons or more
// and no brackets has none.
func cutPorts(s string) (host string, ports []uint16, err error) {
	rest := ""
	switch {
	case strings.HasPrefix(s, "["):
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", nil, errBracket
		}
		host, rest = s[:end+1], s[end+1:]
		if rest == "" {
			return host, nil, nil
		}
		if !strings.HasPrefix(rest, ":") {
			return "", nil, errBracket
		}
		rest = rest[1:]
	case strings.Count(s, ":") == 1:
		host, rest, _ = strings.Cut(s, ":")
	default:
		return s, nil, nil
	}
	for word := range strings.SplitSeq(rest, ",") {
		n, err := strconv.ParseUint(word, 10, 16)
		if err != nil || n == 0 || word[0] == '0' || word[0] == '+' {
			return "", nil, errPort
		}
		ports = append(ports, uint16(n))
	}
	return host, ports, nil
}
