package ports

import (
	"context"
	"net"
	"net/netip"
	"time"
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
type Forward struct{ *relay }

// NewForward begins to accept.
func NewForward(c ForwardConfig) *Forward {
	f := &Forward{}
	f.relay = newRelay(c.Listeners, func(ctx context.Context, conn *net.TCPConn) {
		done := Carried{Began: time.Now(), From: addrPort(conn.RemoteAddr())}
		known := make(chan struct{})
		go func() { // beside, as the search takes its time
			defer close(known)
			if c.Owner != nil {
				done.PID, done.Process = c.Owner(addrPort(conn.LocalAddr()), done.From)
			}
		}()
		far, to, err := dialLoopback(ctx, c.Dial, c.Port)
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
