package ports

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync/atomic"
	"time"
)

// PublishConfig describes one port inside that is reached outside.
type PublishConfig struct {
	Listeners []net.Listener // outside, of both families; see [ListenLoopback]
	Port      uint16         // inside
	Dial      Dial           // inside
	// Mine says whether the other end of a connection is a process that may come
	// in.
	Mine func(c *net.TCPConn) bool
	// Refused is told why a connection was not carried; may be nil.
	Refused func(why string)
}

// Published carries connections into a workspace.
type Published struct {
	*relay
	saying *atomic.Int64 // connections on which the other side has not ended what it says
}

// lastTime bounds how long a client may take, at the end, to read what a server that has ended had sent.
const lastTime = time.Second

// Close ends all connections. It is called when the workspace has ended: what its servers had sent by then
// is still passed on, as a kernel does for a process that has ended.
func (p *Published) Close() {
	p.stop()
	for end := time.Now().Add(lastTime); p.saying.Load() > 0 && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	p.relay.Close()
}

// Publish begins to accept.
func Publish(c PublishConfig) *Published {
	if c.Refused == nil {
		c.Refused = func(string) {}
	}
	p := &Published{saying: new(atomic.Int64)}
	p.relay = newRelay(c.Listeners, func(ctx context.Context, conn *net.TCPConn) { c.carry(ctx, conn, p.saying) })
	return p
}

// ListenLoopback listens on a port of both loopback addresses. A machine without
// v6 has one; a port that somebody has on either is an error.
func ListenLoopback(port uint16) ([]net.Listener, error) {
	var out []net.Listener
	for i, a := range loopbacks {
		network := []string{"tcp4", "tcp6"}[i]
		l, err := net.Listen(network, netip.AddrPortFrom(a, port).String())
		if err != nil && i > 0 && !inUse(err) {
			break
		}
		if err != nil {
			for _, l := range out {
				l.Close()
			}
			return nil, fmt.Errorf("port %d of the host cannot be listened on: %w", port, err)
		}
		out = append(out, l)
	}
	return out, nil
}

// carry lets a server that speaks first speak, and looks at what a client says
// first before any of it goes in.
func (c *PublishConfig) carry(ctx context.Context, conn *net.TCPConn, saying *atomic.Int64) {
	if !c.Mine(conn) {
		c.Refused(fmt.Sprintf("a process that is not known to be yours wanted to connect to the published port %d", c.Port))
		reset(conn)
		return
	}
	saying.Add(1) // before the server hears of it: it may answer and end before this goes on
	far, _, err := dialLoopback(ctx, c.Dial, c.Port)
	if err != nil {
		saying.Add(-1)
		c.absent(conn)
		return
	}
	defer far.Close()
	defer context.AfterFunc(ctx, func() { far.Close() })()
	var refused atomic.Bool
	said := make(chan struct{})
	go func() {
		defer close(said)
		defer saying.Add(-1)
		_, _ = io.Copy(conn, far)
		if !refused.Load() {
			_ = conn.CloseWrite()
		}
	}()
	head, err := readHead(conn)
	if err != nil {
		refused.Store(true)
		far.Close()
		<-said
		c.refuse(conn, err)
		return
	}
	pass(far, conn, head)
	<-said
}

// refuse tells a browser why, where it is known.
func (c *PublishConfig) refuse(conn *net.TCPConn, err error) {
	var foreign *hostError
	if !errors.As(err, &foreign) {
		return
	}
	c.Refused(fmt.Sprintf("a request for %s came to the published port %d", foreign.shown(), c.Port))
	answer(conn, "403 Forbidden", "host", fmt.Sprintf("carrel: this request is for %s, and a published port answers to localhost, 127.0.0.1 and [::1] only\n"+
		"hint: open http://localhost:%d/ in the browser\n", foreign.shown(), addrPort(conn.LocalAddr()).Port()))
}

// absentTime is how long a client may take to say what it wants of a server that
// is not there.
const absentTime = 2 * time.Second

// absent tells a browser that nobody listens inside; others see a reset.
func (c *PublishConfig) absent(conn *net.TCPConn) {
	_ = conn.SetReadDeadline(time.Now().Add(absentTime))
	head, err := readHead(conn)
	switch {
	case err == nil && looksHTTP(head):
		answer(conn, "502 Bad Gateway", "", fmt.Sprintf("carrel: nothing listens on port %d inside the workspace\nhint: start the server there, on localhost\n", c.Port))
	case err != nil:
		c.refuse(conn, err)
	default:
		reset(conn)
	}
}
