package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// Target is what a connection or a plain HTTP request is to.
type Target struct {
	Host   string // a name or an address, as the program gave it
	Port   uint16
	Method string // of a plain HTTP request, else ""
	Path   string // its path as it was sent, else ""
}

// HostCode says how a target was decided.
type HostCode string

const (
	HostListed    HostCode = "listed"
	HostNotListed HostCode = "not_listed" // the only refusal that a person may be asked about
	HostDenied    HostCode = "denied"     // a deny rule
	HostSpecial   HostCode = "special"    // not the public internet, and not listed as such
	HostMethod    HostCode = "method"     // listed, but not for this method, path or anything but plain HTTP
	HostMalformed HostCode = "malformed"  // no host, or one that can be read in two ways
)

// HostDecision is what the rules say of a target.
type HostDecision struct {
	Code   HostCode
	Rule   *Value[string] // the rule that decided, nil for none
	Range  string         // of HostSpecial: "loopback", "private", "link-local", "metadata", ...
	Name   string         // the normalised host, "" where it is malformed
	Detail string         // of HostMalformed: what is wrong
}

// Allowed tells whether the target may be reached.
func (d HostDecision) Allowed() bool { return d.Code == HostListed }

// HostRules are compiled allow and deny lists. They are immutable and safe for
// concurrent use.
type HostRules struct {
	allow, deny hostList
}

// CompileHosts compiles lists of host rules; "preset:NAME" may stand for a
// built-in preset. The error is an [Errors] of [*RequestError].
func CompileHosts(allow, deny []Value[string]) (*HostRules, error) {
	var errs Errors
	r := &HostRules{allow: compileHostList(allow, true, &errs), deny: compileHostList(deny, false, &errs)}
	if len(errs) > 0 {
		return nil, errs
	}
	return r, nil
}

// Decide decides a target before anything is resolved: deny over allow, then
// special addresses and names, then the allow list.
func (r *HostRules) Decide(t Target) HostDecision {
	name, err := NormalHost(t.Host)
	if err != nil {
		return HostDecision{Code: HostMalformed, Detail: err.Error()}
	}
	a := literal(name)
	d := HostDecision{Code: HostNotListed, Name: name}
	if rule := r.denied(name, a, t); rule != nil {
		d.Code, d.Rule = HostDenied, rule.value
		return d
	}
	if special := r.unlistedRange(name, a, t.Port); special != "" {
		d.Code, d.Range = HostSpecial, special
		return d
	}
	for _, rule := range r.allow.candidates(name, a) {
		if !rule.hasPort(t.Port) {
			continue
		}
		if rule.permits(t) {
			d.Code, d.Rule = HostListed, rule.value
			return d
		}
		if d.Rule == nil {
			d.Code, d.Rule = HostMethod, rule.value
		}
	}
	return d
}

// Address decides one address that a target is or has resolved to. It allows
// none where Decide refuses the target, so a target that a person has allowed
// is asked of [HostRules.Allowing].
func (r *HostRules) Address(t Target, a netip.Addr) HostDecision {
	d := r.Decide(t)
	a = a.Unmap()
	if !d.Allowed() {
		return d
	}
	if rule := r.denied("", a, t); rule != nil {
		d.Code, d.Rule = HostDenied, rule.value
		return d
	}
	if special := r.unlistedRange("", a, t.Port); special != "" && special != specialName(d.Name) {
		d.Code, d.Rule, d.Range = HostSpecial, nil, special
	}
	return d
}

// Allowing returns the rules with one more: that the target's host is reached
// at its port. Deny rules and special ranges hold as before.
func (r *HostRules) Allowing(t Target, by Source) (*HostRules, error) {
	name, err := NormalHost(t.Host)
	if err != nil {
		return nil, err
	}
	if strings.Contains(name, ":") {
		name = "[" + name + "]"
	}
	rule := Value[string]{V: fmt.Sprintf("%s:%d", name, t.Port), Source: by}
	more, err := CompileHosts(append(slices.Clone(r.allow.values), rule), nil)
	if err != nil {
		return nil, err
	}
	return &HostRules{allow: more.allow, deny: r.deny}, nil
}

// Ports returns the ports that rules list for a name, and whether some rule
// lists it without ports. Ports of rules for plain HTTP are among them; what is
// no such request there is for Decide to refuse.
func (r *HostRules) Ports(name string) (ports []uint16, any bool) {
	name, err := NormalHost(name)
	if err != nil {
		return nil, false
	}
	for _, rule := range r.allow.candidates(name, literal(name)) {
		any = any || rule.ports == nil
		ports = append(ports, rule.ports...)
	}
	slices.Sort(ports)
	return slices.Compact(ports), any
}

// MayResolve tells whether some rule could let a name be reached, at some port.
func (r *HostRules) MayResolve(name string) bool {
	if !r.MayAsk(name) {
		return false
	}
	ports, any := r.Ports(name)
	return any || len(ports) > 0
}

// MayAsk tells whether a person could be asked about a name: it is one, and
// neither denied at all ports nor special.
func (r *HostRules) MayAsk(name string) bool {
	name, err := NormalHost(name)
	if err != nil || literal(name).IsValid() {
		return false
	}
	if specialName(name) != "" && !r.listsName(name, 0) {
		return false
	}
	for _, rule := range r.deny.candidates(name, netip.Addr{}) {
		if rule.ports == nil && !rule.http {
			return false
		}
	}
	return true
}

// denied returns the deny rule that holds for a name or an address, or for an
// IPv4 address that it leads to.
func (r *HostRules) denied(name string, a netip.Addr, t Target) *hostRule {
	for _, addr := range append([]netip.Addr{a}, embedded(a)...) {
		for _, rule := range r.deny.candidates(name, addr) {
			if rule.hasPort(t.Port) && rule.refuses(t) {
				return rule
			}
		}
	}
	return nil
}

// unlistedRange is the special range that a name or an address lies in without
// being listed as such.
func (r *HostRules) unlistedRange(name string, a netip.Addr, port uint16) string {
	if !a.IsValid() {
		if special := specialName(name); special != "" && !r.listsName(name, port) {
			return special
		}
		return ""
	}
	special := SpecialRange(a)
	if special == "" || r.listsAddress(a, port, true) {
		return ""
	}
	if !r.listsAddress(a, port, false) {
		return special
	}
	// A range that translates leads to IPv4: that address has to be one that
	// could be reached by itself.
	for _, inner := range embedded(a) {
		if s := r.unlistedRange("", inner, port); s != "" {
			return s
		}
	}
	return ""
}

// listsName tells whether a rule names exactly this, at a port or at any.
func (r *HostRules) listsName(name string, port uint16) bool {
	return slices.ContainsFunc(r.allow.names[name], func(rule *hostRule) bool {
		return rule.kind == exactName && (port == 0 || rule.hasPort(port))
	})
}

// ListsAddress tells whether a rule lists exactly this address at the port.
func (r *HostRules) ListsAddress(a netip.Addr, port uint16) bool {
	return slices.ContainsFunc(r.allow.addresses, func(rule *hostRule) bool {
		return rule.hasPort(port) && rule.prefix.IsSingleIP() && rule.holds(a.Unmap())
	})
}

// listsAddress tells whether a rule lists a special address, exactly or by a
// range, at the port.
func (r *HostRules) listsAddress(a netip.Addr, port uint16, exactly bool) bool {
	return slices.ContainsFunc(r.allow.addresses, func(rule *hostRule) bool {
		return rule.hasPort(port) && rule.lists(a) && (!exactly || rule.prefix.IsSingleIP())
	})
}

// hostList finds the rules that speak of a host without trying all.
type hostList struct {
	values    []Value[string]
	names     map[string][]*hostRule // by name, exact ones and those with a wildcard
	addresses []*hostRule
}

func compileHostList(values []Value[string], allow bool, errs *Errors) hostList {
	l := hostList{names: map[string][]*hostRule{}}
	for _, v := range values {
		expanded, err := expandPreset(v, nil)
		if err != nil {
			*errs = append(*errs, &RequestError{Dimension: DimNetwork, Source: v.Source, Message: err.Error()})
			continue
		}
		for _, one := range expanded {
			rule, err := parseHostRule(one.V, allow)
			if err != nil {
				*errs = append(*errs, &RequestError{Dimension: DimNetwork, Source: one.Source, Message: hostError(one.V, err.Error()).Error()})
				continue
			}
			l.add(rule, one)
		}
	}
	return l
}

func (l *hostList) add(rule *hostRule, v Value[string]) {
	rule.at, rule.value = len(l.values), &v
	l.values = append(l.values, v)
	if rule.kind == addresses {
		l.addresses = append(l.addresses, rule)
		return
	}
	l.names[rule.name] = append(l.names[rule.name], rule)
}

// candidates returns the rules that speak of a name, or of a literal address,
// in the order of the list.
func (l *hostList) candidates(name string, a netip.Addr) []*hostRule {
	var out []*hostRule
	if a.IsValid() {
		for _, rule := range l.addresses {
			if rule.holds(a) {
				out = append(out, rule)
			}
		}
		return out
	}
	for rest := name; rest != ""; {
		for _, rule := range l.names[rest] {
			if rule.named(name, a) {
				out = append(out, rule)
			}
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	slices.SortFunc(out, func(a, b *hostRule) int { return a.at - b.at })
	return out
}
