package policy

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// A host rule is one of
//
//   - a name, "*.name" (its sub-names) or "**.name" (both);
//   - an address, or a range as address/bits;
//
// each with an optional ":port" or ":port,port", an IPv6 address then in
// brackets; or
//
//   - "METHOD[,METHOD] http://HOST[:PORT]/PREFIX", for requests in plain HTTP
//     only; without methods any.
type hostRule struct {
	kind    hostKind
	name    string // of the three kinds of name, without wildcard
	prefix  netip.Prefix
	zone    string   // of an address with one
	ports   []uint16 // sorted; nil: any
	http    bool     // plain HTTP requests only
	methods []string // sorted; nil: any
	path    string   // the prefix; "/" is every path

	at    int // place in the list
	value *Value[string]
}

type hostKind uint8

const (
	exactName hostKind = iota
	subNames           // "*.name"
	allNames           // "**.name"
	addresses
)

// CheckHostRule says what is wrong with a rule of an allow or a deny list. Which
// presets there are is for Decide to know.
func CheckHostRule(text string, allow bool) error {
	if strings.HasPrefix(strings.Trim(text, " \t"), presetPrefix) {
		return nil
	}
	if _, err := parseHostRule(text, allow); err != nil {
		return hostError(text, err.Error())
	}
	return nil
}

// parseHostRule reads one rule. allow says that it is for a list that lets
// through: then it must not name every host there is.
func parseHostRule(text string, allow bool) (*hostRule, error) {
	text = strings.Trim(text, " \t")
	if methods, url, ok := cutHTTP(text); ok {
		return parseHTTPRule(methods, url, allow)
	}
	if strings.Contains(text, "://") {
		return nil, errors.New("is a URL of a kind that has no methods or paths to see; give NAME:PORT, or http://NAME/PREFIX for plain HTTP")
	}
	switch every := text == "*" || text == "**"; {
	case every && allow:
		return nil, errors.New("would be every host: use --network open")
	case every:
		return nil, errors.New("would be every host: use --network closed")
	}
	host, ports, err := cutPorts(text)
	if err != nil {
		return nil, err
	}
	slices.Sort(ports)
	r := &hostRule{ports: slices.Compact(ports)}
	return r, r.setHost(host, allow)
}

func (r *hostRule) setHost(host string, allow bool) error {
	switch {
	case strings.Contains(host, "/"):
		return r.setRange(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"), allow)
	case strings.HasPrefix(host, "**."):
		r.kind, host = allNames, host[3:]
	case strings.HasPrefix(host, "*."):
		r.kind, host = subNames, host[2:]
	}
	name, err := NormalHost(host)
	if err != nil {
		return ruleError(host, err)
	}
	a, err := netip.ParseAddr(name)
	switch {
	case err != nil:
		r.name = name
	case r.kind != exactName:
		return errors.New("is an address with a wildcard; a range is written 192.0.2.0/24")
	default:
		r.kind, r.zone, r.prefix = addresses, a.Zone(), netip.PrefixFrom(a.WithZone(""), a.BitLen())
		return r.poolFree(allow)
	}
	return nil
}

// ruleError leaves the name out of the error of a host: the caller says it.
func ruleError(host string, err error) error {
	switch {
	case host == "":
		return errors.New("has no name")
	case strings.Contains(host, "*"):
		return errors.New("is not a host name, *.name, **.name, address or range")
	}
	return errors.New(strings.TrimPrefix(err.Error(), fmt.Sprintf("host %q ", host)))
}

func (r *hostRule) setRange(text string, allow bool) error {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return errors.New("is not a range like 192.0.2.0/24 or 2001:db8::/32")
	}
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
	}
	if p != p.Masked() {
		return fmt.Errorf("has bits set behind its /%d; the range is %s", p.Bits(), p.Masked())
	}
	if allow && p.Bits() == 0 {
		return errors.New("would be every address: use --network open")
	}
	r.kind, r.prefix = addresses, p
	return r.poolFree(allow)
}

// poolFree refuses to list what stands for names inside.
func (r *hostRule) poolFree(allow bool) error {
	if allow && r.prefix.Bits() >= pool.Bits() && pool.Contains(r.prefix.Addr()) {
		return fmt.Errorf("lies in %s, which stands for names inside; list the name", pool)
	}
	return nil
}

// String is the one spelling of the rule.
func (r *hostRule) String() string {
	var b strings.Builder
	if len(r.methods) > 0 {
		b.WriteString(strings.Join(r.methods, ",") + " ")
	}
	if r.http {
		b.WriteString("http://")
	}
	ports := r.ports
	if r.http && slices.Equal(ports, []uint16{80}) {
		ports = nil
	}
	host := r.host()
	if strings.Contains(host, ":") && (len(ports) > 0 || r.http) {
		host = "[" + host + "]"
	}
	b.WriteString(host)
	for i, p := range ports {
		b.WriteByte(":,"[min(i, 1)])
		b.WriteString(strconv.Itoa(int(p)))
	}
	return b.String() + r.path
}

func (r *hostRule) host() string {
	switch r.kind {
	case subNames:
		return "*." + r.name
	case allNames:
		return "**." + r.name
	case addresses:
		if r.prefix.IsSingleIP() {
			return r.prefix.Addr().WithZone(r.zone).String()
		}
		return r.prefix.String()
	}
	return r.name
}

// named tells whether the rule speaks of a name or a literal address.
func (r *hostRule) named(name string, a netip.Addr) bool {
	switch {
	case r.kind == addresses:
		return a.IsValid() && r.holds(a)
	case a.IsValid():
		return false
	case r.kind == exactName:
		return name == r.name
	}
	return r.kind == allNames && name == r.name || strings.HasSuffix(name, "."+r.name)
}

// holds tells whether an address rule has the address. One without a zone holds
// in every zone.
func (r *hostRule) holds(a netip.Addr) bool {
	return r.kind == addresses && (r.zone == "" || r.zone == a.Zone()) && r.prefix.Contains(a.WithZone(""))
}

// lists tells whether the rule holds the address although it is special: it
// names exactly that, or a range that has nothing but special addresses.
func (r *hostRule) lists(a netip.Addr) bool {
	if !r.holds(a) {
		return false
	}
	return r.prefix.IsSingleIP() || SpecialRange(a) != rangeMetadata && whollySpecial(r.prefix)
}

func (r *hostRule) hasPort(port uint16) bool {
	return r.ports == nil || slices.Contains(r.ports, port)
}

// covers tells whether everything that the narrower rule lets through is let
// through by this one, too.
func (r *hostRule) covers(o *hostRule) bool {
	if r.ports != nil && (o.ports == nil || slices.ContainsFunc(o.ports, func(p uint16) bool { return !r.hasPort(p) })) {
		return false
	}
	return r.coversHost(o) && (!r.http || o.http && r.coversRequests(o))
}

func (r *hostRule) coversHost(o *hostRule) bool {
	if r.kind == addresses || o.kind == addresses {
		return r.kind == o.kind && (r.zone == "" || r.zone == o.zone) &&
			r.prefix.Bits() <= o.prefix.Bits() && r.prefix.Contains(o.prefix.Addr()) &&
			(!whollySpecial(o.prefix) || r.lists(o.prefix.Addr()))
	}
	below := strings.HasSuffix(o.name, "."+r.name)
	switch r.kind {
	case allNames:
		return below || o.name == r.name
	case subNames:
		return below || o.name == r.name && o.kind == subNames
	}
	return r.name == o.name && o.kind == exactName
}

// coveredBy tells whether rules together cover one, each of its ports by any.
func coveredBy(list []*hostRule, o *hostRule) bool {
	covers := func(o *hostRule) bool {
		return slices.ContainsFunc(list, func(r *hostRule) bool { return r.covers(o) })
	}
	if covers(o) {
		return true
	}
	for _, p := range o.ports {
		one := *o
		one.ports = []uint16{p}
		if !covers(&one) {
			return false
		}
	}
	return len(o.ports) > 0
}
