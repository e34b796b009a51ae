package xfilter

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Bounds of one filter.
const (
	// MaxClients is how many connections are carried at a time; more are closed.
	// Xvfb takes 256, of which the supervisor's own need a few.
	MaxClients = 240

	offerTime = 10 * time.Second // for a client to say who it is
	startTime = 60 * time.Second // for the server to be there
	endTime   = 5 * time.Second  // for the server to carry out what a client that has gone had sent
)

// Config is what a filter needs to know. Its functions are called concurrently
// unless they say otherwise, and hold up a connection until they return.
type Config struct {
	// Cookie lets programs of the workspace in. It is never the server's.
	Cookie []byte
	// Dial connects to the real server, which it may have to start first, and
	// gives the cookie of that server.
	Dial func(ctx context.Context) (net.Conn, []byte, error)
	// App says which app a process belongs to. It is asked when a client connects, while
	// the number is still that process's. It may be nil.
	App func(pid int) uint64
	// Clients is told how many clients are connected, after each change, one call
	// at a time. It may be nil.
	Clients func(n int)
	// Refused is told what was refused, each kind once a second at most for one
	// client. It may be nil.
	Refused func(Refusal)
	// Lacks is told, once for each name, which extension of those that are allowed was
	// asked for and is not there. It may be nil.
	Lacks func(c Client, name string)
	// Failed is told why a client was not let in or was ended, other than by its
	// own leaving. It may be nil.
	Failed func(Client, error)
}

// Client is one connection from inside.
type Client struct {
	Number     uint64 // counts connections of this filter, from 1
	PID        int    // who connected, as this process counts; 0 where the system does not say
	App        uint64 // what Config.App said of that process then; 0 where it was no more
	Base, Mask uint32 // its resource ids are Base with bits of Mask; 0 until the server let it in
	Since      time.Time
}

// Owns says whether a window or another resource was made by this client.
func (c Client) Owns(id uint32) bool { return c.Mask != 0 && id&^c.Mask == c.Base }

// Refusal is something that a client wanted and did not get.
type Refusal struct {
	Client Client
	What   string // the request
	Times  int    // since the last that was told
	Ended  bool   // the client was disconnected for it
}

// Filter carries connections to one server. All methods may be called
// concurrently.
type Filter struct {
	cfg    Config
	active atomic.Bool
	grabs  grabs

	count   atomic.Uint64
	mu      sync.RWMutex
	conns   map[*conn]bool   // all
	byBase  map[uint32]*conn // those that the server let in
	mask    uint32           // of resource ids; all clients of a server have the same
	closing bool

	lacked map[string]bool // what Lacks was told of

	telling sync.Mutex // of Clients
	asking  sync.Mutex // of the probe
	probe   *probe
}

// New makes a filter for a workspace that is not active; see [Filter.SetActive].
func New(c Config) *Filter {
	if c.App == nil {
		c.App = func(int) uint64 { return 0 }
	}
	if c.Clients == nil {
		c.Clients = func(int) {}
	}
	if c.Refused == nil {
		c.Refused = func(Refusal) {}
	}
	if c.Lacks == nil {
		c.Lacks = func(Client, string) {}
	}
	if c.Failed == nil {
		c.Failed = func(Client, error) {}
	}
	return &Filter{cfg: c, conns: make(map[*conn]bool), byBase: make(map[uint32]*conn)}
}

// lacks tells of an extension once. There are few names.
func (f *Filter) lacks(c Client, name string) {
	f.mu.Lock()
	known := f.lacked[name]
	if f.lacked == nil {
		f.lacked = make(map[string]bool)
	}
	f.lacked[name] = true
	f.mu.Unlock()
	if !known {
		f.cfg.Lacks(c, name)
	}
}

// SetActive says whether programs may act upon others: press keys, move the
// pointer, listen to what others get. When that ends, those that hold the server
// or somebody else's input are disconnected. What the server has received before
// is carried out; a round trip of the caller's own, after this has returned,
// comes close to waiting for that.
func (f *Filter) SetActive(on bool) {
	f.active.Store(on)
	if on {
		return
	}
	f.mu.RLock()
	defer f.mu.RUnlock()
	for c := range f.conns {
		if what := c.holds.Load(); what != nil {
			c.end(*what)
		}
	}
	f.grabs.endAll()
}

// Clients lists those that the server let in.
func (f *Filter) Clients() []Client {
	f.mu.RLock()
	defer f.mu.RUnlock()
	list := make([]Client, 0, len(f.byBase))
	for _, c := range f.byBase {
		list = append(list, c.client)
	}
	return list
}

// Owner gives the client that made a window or another resource.
func (f *Filter) Owner(id uint32) (Client, bool) {
	c := f.conn(id)
	if c == nil {
		return Client{}, false
	}
	return c.client, true
}

// conn gives the connection of a resource's maker, nil if it is not behind this filter.
func (f *Filter) conn(id uint32) *conn {
	f.mu.RLock()
	defer f.mu.RUnlock()
	return f.byBase[id&^f.mask]
}

// inside says whether a resource belongs to a client behind this filter.
func (f *Filter) inside(id uint32) bool {
	_, ok := f.Owner(id)
	return ok
}

// Serve accepts connections until ctx ends or the listener is closed, and then
// ends all that are open. It closes the listener and returns nil, or why nothing
// could be accepted any more.
func (f *Filter) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	var running sync.WaitGroup
	err := f.accept(ctx, l, &running)
	cancel()
	f.closeAll()
	running.Wait()
	f.forget()
	return err
}

func (f *Filter) accept(ctx context.Context, l net.Listener, running *sync.WaitGroup) error {
	for {
		n, err := l.Accept()
		switch {
		case ctx.Err() != nil, errors.Is(err, net.ErrClosed):
			if err == nil {
				n.Close()
			}
			return nil
		case err != nil:
			var late net.Error
			if !errors.As(err, &late) {
				return err
			}
			time.Sleep(10 * time.Millisecond) // out of descriptors, most likely
			continue
		}
		c := &conn{filter: f, inside: n, client: Client{Number: f.count.Add(1), Since: time.Now()}}
		c.client.PID, c.client.App = peer(n, f.cfg.App)
		if !f.add(c) {
			n.Close()
			continue
		}
		running.Go(func() {
			defer f.remove(c)
			if err := c.carry(ctx); err != nil && ctx.Err() == nil {
				f.cfg.Failed(c.client, err)
			}
		})
	}
}

func (f *Filter) add(c *conn) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closing || len(f.conns) >= MaxClients {
		return false
	}
	f.conns[c] = true
	return true
}

// admit notes that the server let a client in.
func (f *Filter) admit(c *conn, w welcome) {
	f.mu.Lock()
	c.client.Base, c.client.Mask, c.root = w.base, w.mask, w.root
	f.byBase[w.base], f.mask = c, w.mask
	f.mu.Unlock()
	f.tellCount()
}

func (f *Filter) remove(c *conn) {
	c.close()
	f.grabs.end(c)
	f.mu.Lock()
	delete(f.conns, c)
	admitted := c.client.Mask != 0
	if f.byBase[c.client.Base] == c {
		delete(f.byBase, c.client.Base)
	}
	f.mu.Unlock()
	if admitted {
		f.tellCount()
	}
}

func (f *Filter) tellCount() {
	f.telling.Lock()
	defer f.telling.Unlock()
	f.mu.RLock()
	n := len(f.byBase)
	f.mu.RUnlock()
	f.cfg.Clients(n)
}

func (f *Filter) closeAll() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closing = true
	for c := range f.conns {
		c.close()
	}
}

// know gives the facts of the server that has just been dialled. A probe that
// answers now was there before, so it asked this very server: another could not
// have taken its place while it lived.
func (f *Filter) know(ctx context.Context) (*facts, error) {
	f.asking.Lock()
	defer f.asking.Unlock()
	if f.probe != nil {
		if f.probe.alive() {
			return f.probe.facts, nil
		}
		f.probe.conn.Close()
		f.probe = nil
	}
	conn, cookie, err := f.cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	p, err := newProbe(ctx, conn, cookie)
	if err != nil {
		return nil, err
	}
	f.probe = p
	return p.facts, nil
}

// forget ends the probe.
func (f *Filter) forget() {
	f.asking.Lock()
	defer f.asking.Unlock()
	if f.probe != nil {
		f.probe.conn.Close()
		f.probe = nil
	}
}
