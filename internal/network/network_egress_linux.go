package network

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/api"
	"carrel/internal/egress"
	"carrel/internal/fdpass"
	"carrel/internal/policy"
	"carrel/internal/ports"
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
	n.newEngine(n.listen)
	go func() { _ = n.engine.ServeProxy(listeners[sandbox.ListenProxy]) }()
	go func() { _ = n.engine.ServeDNS(names, listeners[sandbox.ListenNamesTCP]) }()
	return nil
}

// StartProxy answers those who come by a listener as a proxy, for a workspace in another
// machine: programs that know no proxy reach nothing.
func (n *Network) StartProxy(l net.Listener) {
	n.newEngine(nil)
	go func() { _ = n.engine.ServeProxy(l) }() // until it is closed
}

// DialPort connects to a port of the host that the policy lists, for a program in another machine.
// The connection is logged when it is closed.
func (n *Network) DialPort(ctx context.Context, port uint16) (interface {
	net.Conn
	CloseWrite() error
}, error,
) {
	if !slices.Contains(n.c.HostPorts, port) {
		return nil, fmt.Errorf("port %d of the host is not listed", port)
	}
	done := ports.Carried{Began: time.Now()}
	for _, ip := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		done.To = netip.AddrPortFrom(ip, port)
		var conn net.Conn
		if conn, done.Err = dialOutside(ctx, done.To); done.Err == nil {
			return &portConn{TCPConn: conn.(*net.TCPConn), done: done, closed: n.carried}, nil
		}
	}
	n.carried(done)
	return nil, done.Err
}

// portConn is a connection to a port of the host, which counts what it carries.
type portConn struct {
	*net.TCPConn
	sent, received atomic.Int64
	once           sync.Once
	done           ports.Carried
	closed         func(ports.Carried)
}

// Read implements [net.Conn].
func (c *portConn) Read(p []byte) (int, error) {
	n, err := c.TCPConn.Read(p)
	c.received.Add(int64(n))
	return n, err
}

// Write implements [net.Conn].
func (c *portConn) Write(p []byte) (int, error) {
	n, err := c.TCPConn.Write(p)
	c.sent.Add(int64(n))
	return n, err
}

// Close implements [net.Conn].
func (c *portConn) Close() error {
	c.once.Do(func() {
		c.done.Sent, c.done.Received = c.sent.Load(), c.received.Load()
		c.closed(c.done)
	})
	return c.TCPConn.Close()
}

func (n *Network) newEngine(listen func(ctx context.Context, network, address string) (net.Listener, error)) {
	c := egress.Config{Rules: n.c.Policy.HostRules(), Listen: listen, Owner: n.owner, Attempt: n.attempt, Upstream: n.c.Upstream}
	if n.c.Policy.OnUnknown == policy.UnknownAsk {
		c.Ask = n.ask
	}
	n.engine = egress.New(c)
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
		if err := n.holder.Hold(l); err != nil {
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
