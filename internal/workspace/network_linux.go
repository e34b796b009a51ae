package workspace

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"carrel/internal/advice"
	"carrel/internal/api"
	"carrel/internal/egress"
	"carrel/internal/fdpass"
	"carrel/internal/policy"
	"carrel/internal/ports"
	"carrel/internal/sandbox"
	"carrel/internal/supervisor"
)

// network is what a running workspace reaches beyond its own processes, and how
// it is reached.
type network struct {
	p         *Prepared
	workspace string
	walls     *sandbox.Walls
	outside   *ports.Sockets // of the host, to know who comes
	own       *owners
	waiting   map[uint16][]net.Listener // published, by the port of the host
	forwards  []*ports.Forward
	published []*ports.Published
	engine    *egress.Engine // nil where the network is not filtered
	host      []net.Listener // of the host protocol
	nowhere   *noRoute       // nil where there is a network
	ready     chan struct{}  // closed when desk is known

	mu      sync.Mutex
	desk    *supervisor.Server
	policy  *policy.Effective // with what was added while it runs
	refused map[string]bool   // what a person said no to
	denials []api.Denial
	told    map[string]bool
	failed  unreached
	lost    error // why the log is not complete
	untold  bool
	closed  bool
}

// openNetwork takes the ports of the host before anything is started: one that
// somebody has is an error while there is nothing to take back.
func (p *Prepared) openNetwork(workspace string) (*network, error) {
	n := &network{p: p, workspace: workspace, waiting: make(map[uint16][]net.Listener), told: make(map[string]bool),
		ready: make(chan struct{}), policy: p.Policy, refused: make(map[string]bool)}
	list := p.publishedPorts()
	if len(list) == 0 {
		return n, nil
	}
	var err error
	if n.outside, err = ports.OwnSockets(); err != nil {
		return n, fmt.Errorf("publishing a port: the kernel does not tell whose a connection is: %w", err)
	}
	for _, v := range list {
		if n.waiting[v.Host], err = ports.ListenLoopback(v.Host); err != nil {
			n.close()
			return n, &advice.Error{Err: fmt.Errorf("publishing port %d: %w", v.Inside, err), Hint: fmt.Sprintf("another program has it; --publish %d:OTHER takes another one", v.Inside)}
		}
	}
	return n, nil
}

// start begins to carry, once the walls stand and before anything runs in them.
func (n *network) start(walls *sandbox.Walls) error {
	n.walls, n.host = walls, nil
	if mode := n.p.Policy.Network; mode == policy.NetClosed || mode == policy.NetLocal {
		n.nowhere = countNoRoute(walls.PID())
	}
	fds, diag := walls.TakeListeners()
	if diag >= 0 {
		n.own = &owners{sockets: ports.SocketsOf(diag)}
	}
	listeners := make([]net.Listener, len(fds))
	for i, fd := range fds {
		if l := n.p.Plan.Listeners[i]; n.p.speaksHost(l.Address) && fd >= 0 {
			host, err := fdpass.Listener(fd)
			if err != nil {
				return fmt.Errorf("listening to programs inside that want host commands: %w", err)
			}
			n.host = append(n.host, host)
			continue
		}
		if n.p.Plan.Listeners[i].Address == n.p.insideAgent() && fd >= 0 {
			if err := n.p.keyring.TakeAgent(fd); err != nil {
				return err
			}
			continue
		}
		if n.p.Plan.Listeners[i].Network == "unix" && fd >= 0 {
			n.p.desktop.TakeBus(fd)
			continue
		}
		if n.p.Plan.Listeners[i].Network != "tcp" || fd < 0 {
			continue
		}
		var err error
		if listeners[i], err = fdpass.Listener(fd); err != nil {
			return fmt.Errorf("listening to the inside at %s: %w", n.p.Plan.Listeners[i].Address, err)
		}
	}
	if n.p.Plan.Pool {
		if err := n.startEgress(listeners, fds[sandbox.ListenNamesUDP]); err != nil {
			return err
		}
	}
	for port, at := range sandbox.PortListeners(n.p.Plan) {
		if !slices.Contains(n.p.hostPorts(), port) {
			continue
		}
		c := ports.ForwardConfig{Port: port, Dial: dialOutside, Carried: n.carried, Owner: n.owner}
		for _, i := range at {
			if i < len(listeners) && listeners[i] != nil {
				c.Listeners = append(c.Listeners, listeners[i])
			}
		}
		n.forwards = append(n.forwards, ports.NewForward(c))
	}
	for _, v := range n.p.publishedPorts() {
		n.published = append(n.published, ports.Publish(ports.PublishConfig{
			Listeners: n.waiting[v.Host], Port: v.Inside, Dial: n.dialInside, Refused: func(why string) { n.strangers(v, why) },
			Mine: func(c *net.TCPConn) bool { return n.outside.OwnedBy(c, uint32(n.p.uid), 0) },
		}))
		delete(n.waiting, v.Host)
	}
	return nil
}

// answersTo tells who hears of what happens.
func (n *network) answersTo(desk *supervisor.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.desk = desk
	close(n.ready)
}

// close ends all that is open. What it has to tell is in the summary then.
func (n *network) close() {
	if n.engine != nil {
		n.engine.Close()
	}
	for _, f := range n.forwards {
		f.Close()
	}
	for _, p := range n.published {
		p.Close()
	}
	for _, list := range n.waiting {
		for _, l := range list {
			l.Close()
		}
	}
	n.outside.Close()
	if n.own != nil {
		n.own.sockets.Close()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closed {
		return
	}
	n.closed = true
	n.unreachable()
	n.p.deny(n.denials...)
	if n.untold {
		n.p.note("more than %d different connections were refused; the others are in `carrel net log`", n.p.mostDenials())
	}
	if n.failed.skipped > 0 {
		n.p.note("%d connections that reached nothing came too fast to be listed in `carrel net log`", n.failed.skipped)
	}
	if n.lost != nil {
		n.p.note("the log of the network is not complete: %v", n.lost)
	}
}

// carried logs a connection to a port of the host.
func (n *network) carried(c ports.Carried) {
	r := api.Connection{Time: c.Began, Protocol: "host-port", Host: "localhost", Port: c.To.Port(), Address: c.To.String(), Decision: "allowed", Code: "listed",
		Sent: c.Sent, Received: c.Received, Duration: time.Since(c.Began)}
	for _, v := range n.p.Policy.HostPorts {
		if v.V == c.To.Port() {
			r.Rule, r.Source = fmt.Sprintf("host port %d", v.V), v.Source.String()
		}
	}
	r.PID, r.Process = c.PID, c.Process
	if c.Err != nil {
		r.Decision, r.Code, r.Reason = "failed", "dial", c.Err.Error()
	}
	n.log(r)
}

// strangers logs what was not let in.
func (n *network) strangers(v api.Published, why string) {
	n.log(api.Connection{Time: time.Now(), Protocol: "publish", Host: "localhost", Port: v.Host, Decision: "refused", Code: "host", Reason: why})
	n.deny(api.Denial{Code: api.CodeNetwork, Operation: "publish", Subject: fmt.Sprintf("localhost:%d", v.Host), Rule: "published ports are for your own programs, by the name localhost",
		Source: "built in", Message: why, Hint: fmt.Sprintf("open http://localhost:%d/", v.Host)})
}

// log writes one attempt down.
func (n *network) log(r api.Connection) {
	if n.p.state == nil {
		return
	}
	r.Workspace, r.Project = n.workspace, n.p.place.project
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Reason, r.Host, r.Process = r.Reason[:min(len(r.Reason), maxReason)], r.Host[:min(len(r.Host), maxSubject)], r.Process[:min(len(r.Process), maxComm)]
	if !n.failed.admit(&r, time.Now()) {
		return
	}
	n.p.audit.attempt(&r)
	if err := n.p.state.LogConnection(r); err != nil && n.lost == nil {
		n.lost = err
	}
}

// maxReason bounds a sentence in the log, in bytes.
const maxReason = 1024

// deny keeps one denial for what programs try again and again.
func (n *network) deny(d api.Denial) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := d.Operation + " " + d.Code + " " + d.Subject
	if n.told[key] {
		return
	}
	if n.untold = n.untold || len(n.told) >= n.p.mostDenials(); n.untold {
		return
	}
	n.told[key] = true
	d.Subject = d.Subject[:min(len(d.Subject), maxSubject)]
	if n.p.heard != nil {
		n.p.heard(d)
		return
	}
	n.denials = append(n.denials, d)
	n.desk.Emit(api.Event{Kind: api.EventDenial, Denial: &d})
}

// owner says which process inside made a connection.
func (n *network) owner(local, remote netip.AddrPort) (int, string) {
	if n.own == nil {
		return 0, ""
	}
	return n.own.find(local, remote)
}

func dialOutside(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// dialInside has the stage connect.
func (n *network) dialInside(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return sandbox.Await(ctx, func() (net.Conn, error) {
		fd, err := n.walls.Dial(to)
		if err != nil {
			return nil, err
		}
		return fdpass.Conn(fd)
	})
}
