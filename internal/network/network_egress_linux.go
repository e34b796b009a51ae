package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"time"

	"carrel/internal/api"
	"carrel/internal/egress"
	"carrel/internal/fdpass"
	"carrel/internal/policy"
	"carrel/internal/sandbox"
	"carrel/internal/steps"
)

// startEgress begins to answer on the listeners that the stage has made.
func (n *Network) startEgress(listeners []net.Listener, udp int) error {
	f := os.NewFile(uintptr(udp), "names inside")
	names, err := net.FilePacketConn(f)
	f.Close()
	if err != nil {
		return fmt.Errorf("answering names inside: %w", err)
	}
	c := egress.Config{Rules: n.c.Policy.HostRules(), Listen: n.listen, Owner: n.owner, Attempt: n.attempt, Upstream: n.c.Upstream}
	if n.c.Policy.OnUnknown == policy.UnknownAsk {
		c.Ask = n.ask
	}
	n.engine = egress.New(c)
	go func() { _ = n.engine.ServeProxy(listeners[sandbox.ListenProxy]) }()
	go func() { _ = n.engine.ServeDNS(names, listeners[sandbox.ListenNamesTCP]) }()
	return nil
}

// listen has the stage make a listener.
func (n *Network) listen(ctx context.Context, _, address string) (net.Listener, error) {
	at, err := netip.ParseAddrPort(address)
	if err != nil {
		return nil, err
	}
	return sandbox.Await(ctx, func() (net.Listener, error) {
		fd, err := n.walls.Listen(at)
		if err != nil {
			return nil, err
		}
		l, err := fdpass.Listener(fd)
		if err != nil {
			return nil, err
		}
		if err := n.door.Hold(l); err != nil {
			l.Close()
			return nil, err
		}
		return l, nil
	})
}

// attempt logs what the engine tells; a refusal is a denial.
func (n *Network) attempt(a egress.Attempt) {
	n.log(api.Connection{Time: a.Time, PID: a.PID, Process: a.Process, Protocol: a.Protocol, Host: a.Host, Port: a.Port, Address: a.Address, Method: a.Method,
		Decision: a.Decision, Code: a.Code, Rule: a.Rule, Source: a.RuleSource, Reason: a.Reason, Hint: a.Hint, Delegated: a.Delegated,
		Sent: a.Sent, Received: a.Received, Duration: a.Duration})
	if a.Decision != egress.Refused {
		return
	}
	d := api.Denial{Code: api.CodeNetwork, Operation: "connect", Subject: hostPort(a.Host, a.Port), Rule: a.Rule, Source: a.RuleSource, Hint: a.Hint}
	if d.Rule == "" {
		d.Rule, d.Source = api.RuleFiltered+a.Code, n.c.NetworkBy
	}
	if d.Subject == "" {
		d.Subject = a.Protocol
	}
	d.Message = fmt.Sprintf("%s was not reached: %s", d.Subject, a.Reason)
	n.deny(d)
}

// ask puts a host that no rule names before a person. What the person said no to
// is not asked again in this run.
func (n *Network) ask(ctx context.Context, t policy.Target) egress.Answer {
	subject := hostPort(t.Host, t.Port)
	n.mu.Lock()
	may := n.policy.MayAsk(t) && !n.refused[subject]
	n.mu.Unlock()
	if !may {
		return egress.No
	}
	select {
	case <-n.ready:
	case <-ctx.Done():
		return egress.No
	}
	deadline, ok := ctx.Deadline()
	if !ok {
		deadline = time.Now().Add(steps.AnswerTime)
	}
	how, scope := n.desk.AskFor(ctx, api.Approval{
		Operation: "connect", Subject: subject, Rule: "network.on_unknown: ask", Source: n.c.UnknownBy,
		Reason: "no rule names this host; the connection waits", Scopes: []string{api.ScopeWorkspace, api.ScopeProject, api.ScopeAlways},
		Hint: "approve to let it connect once; --workspace, --project or --always for longer",
	}, deadline)
	switch {
	case how == api.AnswerApproved && scope == "":
		return egress.Once
	case how == api.AnswerApproved:
		return egress.Always
	case how == api.AnswerDenied:
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.refused) < maxRefusedHosts {
			n.refused[subject] = true
		}
	}
	return egress.No
}

// Hosts gives what changes the host rules, nil where there are none.
func (n *Network) Hosts() func(allow bool, rule string) error {
	if n.engine == nil {
		return nil
	}
	return func(allow bool, rule string) error {
		var more [2][]policy.Value[string]
		which, text := 1, "carrel net deny"
		if allow {
			which, text = 0, "carrel net allow"
		}
		more[which] = []policy.Value[string]{{V: rule, Source: policy.Source{Layer: policy.LayerCommandLine, Text: text}}}
		n.mu.Lock()
		defer n.mu.Unlock()
		after, err := n.policy.AddHosts(more[0], more[1])
		if err != nil {
			return ceilingDenial(err, rule)
		}
		if d := deniedAnyway(after, rule); allow && d != nil {
			return d
		}
		n.policy = after
		n.engine.SetRules(after.HostRules())
		return nil
	}
}

// deniedAnyway says that a deny rule stands over what was asked for.
func deniedAnyway(p *policy.Effective, rule string) error {
	t, err := policy.ParseTarget(rule)
	if err != nil {
		return nil // more than one host: some of it may be denied
	}
	if t.Port == 0 {
		t.Port = 443
	}
	d := p.HostRules().Decide(t)
	if d.Code != policy.HostDenied {
		return nil
	}
	return &api.Denial{Code: api.CodeNetwork, Operation: api.OpNetAllow, Subject: rule, Message: fmt.Sprintf("%s is denied by the rule %q, and stays so", rule, d.Rule.V),
		Rule: d.Rule.V, Source: d.Rule.Source.String(), Hint: "deny beats allow: start it without that rule"}
}

// ceilingDenial says that a ceiling has refused.
func ceilingDenial(err error, rule string) error {
	refusals := policy.Refusals(err)
	if len(refusals) == 0 {
		return err
	}
	r := refusals[0]
	return &api.Denial{Code: api.CodeCeiling, Operation: api.OpNetAllow, Subject: rule, Message: err.Error(), Rule: "the ceiling allows " + r.Allowed, Source: r.Source.String(),
		Hint: "the author of the ceiling can list the host"}
}

func hostPort(host string, port uint16) string {
	if port == 0 {
		return host
	}
	return net.JoinHostPort(host, strconv.Itoa(int(port)))
}
