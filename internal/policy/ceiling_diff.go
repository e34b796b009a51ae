package policy

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Limit is what a ceiling says of one dimension.
type Limit struct {
	Dimension Dimension
	Value     string // as a person would write it
	Limited   bool
	Source    Source // where it stands; none where nothing is limited
}

// Limits lists every dimension of one ceiling, without those that hold beside it.
func (c *Ceiling) Limits() []Limit {
	var out []Limit
	for _, p := range c.parts() {
		l := Limit{Dimension: p.dim, Value: "no limit", Limited: !p.open}
		if l.Limited {
			l.Value, l.Source = p.text(), p.source
		}
		out = append(out, l)
	}
	return out
}

// CeilingChange is what one ceiling allows more and less than another in one dimension.
type CeilingChange struct {
	Dimension  Dimension
	From, To   string // what each allows
	More, Less []string
}

// DiffCeilings says what b allows more and less than a. Dimensions that are the same in
// both are left out.
func DiffCeilings(a, b *Ceiling) []CeilingChange {
	var out []CeilingChange
	was, now := a.parts(), b.parts()
	for i := range was {
		c := CeilingChange{Dimension: was[i].dim, From: was[i].text(), To: now[i].text(), More: now[i].beyond(was[i]), Less: was[i].beyond(now[i])}
		if len(c.More)+len(c.Less) > 0 {
			out = append(out, c)
		}
	}
	return out
}

// part is one dimension of a ceiling, so that two can be compared.
type part struct {
	dim    Dimension
	open   bool
	source Source
	order  int64             // of a value that has an order: more is wider
	value  string            // the same as text
	list   []string          // of a list; value is ""
	covers func(string) bool // that list

	inverse bool // what is listed is denied
}

func (p part) text() string {
	switch {
	case p.open:
		return "no limit"
	case p.value != "":
		return p.value
	case len(p.list) == 0:
		return "none"
	}
	return strings.Join(p.list, ", ")
}

// beyond lists what a part allows that another does not.
func (p part) beyond(o part) []string {
	switch {
	case p.inverse:
		var out []string
		for _, entry := range o.list {
			if !p.covers(entry) {
				out = append(out, entry)
			}
		}
		return out
	case o.open:
		return nil
	case p.open:
		return []string{"no limit"}
	case p.covers == nil:
		if p.order > o.order {
			return []string{p.value}
		}
		return nil
	}
	var out []string
	for _, entry := range p.list {
		if !o.covers(entry) {
			out = append(out, entry)
		}
	}
	return out
}

func (c *Ceiling) parts() []part {
	p := c.Permissions()
	n := p.Network
	if n == nil {
		n = &NetworkPermissions{}
	}
	out := []part{
		orderedPart(DimNetwork, n.Mode, networkRank, networkBound(c)),
		c.hostsPart(n),
		deniedPart(c.DenyHosts, n.DenyHosts),
		linkPart(DimHostPorts, hostPorts.bound(c), func(v uint16) string { return fmt.Sprint(v) }),
		linkPart(DimPublish, published.bound(c), publishText),
		linkPart(DimSockets, unixSockets.bound(c), printable),
		orderedPart(DimUnknown, n.OnUnknown, unknownRank, c.OnUnknown),
		c.mountsPart(),
		listPart(DimPrograms, c.ProgramsAllow, covered),
		listPart(DimHostCommands, c.HostCommands, holds),
	}
	var d DisplayPermissions
	if p.Display != nil {
		d = *p.Display
	}
	var v VirtualPermissions
	if p.Virtual != nil {
		v = *p.Virtual
	}
	out = append(out,
		orderedPart(DimDisplay, d.Mode, displayRank, c.Display),
		orderedPart(DimClip, d.Clipboard, clipboardRank, c.Clipboard),
		orderedPart(DimIsolation, p.Isolation, isolationRank, c.Isolation),
		orderedPart(DimHome, p.Home, homeRank, c.Home),
		orderedPart(DimNested, p.Nested, nestedRank, c.Nested),
		orderedPart(DimHistory, p.History, historyRank, c.History),
		orderedPart(DimSecrets, p.Secrets, secretsRank, c.Secrets),
		orderedPart(DimAgentHome, p.AgentHome, agentHomeRank, c.AgentHome),
		orderedPart(DimUndo, p.Undo, undoRank, c.Undo),
		orderedPart(DimSound, v.Sound, switchRank, c.Sound),
		orderedPart(DimNotify, v.Notify, switchRank, c.Notify),
		orderedPart(DimLinks, p.OpenURLs, linkRank, c.OpenURLs),
		orderedPart(DimCredentials, p.Credentials, credentialsRank, c.Credentials),
		listPart(DimDevices, c.Devices, holds),
		limitPart(DimTimeout, c.Timeout, time.Duration.String),
		limitPart(DimMemory, c.Memory, func(n int64) string { return fmt.Sprintf("%d bytes", n) }),
		limitPart(DimPids, c.Pids, func(n int64) string { return fmt.Sprint(n) }))
	e := part{dim: DimExpires, open: c.Expires == nil}
	if c.Expires != nil {
		e.order, e.value, e.source = c.Expires.V.Unix(), c.Expires.V.Format(time.RFC3339), c.Expires.Source
	}
	return append(out, e)
}

func orderedPart[T ~string](dim Dimension, v T, rank func(T) int, from *Value[T]) part {
	p := part{dim: dim, open: v == ""}
	if !p.open {
		p.order, p.value, p.source = int64(rank(v)), string(v), from.Source
	}
	return p
}

func limitPart[T ~int64](dim Dimension, v *Value[T], text func(T) string) part {
	p := part{dim: dim, open: v == nil || v.V == 0}
	if !p.open {
		p.order, p.value, p.source = int64(v.V), text(v.V), v.Source
	}
	return p
}

func listPart(dim Dimension, list []Value[string], covered func([]Value[string], string) bool) part {
	p := part{dim: dim, open: len(list) == 0, covers: func(s string) bool { return covered(list, s) }}
	if !p.open {
		p.list, p.source = sortedValues(list), list[0].Source
	}
	return p
}

func linkPart[T comparable](dim Dimension, b *bounds[T], text func(T) string) part {
	p := part{dim: dim, open: b == nil}
	if b != nil {
		p.source = b.by
		for _, v := range b.list {
			p.list = append(p.list, text(v.V))
		}
		slices.Sort(p.list)
		p.list = slices.Compact(p.list)
	}
	list := p.list
	p.covers = func(s string) bool { return slices.Contains(list, s) }
	return p
}

// hostsPart are the hosts that may be listed.
func (c *Ceiling) hostsPart(n *NetworkPermissions) part {
	p := part{dim: DimHosts, open: len(n.AllowHosts) == 0, list: n.AllowHosts}
	if !p.open {
		p.source = c.AllowHosts[0].Source
	}
	if mode := networkBound(c); mode != nil && networkRank(mode.V) < networkRank(NetFiltered) { // whatever is listed
		return part{dim: DimHosts, source: mode.Source, covers: func(string) bool { return false }}
	}
	var d decision
	rules := rulesOf(d.scope, c.AllowHosts)
	p.covers = func(s string) bool {
		rule, err := parseHostRule(s, true)
		return slices.Contains(n.AllowHosts, s) || err == nil && coveredBy(rules, rule)
	}
	return p
}

// deniedPart are the hosts that are denied: what one lists and the other does not, that
// other allows more.
func deniedPart(list []Value[string], texts []string) part {
	p := part{dim: DimDenyHosts, open: len(list) == 0, list: texts, inverse: true}
	if !p.open {
		p.source = list[0].Source
	}
	p.covers = func(s string) bool { return slices.Contains(texts, s) }
	return p
}

// mountsPart are the places that may be visible.
func (c *Ceiling) mountsPart() part {
	p := part{dim: DimFiles, open: len(c.Mounts) == 0}
	var rules []Rule
	for _, m := range c.Mounts {
		mode := "read_only "
		if m.Write {
			mode = "read_write "
		}
		p.list, p.source = append(p.list, mode+m.HostPath), c.Mounts[0].Source
		rules = append(rules, Rule{Path: m.HostPath, Access: mountAccess(m), Source: m.Source})
	}
	slices.Sort(p.list)
	p.list = slices.Compact(p.list)
	match, err := newMatcher(narrowest(rules))
	p.covers = func(s string) bool {
		mode, where, _ := strings.Cut(s, " ")
		need := Read
		if mode == "read_write" {
			need = Write
		}
		return err == nil && match.lookup(where).Access.grants() >= need.grants()
	}
	return p
}
