// Package network carries what one running workspace reaches beyond its own processes,
// and how it is reached: the filtered way out with its questions, ports of the host,
// published ports, and the log of all of these. It takes the listeners that the stage
// has made inside, and says which process a connection belongs to. What may be reached
// is decided by package policy, and held by package egress.
package network

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
	"carrel/internal/statedir"
	"carrel/internal/supervisor"
	"carrel/internal/synhold"
)

// Config says what one workspace may reach, and who is told.
type Config struct {
	Workspace string // its id
	Project   string
	Policy    *policy.Effective
	Published []api.Published
	HostPorts []uint16
	UID       int
	Upstream  *egress.Upstream // the host's own proxy, nil for none

	IsHost    func(address string) bool // says whether the host protocol is spoken there
	Agent     string                    // where programs inside find the ssh agent
	TakeAgent func(fd int) error
	TakeBus   func(fd int) // takes the listener of the session bus

	NetworkBy, UnknownBy string // which source decided the network, and on unknown hosts

	State *statedir.Dir            // nil: nothing is logged
	Audit func(r *api.Connection)  // writes a connection down
	Heard func(d api.Denial)       // is told of each refusal at once; nil: they are told at the end
	Most  int                      // different refusals that are told
	Deny  func(list ...api.Denial) // takes them at the end
	Note  func(format string, args ...any)
}

// Bounds of what programs inside can make a workspace keep.
const (
	maxRefusedHosts = 100
	maxSubject      = 256 // bytes
)

// Network is what a running workspace reaches beyond its own processes, and how
// it is reached.
type Network struct {
	c         Config
	plan      *sandbox.Plan
	walls     *sandbox.Walls
	callbacks *ports.Callbacks // nil before there is an inside
	outside   *ports.Sockets   // of the host, to know who comes
	own       *owners
	waiting   map[uint16][]net.Listener // published, by the port of the host
	forwards  map[uint16]*ports.Forward // by the port of the host
	published []*ports.Published
	engine    *egress.Engine  // nil where the network is not filtered
	host      []net.Listener  // of the host protocol
	nowhere   *noRoute        // nil where there is a network
	holder    *synhold.Holder // nil where connections are accepted at once
	ready     chan struct{}   // closed when desk is known

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

// Open takes the ports of the host before anything is started: one that
// somebody has is an error while there is nothing to take back.
func Open(c Config) (*Network, error) {
	n := &Network{c: c, waiting: make(map[uint16][]net.Listener), told: make(map[string]bool), forwards: make(map[uint16]*ports.Forward),
		ready: make(chan struct{}), policy: c.Policy, refused: make(map[string]bool)}
	list := c.Published
	if len(list) == 0 {
		return n, nil
	}
	var err error
	if n.outside, err = ports.OwnSockets(); err != nil {
		return n, fmt.Errorf("publishing a port: the kernel does not tell whose a connection is: %w", err)
	}
	for _, v := range list {
		if n.waiting[v.Host], err = ports.ListenLoopback(v.Host); err != nil {
			n.Close()
			return n, &advice.Error{Err: fmt.Errorf("publishing port %d: %w", v.Inside, err), Hint: fmt.Sprintf("another program has it; --publish %d:OTHER takes another one", v.Inside)}
		}
	}
	return n, nil
}

// Start begins to carry, once the walls stand and before anything runs in them.
func (n *Network) Start(walls *sandbox.Walls, plan *sandbox.Plan) error {
	n.walls, n.plan, n.host = walls, plan, nil
	if mode := n.c.Policy.Network; mode == policy.NetClosed || mode == policy.NetLocal {
		n.nowhere = countNoRoute(walls.PID())
	}
	fds, diag, packets := walls.TakeListeners()
	if diag >= 0 {
		n.own = &owners{sockets: ports.SocketsOf(diag)}
	}
	listeners := make([]net.Listener, len(fds))
	for i, fd := range fds {
		if l := n.plan.Listeners[i]; n.c.IsHost(l.Address) && fd >= 0 {
			host, err := fdpass.Listener(fd)
			if err != nil {
				return fmt.Errorf("listening to programs inside that want host commands: %w", err)
			}
			n.host = append(n.host, host)
			continue
		}
		if n.plan.Listeners[i].Address == n.c.Agent && fd >= 0 {
			if err := n.c.TakeAgent(fd); err != nil {
				return err
			}
			continue
		}
		if n.plan.Listeners[i].Network == "unix" && fd >= 0 {
			n.c.TakeBus(fd)
			continue
		}
		if n.plan.Listeners[i].Network != "tcp" || fd < 0 {
			continue
		}
		var err error
		if listeners[i], err = fdpass.Listener(fd); err != nil {
			return fmt.Errorf("listening to the inside at %s: %w", n.plan.Listeners[i].Address, err)
		}
	}
	n.watchDoor(packets)
	if n.plan.Pool {
		if err := n.startEgress(listeners, fds[sandbox.ListenNamesUDP]); err != nil {
			return err
		}
	}
	for port, at := range sandbox.PortListeners(n.plan) {
		if !slices.Contains(n.c.HostPorts, port) {
			continue
		}
		c := ports.ForwardConfig{Port: port, Dial: dialOutside, Carried: n.carried, Owner: n.owner}
		for _, i := range at {
			if i < len(listeners) && listeners[i] != nil {
				c.Listeners = append(c.Listeners, listeners[i])
				if err := n.holder.Hold(listeners[i]); err != nil {
					return fmt.Errorf("holding connections to port %d of the host: %w", port, err)
				}
			}
		}
		n.mu.Lock()
		n.forwards[port] = ports.NewForward(c)
		n.mu.Unlock()
	}
	n.StartInward(n.dialWalls)
	return nil
}

// StartInward begins to carry connections to published ports. dial connects to a port inside.
func (n *Network) StartInward(dial ports.Dial) {
	n.callbacks = ports.NewCallbacks(dial)
	for _, v := range n.c.Published {
		n.published = append(n.published, ports.Publish(ports.PublishConfig{
			Listeners: n.waiting[v.Host], Port: v.Inside, Dial: dial, Refused: func(why string) { n.strangers(v, why) },
			Mine: func(c *net.TCPConn) bool { return n.outside.OwnedBy(c, uint32(n.c.UID), 0) },
		}))
		delete(n.waiting, v.Host)
	}
}

// HostListeners are those of the host protocol.
func (n *Network) HostListeners() []net.Listener { return n.host }

// AnswersTo tells who hears of what happens.
func (n *Network) AnswersTo(desk *supervisor.Server) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.desk = desk
	close(n.ready)
}

// Close ends all that is open. What it has to tell is in the summary then.
func (n *Network) Close() {
	n.holder.Close()
	if n.engine != nil {
		n.engine.Close()
	}
	for _, f := range n.forwards {
		f.Close()
	}
	for _, p := range n.published {
		p.Close()
	}
	n.callbacks.Close()
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
	n.c.Deny(n.denials...)
	if n.untold {
		n.c.Note("more than %d different connections were refused; the others are in `carrel net log`", n.c.Most)
	}
	if n.failed.skipped > 0 {
		n.c.Note("%d connections that reached nothing came too fast to be listed in `carrel net log`", n.failed.skipped)
	}
	if n.lost != nil {
		n.c.Note("the log of the network is not complete: %v", n.lost)
	}
}

// carried logs a connection to a port of the host.
func (n *Network) carried(c ports.Carried) {
	r := api.Connection{Time: c.Began, Protocol: "host-port", Host: "localhost", Port: c.To.Port(), Address: c.To.String(), Decision: "allowed", Code: "listed",
		Sent: c.Sent, Received: c.Received, Duration: time.Since(c.Began)}
	for _, v := range n.c.Policy.HostPorts {
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
func (n *Network) strangers(v api.Published, why string) {
	n.log(api.Connection{Time: time.Now(), Protocol: "publish", Host: "localhost", Port: v.Host, Decision: "refused", Code: "host", Reason: why})
	n.deny(api.Denial{Code: api.CodeNetwork, Operation: "publish", Subject: fmt.Sprintf("localhost:%d", v.Host), Rule: "published ports are for your own programs, by the name localhost",
		Source: "built in", Message: why, Hint: fmt.Sprintf("open http://localhost:%d/", v.Host)})
}

// log writes one attempt down.
func (n *Network) log(r api.Connection) {
	if n.c.State == nil {
		return
	}
	r.Workspace, r.Project = n.c.Workspace, n.c.Project
	n.mu.Lock()
	defer n.mu.Unlock()
	r.Reason, r.Host, r.Process = r.Reason[:min(len(r.Reason), maxReason)], r.Host[:min(len(r.Host), maxSubject)], r.Process[:min(len(r.Process), maxComm)]
	if !n.failed.admit(&r, time.Now()) {
		return
	}
	n.c.Audit(&r)
	if err := n.c.State.LogConnection(r); err != nil && n.lost == nil {
		n.lost = err
	}
}

// maxReason bounds a sentence in the log, in bytes.
const maxReason = 1024

// deny keeps one denial for what programs try again and again.
func (n *Network) deny(d api.Denial) {
	n.mu.Lock()
	defer n.mu.Unlock()
	key := d.Operation + " " + d.Code + " " + d.Subject
	if n.told[key] {
		return
	}
	if n.untold = n.untold || len(n.told) >= n.c.Most; n.untold {
		return
	}
	n.told[key] = true
	d.Subject = d.Subject[:min(len(d.Subject), maxSubject)]
	if n.c.Heard != nil {
		n.c.Heard(d)
		return
	}
	n.denials = append(n.denials, d)
	n.desk.Emit(api.Event{Kind: api.EventDenial, Denial: &d})
}

// owner says which process inside made a connection.
func (n *Network) owner(local, remote netip.AddrPort) (int, string) {
	if n.own == nil {
		return 0, ""
	}
	return n.own.find(local, remote)
}

func dialOutside(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// OpenCallback opens the way back of a login to a port inside.
func (n *Network) OpenCallback(port uint16) error { return n.callbacks.Open(port) }

// dialWalls has the stage connect.
func (n *Network) dialWalls(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	return sandbox.Await(ctx, func() (net.Conn, error) {
		fd, err := n.walls.Dial(to)
		if err != nil {
			return nil, err
		}
		return fdpass.Conn(fd)
	})
}
