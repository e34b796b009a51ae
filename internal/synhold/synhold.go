// Package synhold keeps TCP connections inside a workspace waiting until their far side outside
// has been reached. The kernel answers the first packet of a connection (SYN) for a listener at
// once. So a program sees a server that is up where there is none. A listener that is held drops
// that packet; a packet socket on the loopback interface sees it too. The caller, who reaches
// the far side, has it delivered again, or refused as the network would refuse it. See
// packet(7), and SO_ATTACH_FILTER in socket(7).
//
// It imports nothing: what a connection leads to is the caller's matter.
package synhold

import (
	"net"
	"net/netip"
	"sync"
	"time"
)

// Answer is what a program is told that wants to connect.
type Answer uint8

// The answers.
const (
	Accepted    Answer = iota // the connection comes to the listener
	Refused                   // no program listens there (ECONNREFUSED)
	Unreachable               // the host is not reached (EHOSTUNREACH)
)

// Ends are the two ends of a connection inside: From is the program's.
type Ends struct{ From, To netip.AddrPort }

// EndsOf gives the ends of a connection that a listener inside has accepted.
func EndsOf(c net.Conn) Ends {
	return Ends{From: addrPort(c.RemoteAddr()), To: addrPort(c.LocalAddr())}
}

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// arrivalTime is how long a connection to the far side waits for the program's own to be
// accepted, which takes no time unless the program has gone.
const arrivalTime = 10 * time.Second

// Arrivals keep what was reached outside until the connection inside is accepted. The zero
// value is ready.
type Arrivals[T any] struct {
	mu   sync.Mutex
	here map[Ends]*arrival[T]
}

type arrival[T any] struct {
	what  T
	timer *time.Timer
}

// Put keeps what was reached; drop lets go of it where it is not taken in time.
func (a *Arrivals[T]) Put(e Ends, what T, drop func(T)) {
	n := &arrival[T]{what: what}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.here == nil {
		a.here = make(map[Ends]*arrival[T])
	}
	if old := a.here[e]; old != nil { // where its time is over it is still here to be let go of
		old.timer.Stop()
		defer drop(old.what)
	}
	a.here[e] = n
	n.timer = time.AfterFunc(arrivalTime, func() {
		a.mu.Lock()
		mine := a.here[e] == n
		if mine {
			delete(a.here, e)
		}
		a.mu.Unlock()
		if mine {
			drop(what)
		}
	})
}

// Take gives what was reached for a connection, once.
func (a *Arrivals[T]) Take(e Ends) (what T, ok bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := a.here[e]
	if n == nil {
		return what, false
	}
	delete(a.here, e)
	n.timer.Stop()
	return n.what, true
}
