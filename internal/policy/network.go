package policy

import (
	"fmt"
	"slices"
	"strings"
)

// network decides the mode. What only makes sense with more network asks for
// it, where it is given for one run: a list of hosts for filtered; ports of
// either side for local, unless the mode is wider anyway.
func (d *decision) network() {
	d.implied()
	c := settle(d, dimension[NetworkMode]{
		name: DimNetwork, initial: NetClosed,
		wider: byRank(networkRank), known: inRank(networkRank), text: func(m NetworkMode) string { return string(m) },
		asked: func(r *Request) *Value[NetworkMode] { return r.Network },
		bound: networkBound,
	})
	if d.out.Network = c.V; c.V == NetAPI {
		d.out.Network, d.out.OnlyAPI = NetFiltered, true
	}
	because(d, DimNetwork, string(c.V), c)
	d.unknown()
}

func networkRank(m NetworkMode) int {
	return rankOf(m, NetClosed, NetLocal, NetAPI, NetFiltered, NetOpen)
}

// implied sets the mode that a layer means without naming it. Layers come
// strongest first, so what stands below is known from the end.
func (d *decision) implied() {
	below := NetClosed
	for i := len(d.layers) - 1; i >= 0; i-- {
		l := &d.layers[i]
		if l.Kind == LayerOperator {
			continue
		}
		if l.Kind == LayerCommandLine || l.Kind == LayerProfile {
			d.imply(l, below)
		}
		if l.Section && networkRank(below) < networkRank(NetAPI) {
			d.imply(l, below)
		}
		if l.Request.Network != nil {
			below = l.Request.Network.V
		}
	}
}

func (d *findings) imply(l *Layer, below NetworkMode) {
	r := &l.Request
	switch by := l.ports(); {
	case r.Network != nil:
		if r.Network.V == NetClosed && by != nil {
			d.fail(DimNetwork, stamp(*l, *r.Network).Source, "network closed has no ports, and %s asks for one; use local", by)
		}
	case len(r.AllowHosts) > 0:
		r.Network = &Value[NetworkMode]{V: NetFiltered, Source: r.AllowHosts[0].Source}
	case by != nil && networkRank(below) < networkRank(NetLocal):
		r.Network = &Value[NetworkMode]{V: NetLocal, Source: *by}
	}
}

// ports is the source of the first port that the layer wants carried in or out.
func (l *Layer) ports() *Source {
	for _, v := range l.Request.HostPorts {
		return &v.Source
	}
	for _, v := range l.Request.Publish {
		return &v.Source
	}
	return nil
}

// networkBound is the ceiling's mode. Lists of hosts are more than closed, less
// than open, whatever else the ceiling says: open could not hold them.
func networkBound(c *Ceiling) *Value[NetworkMode] {
	hosts := slices.Concat(c.AllowHosts, c.DenyHosts)
	if len(hosts) > 0 && (c.Network == nil || c.Network.V == NetOpen) {
		return &Value[NetworkMode]{V: NetFiltered, Source: hosts[0].Source}
	}
	return c.Network
}

// unknown decides what becomes of a host that no rule names.
func (d *decision) unknown() {
	c := settle(d, dimension[OnUnknown]{
		name: DimUnknown, initial: UnknownDeny,
		wider: byRank(unknownRank), known: inRank(unknownRank), text: func(m OnUnknown) string { return string(m) },
		asked: func(r *Request) *Value[OnUnknown] { return r.OnUnknown },
		bound: func(c *Ceiling) *Value[OnUnknown] { return c.OnUnknown },
	})
	d.out.OnUnknown = c.V
	if d.out.Network == NetFiltered {
		because(d, DimUnknown, string(c.V), c)
	}
}

func unknownRank(m OnUnknown) int { return rankOf(m, UnknownDeny, UnknownAsk) }

// hostDecision decides the rules for hosts.
type hostDecision struct {
	of       *decision
	bounds   [][]*hostRule // hosts of the ceilings that list any
	boundsBy []Source
}

// decide gives the union of what the layers list, below the ceilings. A deny of
// any layer holds over all, the project's too.
func (h *hostDecision) decide() {
	var allow, deny hostValues
	for _, c := range h.of.ceilings {
		h.addHosts(&deny, c.DenyHosts, false)
	}
	for _, l := range h.of.layers {
		h.addHosts(&allow, stampAll(l, l.Request.AllowHosts), true)
		h.addHosts(&deny, stampAll(l, l.Request.DenyHosts), false)
	}
	known := rulesOf(h.of.scope, allow.list)
	for _, l := range h.of.project {
		h.addHosts(&deny, stampAll(l, l.Request.DenyHosts), false)
		for _, v := range stampAll(l, l.Request.AllowHosts) {
			if !listed(h.of.scope, known, v) {
				h.of.ignored(v.Source, "the host "+printable(v.V)+" widens")
			}
		}
	}
	h.of.out.Hosts, h.of.out.DenyHosts, h.of.out.ceilings = allow.list, deny.list, h.of.ceilings
	if h.of.out.Network == NetOpen && len(deny.list) > 0 {
		h.of.warn(deny.list[0].Source, "network open reaches denied hosts too, for example %s; use filtered", printable(deny.list[0].V))
	}
	h.warnIdle(allow.list)
	var err error
	if h.of.out.hosts, err = CompileHosts(allow.list, deny.list); err != nil && len(h.of.errs) == 0 {
		h.of.errs = append(h.of.errs, err)
	}
}

// warnIdle tells of what was asked for on this command line and is of no effect
// in this mode. In a file a list says what filtered would reach, whenever it is.
func (h *hostDecision) warnIdle(allow []Value[string]) {
	mode := h.of.out.Network
	if mode != NetClosed && mode != NetLocal {
		return
	}
	for _, v := range allow {
		if v.Source.Layer == LayerCommandLine {
			h.of.warn(v.Source, "network %s reaches no host, %s neither; use filtered", mode, printable(v.V))
			break
		}
	}
	for _, l := range h.of.layers {
		if u := l.Request.OnUnknown; l.Kind == LayerCommandLine && u != nil && u.V == UnknownAsk {
			h.of.warn(u.Source, "network %s reaches no host, and nobody is asked; use filtered", mode)
		}
	}
}

// hostValues is a list without doubles; a project file may make it long.
type hostValues struct {
	list []Value[string]
	seen map[string]bool
}

func valuesOf(list []Value[string]) hostValues {
	var h hostValues
	for _, v := range list {
		h.add(v)
	}
	return h
}

// add appends unless a stronger layer listed the same already.
func (h *hostValues) add(v Value[string]) {
	if h.seen[v.V] {
		return
	}
	if h.seen == nil {
		h.seen = map[string]bool{}
	}
	h.seen[v.V] = true
	h.list = append(h.list, v)
}

// addHosts adds the good rules of one list, presets expanded, and reports the
// others.
func (h *hostDecision) addHosts(out *hostValues, list []Value[string], allow bool) {
	for _, v := range list {
		expanded, err := expandPreset(v, h.of.scope.HostPresets)
		if err != nil {
			h.of.fail(DimNetwork, v.Source, "%s", err)
			continue
		}
		for _, one := range expanded {
			rule, err := parseHostRule(one.V, allow)
			if err != nil {
				h.of.fail(DimNetwork, one.Source, "%s", hostError(one.V, err.Error()))
				continue
			}
			one.V = rule.String()
			if by := h.hostBound(rule); allow && by != nil {
				h.of.beyondNetwork(one.Source, *by, one.V, "other hosts only")
				continue
			}
			out.add(one)
		}
	}
}

// beyondNetwork refuses what a person asked for, and leaves out what is only a
// default: those are many, so they are told together.
func (d *findings) beyondNetwork(asked, by Source, what, allowed string) {
	if asked.Layer.explicit() {
		d.refuse(DimNetwork, asked, by, what, allowed)
		return
	}
	d.leftOut = append(d.leftOut, what)
	d.leftOutBy = by
}

// tellLeftOut notes what ceilings took away from the defaults.
func (d *findings) tellLeftOut() {
	if len(d.leftOut) == 0 {
		return
	}
	some := strings.Join(d.leftOut[:min(len(d.leftOut), 3)], ", ")
	if more := len(d.leftOut) - 3; more > 0 {
		some += fmt.Sprintf(" and %d more", more)
	}
	d.noteNetwork(fmt.Sprintf("left out by the ceiling %s: %s", d.leftOutBy, some))
}

func (d *findings) noteNetwork(note string) {
	for i := range d.out.Reasons {
		if r := &d.out.Reasons[i]; r.Dimension == DimNetwork {
			r.Note = joinNotes(r.Note, note)
		}
	}
}

// listed tells whether all that an entry stands for is covered by a list.
func listed(scope Scope, list []*hostRule, v Value[string]) bool {
	expanded, err := expandPreset(v, scope.HostPresets)
	if err != nil {
		return false
	}
	return !slices.ContainsFunc(expanded, func(one Value[string]) bool {
		rule, err := parseHostRule(one.V, true)
		return err != nil || !coveredBy(list, rule)
	})
}

// hostBound is the source of a ceiling that does not list the host.
func (h *hostDecision) hostBound(rule *hostRule) *Source {
	if h.bounds == nil {
		for _, c := range h.of.ceilings {
			if len(c.AllowHosts) > 0 {
				h.bounds = append(h.bounds, rulesOf(h.of.scope, c.AllowHosts))
				h.boundsBy = append(h.boundsBy, c.AllowHosts[0].Source)
			}
		}
	}
	for i, list := range h.bounds {
		if !coveredBy(list, rule) {
			return &h.boundsBy[i]
		}
	}
	return nil
}

// rulesOf parses a list; what is none of our rules covers nothing, and is
// reported where it stands.
func rulesOf(scope Scope, list []Value[string]) []*hostRule {
	var out []*hostRule
	for _, v := range list {
		expanded, _ := expandPreset(v, scope.HostPresets)
		for _, one := range expanded {
			if rule, err := parseHostRule(one.V, true); err == nil {
				out = append(out, rule)
			}
		}
	}
	return out
}

func stampAll[T any](l Layer, list []Value[T]) []Value[T] {
	out := make([]Value[T], len(list))
	for i, v := range list {
		out[i] = stamp(l, v)
	}
	return out
}

// HostRules returns the compiled lists; where the policy did not come from
// Decide they let nothing through.
func (e *Effective) HostRules() *HostRules {
	if e.hosts == nil {
		return &HostRules{}
	}
	return e.hosts
}

// AddHosts returns the policy with more host rules for a workspace that runs
// already. The error is as that of Decide: the ceilings hold.
func (e *Effective) AddHosts(allow, deny []Value[string]) (*Effective, error) {
	d := &decision{scope: e.Scope, ceilings: e.ceilings, findings: findings{out: &Effective{}}}
	out := *e
	hosts, denied := valuesOf(e.Hosts), valuesOf(e.DenyHosts)
	h := &hostDecision{of: d}
	h.addHosts(&hosts, allow, true)
	h.addHosts(&denied, deny, false)
	out.Hosts, out.DenyHosts = hosts.list, denied.list
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	if len(d.leftOut) > 0 {
		return nil, fmt.Errorf("%s is not within the ceiling %s", d.leftOut[0], d.leftOutBy)
	}
	var err error
	out.hosts, err = CompileHosts(out.Hosts, out.DenyHosts)
	return &out, err
}

// MayAsk tells whether a person may be asked about a target that Decide does
// not list: where on_unknown says so and every ceiling would let it be listed.
func (e *Effective) MayAsk(t Target) bool {
	name, err := NormalHost(t.Host)
	if err != nil || e.OnUnknown != UnknownAsk {
		return false
	}
	rule := &hostRule{ports: []uint16{t.Port}}
	d := &decision{scope: e.Scope, ceilings: e.ceilings}
	return rule.setHost(name, true) == nil && (&hostDecision{of: d}).hostBound(rule) == nil
}
