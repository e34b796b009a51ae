package ports

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"
)

// maxOpen bounds the connections of one relay that are carried at a time; more
// wait in the kernel's queue.
const maxOpen = 256

// dialTime bounds how long the other side may take to accept.
const dialTime = 10 * time.Second

// Dial connects to an address of the other side's loopback.
type Dial func(ctx context.Context, to netip.AddrPort) (net.Conn, error)

// Carried is one connection that has ended.
type Carried struct {
	Began          time.Time
	From, To       netip.AddrPort // who connected, and what was dialled
	Sent, Received int64          // by and for who connected
	Err            error          // why it was not carried
	PID            int            // who connected, where that is known
	Process        string
}

// relay accepts and carries until it is closed.
type relay struct {
	carry func(ctx context.Context, c *net.TCPConn)

	ctx       context.Context
	end       context.CancelFunc
	slots     chan struct{}
	wg        sync.WaitGroup
	mu        sync.Mutex
	listeners []net.Listener
	open      map[net.Conn]bool
	closed    bool
}

func newRelay(listeners []net.Listener, carry func(context.Context, *net.TCPConn)) *relay {
	r := &relay{carry: carry, slots: make(chan struct{}, maxOpen), listeners: listeners, open: make(map[net.Conn]bool)}
	r.ctx, r.end = context.WithCancel(context.Background())
	for _, l := range listeners {
		r.wg.Go(func() { r.accept(l) })
	}
	return r
}

func (r *relay) accept(l net.Listener) {
	for {
		select {
		case r.slots <- struct{}{}:
		case <-r.ctx.Done():
			return
		}
		c, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return
		}
		conn, ok := c.(*net.TCPConn)
		if err != nil || !ok || !r.keep(conn) {
			<-r.slots
			if err != nil { // out of descriptors, most likely
				time.Sleep(10 * time.Millisecond)
			}
			continue
		}
		r.wg.Go(func() {
			defer func() { r.drop(conn); <-r.slots }()
			r.carry(r.ctx, conn)
		})
	}
}

// keep remembers a connection, so that closing the relay ends it.
func (r *relay) keep(c net.Conn) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		c.Close()
		return false
	}
	r.open[c] = true
	return true
}

func (r *relay) drop(c net.Conn) {
	c.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, c)
}

// stop ends the listeners.
func (r *relay) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	for _, l := range r.listeners {
		l.Close()
	}
}

// Close ends the listeners and all that is open, at once.
func (r *relay) Close() {
	r.end()
	r.stop()
	r.mu.Lock()
	for c := range r.open {
		c.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

var loopbacks = []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}

// dialLoopback tries both families: a server may listen on one of them only.
func dialLoopback(ctx context.Context, dial Dial, port uint16) (net.Conn, netip.AddrPort, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	var first error
	for _, a := range loopbacks {
		to := netip.AddrPortFrom(a, port)
		c, err := dial(ctx, to)
		if err == nil {
			return c, to, nil
		}
		if first == nil {
			first = err
		}
	}
	return nil, netip.AddrPortFrom(loopbacks[0], port), first
}

// exchange copies both ways until both ends have said all, or one is gone.
func exchange(near *net.TCPConn, far net.Conn) (sent, received int64) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		received, _ = io.Copy(near, far)
		_ = near.CloseWrite()
	}()
	sent = pass(far, near, nil)
	<-done
	return sent, received
}

// pass copies one way, after a head that was read already, and then says that
// there is no more.
func pass(to net.Conn, from *net.TCPConn, head []byte) int64 {
	n, err := to.Write(head)
	sent := int64(n)
	if err == nil {
		var more int64
		more, err = io.Copy(to, from)
		sent += more
	}
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		_ = half.CloseWrite()
	} else {
		to.Close()
	}
	return sent
}

// reset ends a connection as if nobody had listened.
func reset(c *net.TCPConn) {
	_ = c.SetLinger(0)
	c.Close()
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(*net.TCPAddr); ok {
		p := t.AddrPort()
		return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
	}
	return netip.AddrPort{}
}
