package policy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// hostQuestion is one host on its way to being explained.
type hostQuestion struct {
	*HostExplanation
	e      *Effective
	target Target // port 443 where none was asked about
	given  string // the host as a rule has it, with the port that was asked about
}

// ExplainHost says whether e reaches host: a name or address, with an optional
// ":port". What is no host, also "", is [HostMalformed].
func ExplainHost(e *Effective, host string) *HostExplanation {
	q := hostQuestion{HostExplanation: &HostExplanation{Host: host}, e: e}
	for _, r := range e.Reasons {
		if r.Dimension == DimNetwork {
			q.Reason = r
		}
	}
	if err := q.read(host); err != nil {
		q.Code, q.Why = HostMalformed, err.Error()
		q.Change = []string{"give NAME, ADDRESS, NAME:PORT or [ADDRESS]:PORT"}
		return q.HostExplanation
	}
	switch port := q.hostPort(); {
	case e.Network == NetOpen:
		q.Allowed = true
		q.Why = fmt.Sprintf("network open reaches every host (%s)", q.Reason.Source)
		q.Change = []string{"--network closed", "--network filtered, for what is listed only"}
	case e.Network == NetClosed:
		q.refuse(fmt.Sprintf("the network is closed (%s)", q.Reason.Source), q.listing()...)
	case port != nil:
		q.Allowed = true
		q.Why = fmt.Sprintf("port %d of the host's loopback is reached inside (%s)", port.V, port.Source)
	case e.Network == NetLocal:
		q.refuse(fmt.Sprintf("network local (%s) has only a loopback of its own", q.Reason.Source), q.listing()...)
	default:
		q.filtered()
	}
	return q.HostExplanation
}

func (q *hostQuestion) read(host string) error {
	t, err := ParseTarget(host)
	if err != nil {
		return err
	}
	q.target, q.given = t, t.Host
	if t.Port != 0 {
		q.given = hostAndPort(t.Host, t.Port)
	} else {
		q.target.Port = 443
		if ports, any := q.e.HostRules().Ports(t.Host); !any && len(ports) > 0 && !slices.Contains(ports, 443) {
			q.target.Port = ports[0]
		}
	}
	return nil
}

func hostAndPort(host string, port uint16) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return host + ":" + strconv.Itoa(int(port))
}

// hostPort is the listed port of the host that the question is about.
func (q *hostQuestion) hostPort() *Value[uint16] {
	if !q.onLoopback() || q.given == q.target.Host {
		return nil
	}
	i := slices.IndexFunc(q.e.HostPorts, func(v Value[uint16]) bool { return v.V == q.target.Port })
	if i < 0 {
		return nil
	}
	return &q.e.HostPorts[i]
}

func (q *hostQuestion) onLoopback() bool {
	a := literal(q.target.Host)
	return specialName(q.target.Host) == rangeLoopback || a.IsValid() && SpecialRange(a) == rangeLoopback
}

// refuse adds what the mode itself was limited by.
func (q *hostQuestion) refuse(why string, change ...string) {
	q.Why, q.Change = why, change
	if q.Reason.Note != "" {
		q.Why += ", " + q.Reason.Note
	}
}

func (q *hostQuestion) filtered() {
	d := q.e.HostRules().Decide(q.target)
	q.Code, q.Rule, q.Allowed = d.Code, d.Rule, d.Allowed()
	switch d.Code {
	case HostListed:
		q.Why = fmt.Sprintf("network filtered reaches it%s: %s is listed (%s)", q.atPorts(), printable(d.Rule.V), d.Rule.Source)
		if !literal(d.Name).IsValid() {
			q.Why += "; each address that it has when it is dialled must be public, or listed itself"
		}
		q.Change = []string{"--deny-host " + shellWord(q.given)}
	case HostDenied:
		q.refuse(fmt.Sprintf("%s is denied (%s), whatever else is listed", printable(d.Rule.V), d.Rule.Source), takeBack(d.Rule.Source))
	case HostSpecial:
		q.refuse(fmt.Sprintf("it is not on the public internet (%s), and no rule lists exactly that", d.Range), q.listing()...)
	case HostMethod:
		q.refuse(fmt.Sprintf("%s (%s) lists it for such requests in plain HTTP only", printable(d.Rule.V), d.Rule.Source), q.listing()...)
	default:
		q.notListed()
	}
}

func (q *hostQuestion) notListed() {
	why := fmt.Sprintf("network filtered (%s) does not list it", q.Reason.Source)
	if q.e.MayAsk(q.target) {
		why += ", so a person is asked (on_unknown ask) while the connection waits"
	}
	q.refuse(why, q.listing()...)
}

// atPorts says where a host is reached that was asked about without a port.
func (q *hostQuestion) atPorts() string {
	ports, any := q.e.HostRules().Ports(q.target.Host)
	if any || len(ports) == 0 || q.given != q.target.Host || literal(q.target.Host).IsValid() {
		return ""
	}
	words := make([]string, len(ports))
	for i, p := range ports {
		words[i] = strconv.Itoa(int(p))
	}
	return " at port " + strings.Join(words, ", ")
}

// listing says how to have the host reached, under the ceilings.
func (q *hostQuestion) listing() []string {
	rule, err := parseHostRule(q.given, true)
	if err != nil {
		return []string{"--network open"}
	}
	d := &decision{scope: q.e.Scope, ceilings: q.e.ceilings}
	if by := (&hostDecision{of: d}).hostBound(rule); by != nil {
		return []string{fmt.Sprintf("widen the ceiling at %s", *by)}
	}
	var out []string
	if q.onLoopback() {
		out = append(out, fmt.Sprintf("--host-port %d, for a server on this machine", q.target.Port))
	}
	inFile := "network: {allow_hosts: [%s]} in the user's configuration"
	if q.e.Network != NetFiltered {
		inFile = "network: {mode: filtered, allow_hosts: [%s]} in the user's configuration"
	}
	return append(out, "--allow-host "+shellWord(q.given), "carrel allow "+shellWord(q.given)+", in this project from now on",
		fmt.Sprintf(inFile, yamlWord(q.given)), "--network open")
}

// takeBack says how to undo what somebody wrote.
func takeBack(src Source) string {
	switch {
	case src.File != "":
		return fmt.Sprintf("remove the entry at %s", src)
	case src.Layer == LayerCeiling:
		return fmt.Sprintf("widen the ceiling at %s", src)
	}
	return fmt.Sprintf("leave out %s", src)
}
