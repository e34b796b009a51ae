package egress

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/policy"
	"carrel/internal/synhold"
)

// Engine is the way out of one workspace. All methods may be called
// concurrently.
type Engine struct {
	cfg     Config
	ctx     context.Context // ends with Close
	stop    context.CancelFunc
	rules   atomic.Pointer[policy.HostRules]
	pool    *pool
	asks    *asks
	front   *front
	arrived synhold.Arrivals[arrival]
	recent  recent
	fast    chan struct{} // held by a stream that is copied without us; see copy_linux.go

	most     int64         // connections from inside at one time
	patience time.Duration // for what a client has to say first, from its first byte on

	conns, refusing atomic.Int64
	running         sync.WaitGroup

	mu     sync.Mutex
	closed bool
	held   map[ender]struct{}
	uses   map[*use]struct{}
}

// ender is what Close ends: a listener or a connection.
type ender interface{ Close() error }

var errClosed = errors.New("the engine is closed")

// New makes an engine. It does nothing until it serves.
func New(c Config) *Engine {
	if c.Resolve == nil {
		c.Resolve = resolve
	}
	if c.Machine == nil {
		c.Machine = machine
	}
	if c.Dial == nil {
		c.Dial = dialTCP
	}
	if c.Attempt == nil {
		c.Attempt = func(Attempt) {}
	}
	e := &Engine{
		cfg:      c,
		pool:     newPool(),
		patience: headTimeout,
		fast:     make(chan struct{}, maxFast),
		held:     make(map[ender]struct{}),
		uses:     make(map[*use]struct{}),
	}
	e.ctx, e.stop = context.WithCancel(context.Background())
	e.asks = &asks{ctx: e.ctx, put: c.Ask, granted: make(map[place]bool), open: make(map[place]*question)}
	e.front = newFront(e)
	e.most, e.front.most = shares(descriptors())
	if c.Rules == nil {
		c.Rules, _ = policy.CompileHosts(nil, nil)
	}
	e.rules.Store(c.Rules)
	return e
}

// shares gives how many connections and listeners there may be, so that what is
// inside cannot use up the descriptors of the rest of the supervisor: a
// connection has two.
func shares(descriptors uint64) (conns int64, listeners int) {
	return int64(min(descriptors/4, maxConns)), int(min(descriptors/8, maxListeners))
}

// SetRules replaces the rules. What is open and not allowed any more ends at
// once.
func (e *Engine) SetRules(r *policy.HostRules) {
	e.rules.Store(r)
	e.mu.Lock()
	var over []*use
	for u := range e.uses {
		if u.grant.still(r, u.addr) != nil {
			over = append(over, u)
		}
	}
	e.mu.Unlock()
	for _, u := range over {
		u.end()
	}
	e.front.narrow(r)
}

// Close ends everything that is open, at once, and waits for the last attempts
// to be told. Both ends of a connection see a reset, so that nobody takes what
// was cut off for whole.
func (e *Engine) Close() {
	e.mu.Lock()
	e.closed = true
	held := e.held
	e.held = make(map[ender]struct{})
	e.mu.Unlock()
	for c := range held {
		reset(c)
	}
	e.stop() // afterwards: nothing is to be said any more
	over := make(chan struct{})
	go func() { e.running.Wait(); close(over) }()
	select {
	case <-over:
	case <-time.After(5 * time.Second): // a callback that ignores its context
	}
}

// over tells whether Close was called.
func (e *Engine) over() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.closed
}

// hold has Close end c too; false when the engine is closed, and c with it.
func (e *Engine) hold(c ender) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		reset(c)
		return false
	}
	e.held[c] = struct{}{}
	return true
}

// release closes c and forgets it.
func (e *Engine) release(c ender) {
	e.mu.Lock()
	delete(e.held, c)
	e.mu.Unlock()
	_ = c.Close()
}

// enter counts one running goroutine that Close waits for.
func (e *Engine) enter() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.running.Add(1)
	}
	return !e.closed
}

// use is a grant with the connection that uses it, for SetRules.
type use struct {
	grant grant
	addr  netip.Addr // invalid where somebody else resolved
	ended atomic.Bool
	cut   func()
}

func (u *use) end() {
	u.ended.Store(true)
	u.cut()
}

// using registers a grant that is in use until forget. It asks the rules again
// if they changed since the grant.
func (e *Engine) using(g grant, addr netip.Addr, cut func()) (*use, error) {
	u := &use{grant: g, addr: addr, cut: cut}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := g.still(e.rules.Load(), addr); err != nil {
		return nil, err // the rules changed meanwhile
	}
	e.uses[u] = struct{}{}
	return u, nil
}

func (e *Engine) forget(u *use) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.uses, u)
}

// reset closes a connection so that its far side sees an error, not an end.
func reset(c ender) {
	if t, ok := c.(interface{ SetLinger(int) error }); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// closedErr tells the end of a listener from a bad moment of it.
func closedErr(err error) bool { return errors.Is(err, net.ErrClosed) }
