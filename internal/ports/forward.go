package ports

import (
	"context"
	"net"
	"net/netip"
	"time"

	"carrel/internal/synhold"
)

// ForwardConfig describes one port of the host that is reached inside.
type ForwardConfig struct {
	Listeners []net.Listener // inside, of both families
	Port      uint16         // of the host
	Dial      Dial           // outside
	Carried   func(Carried)  // told of each connection at its end; may be nil
	// Owner says who made a connection; local is our end. It may be nil.
	Owner func(local, remote netip.AddrPort) (pid int, name string)
}

// Forward carries connections out of a workspace.
type Forward struct {
	*relay
	c       ForwardConfig
	arrived synhold.Arrivals[reached]
}

// reached is a connection to the port of the host, and where that is.
type reached struct {
	conn net.Conn
	to   netip.AddrPort
}

// Answer answers for a connection inside that is not accepted yet: it is where a program
// listens on the port of the host.
func (f *Forward) Answer(ends synhold.Ends) synhold.Answer {
	began := time.Now()
	conn, to, err := dialLoopback(f.ctx, f.c.Dial, f.c.Port)
	if err == nil {
		f.arrived.Put(ends, reached{conn, to}, func(r reached) { r.conn.Close() })
		return synhold.Accepted
	}
	done := Carried{Began: began, From: ends.From, To: to, Err: err}
	if f.c.Owner != nil {
		done.PID, done.Process = f.c.Owner(ends.To, ends.From)
	}
	if f.c.Carried != nil {
		f.c.Carried(done)
	}
	return synhold.Refused
}

func (f *Forward) arrivedOrDialled(ctx context.Context, near net.Conn) (net.Conn, netip.AddrPort, error) {
	if r, ok := f.arrived.Take(synhold.EndsOf(near)); ok {
		return r.conn, r.to, nil
	}
	return dialLoopback(ctx, f.c.Dial, f.c.Port)
}

// NewForward begins to accept.
func NewForward(c ForwardConfig) *Forward {
	f := &Forward{c: c}
	f.relay = newRelay(c.Listeners, func(ctx context.Context, conn *net.TCPConn) {
		done := Carried{Began: time.Now(), From: addrPort(conn.RemoteAddr())}
		known := make(chan struct{})
		go func() { // beside, as the search takes its time
			defer close(known)
			if c.Owner != nil {
				done.PID, done.Process = c.Owner(addrPort(conn.LocalAddr()), done.From)
			}
		}()
		far, to, err := f.arrivedOrDialled(ctx, conn)
		done.To, done.Err = to, err
		if err != nil {
			reset(conn)
		} else {
			defer far.Close()
			stop := context.AfterFunc(ctx, func() { far.Close() })
			done.Sent, done.Received = exchange(conn, far)
			stop()
		}
		<-known
		if c.Carried != nil {
			c.Carried(done)
		}
	})
	return f
}
