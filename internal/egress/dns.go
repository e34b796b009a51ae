package egress

import (
	"encoding/binary"
	"io"
	"net"
	"sync"
	"time"

	"carrel/internal/policy"
)

const (
	maxDNSAtOnce = 256 // questions over UDP that are being answered; more are dropped, as networks do
	dnsIdle      = 10 * time.Second
)

// ServeDNS answers names on a UDP socket and a TCP listener, either of which
// may be nil, until they or the engine are closed. It closes both.
func (e *Engine) ServeDNS(udp net.PacketConn, tcp net.Listener) error {
	over := make(chan error, 2)
	go func() { over <- e.serveUDP(udp) }()
	go func() { over <- e.serveTCP(tcp) }()
	first := <-over
	if second := <-over; first == nil {
		first = second
	}
	return first
}

func (e *Engine) serveTCP(l net.Listener) error {
	if l == nil {
		return nil
	}
	return e.serve(l, (*client).dns)
}

func (e *Engine) serveUDP(c net.PacketConn) error {
	if c == nil {
		return nil
	}
	if !e.hold(c) {
		return nil
	}
	defer e.release(c)
	turns := make(chan struct{}, maxDNSAtOnce)
	var packet [4 << 10]byte
	for {
		n, from, err := c.ReadFrom(packet[:])
		switch {
		case closedErr(err):
			return nil
		case err != nil:
			time.Sleep(time.Millisecond) // an error of an answer before, or of this moment
			continue
		}
		q := append([]byte(nil), packet[:n]...)
		select {
		case turns <- struct{}{}:
		default:
			continue
		}
		if !e.enter() {
			return nil
		}
		go func() {
			defer e.running.Done()
			if r := e.answerDNS(q); r != nil {
				_, _ = c.WriteTo(r, from)
			}
			<-turns
		}()
	}
}

// dns answers questions over TCP, each behind its length.
func (c *client) dns() {
	for {
		c.within(dnsIdle)
		var length [2]byte
		if _, err := io.ReadFull(c.br, length[:]); err != nil {
			return
		}
		q := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(c.br, q); err != nil {
			return
		}
		r := c.e.answerDNS(q)
		if r == nil || c.say(append(binary.BigEndian.AppendUint16(nil, uint16(len(r))), r...)) != nil {
			return
		}
	}
}

// mayResolve tells whether a name gets an address: a rule could let it be
// reached, or a person could.
func (e *Engine) mayResolve(rules *policy.HostRules, name string) bool {
	return rules.MayResolve(name) || e.cfg.Ask != nil && rules.MayAsk(name)
}

// recent keeps a question that is repeated, as resolvers do for each family of
// addresses and after each refusal, from being told again at once.
type recent struct {
	mu   sync.Mutex
	seen map[string]time.Time
}

const (
	maxRecent = 1024
	recently  = 5 * time.Second
)

// first tells whether the name was not seen recently.
func (r *recent) first(name string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	now := time.Now()
	if now.Sub(r.seen[name]) < recently {
		return false
	}
	if r.seen == nil || len(r.seen) >= maxRecent {
		r.seen = make(map[string]time.Time)
	}
	r.seen[name] = now
	return true
}
