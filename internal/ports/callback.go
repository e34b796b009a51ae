package ports

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

// callbackLifetime is how long a login may take to come back.
const callbackLifetime = 5 * time.Minute

// callbackAtOnce bounds the connections to one: all programs on this machine can make them.
const callbackAtOnce = 16

// Callbacks are ways back for logins of programs inside: a browser outside is sent to a port of
// the loopback, at which such a program listens.
type Callbacks struct {
	dial Dial
	mu   sync.Mutex
	open map[uint16]*relay
}

// NewCallbacks are none yet. dial connects to the inside.
func NewCallbacks(dial Dial) *Callbacks {
	return &Callbacks{dial: dial, open: make(map[uint16]*relay)}
}

// Open listens on a port of the host's loopback and carries each connection to the same port
// inside, until Close or for five minutes. One port at a time is open.
func (c *Callbacks) Open(port uint16) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[port] != nil {
		return nil
	}
	if len(c.open) > 0 {
		return errors.New("another login's way back is open; one at a time")
	}
	at := netip.AddrPortFrom(loopbacks[0], port)
	l, err := net.Listen("tcp4", at.String())
	if err != nil {
		return fmt.Errorf("the way back to port %d is taken outside: %w", port, err)
	}
	slots := make(chan struct{}, callbackAtOnce)
	r := newRelay([]net.Listener{l}, func(ctx context.Context, near *net.TCPConn) {
		select {
		case slots <- struct{}{}:
			defer func() { <-slots }()
		default:
			return // a flood only hurts the flooder
		}
		_ = near.SetDeadline(time.Now().Add(callbackLifetime))
		far, err := c.dial(ctx, at)
		if err != nil {
			return
		}
		defer far.Close()
		defer context.AfterFunc(ctx, func() { far.Close() })()
		exchange(near, far)
	})
	c.open[port] = r
	time.AfterFunc(callbackLifetime, func() {
		c.mu.Lock()
		if c.open[port] == r {
			delete(c.open, port)
		}
		c.mu.Unlock()
		r.Close()
	})
	return nil
}

// Close ends all. It may be called on nil.
func (c *Callbacks) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for port, r := range c.open {
		r.Close()
		delete(c.open, port)
	}
}
