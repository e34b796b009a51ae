package policy

import "fmt"

func explainHost(e *Effective, host string) *HostExplanation {
	x := &HostExplanation{Host: host}
	for _, r := range e.Reasons {
		if r.Dimension == DimNetwork {
			x.Reason = r
		}
	}
	t, err := ParseTarget(host)
	if err != nil {
		x.Why = err.Error()
		return x
	}
	if t.Port == 0 {
		t.Port = 443
	}
	d := e.hosts.Decide(t)
	x.Rule = d.Rule
	switch e.Network {
	case NetOpen:
		x.Allowed = true
		x.Why = fmt.Sprintf("network open reaches every host (%s)", x.Reason.Source)
		x.Change = []string{"--network closed"}
	case NetFiltered:
		x.Allowed = d.Allowed()
		if d.Allowed() {
			x.Why = fmt.Sprintf("network %s reaches it: %s is listed (%s)", e.Network, printable(x.Rule.V), x.Rule.Source)
			break
		}
		x.Why = fmt.Sprintf("network %s (%s) does not list it", e.Network, x.Reason.Source)
		x.Change = []string{fmt.Sprintf("network: {allow_hosts: [%s]} in the user's configuration", yamlWord(host)), "--network open"}
	default:
		x.Why = fmt.Sprintf("the network is closed (%s)", x.Reason.Source)
		x.Change = []string{"--network open"}
	}
	if x.Reason.Note != "" && !x.Allowed {
		x.Why += ", " + x.Reason.Note
	}
	return x
}
