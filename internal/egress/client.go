package egress

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"sync"
	"time"

	"carrel/internal/policy"
)

// client is a connection from inside. One goroutine reads it at a time.
type client struct {
	net.Conn
	e     *Engine
	br    *bufio.Reader
	owner func() (int, string)
}

// readAhead is what a client may say before it was answered.
const readAhead = 4 << 10

func (e *Engine) newClient(conn net.Conn) *client {
	c := &client{Conn: conn, e: e, br: bufio.NewReaderSize(conn, readAhead)}
	if e.cfg.Owner == nil {
		c.owner = func() (int, string) { return 0, "" }
		return c
	}
	local, remote := addrPort(conn.LocalAddr()), addrPort(conn.RemoteAddr())
	c.owner = sync.OnceValues(func() (int, string) { return e.cfg.Owner(local, remote) })
	go c.owner() // now, while the program is still there
	return c
}

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// while runs fn with a context that ends when the client goes away. A client
// that closes only its sending half before it was answered counts as gone.
func (c *client) while(fn func(ctx context.Context) error) error {
	ctx, cancel := context.WithCancel(c.e.ctx)
	defer cancel()
	stop := c.watch(cancel)
	defer stop()
	return fn(ctx)
}

// unread puts back what was read. All that was read ahead is in the buffer
// afterwards, so that what follows can be read from the connection itself.
func (c *client) unread(b []byte) {
	ahead, _ := c.br.Peek(c.br.Buffered())
	b = append(b[:len(b):len(b)], ahead...)
	c.br = bufio.NewReaderSize(io.MultiReader(bytes.NewReader(b), c.Conn), max(readAhead, len(b)))
	_, _ = c.br.Peek(len(b))
}

// insist sets deadlines until done: a copy that is under way sets its own.
func insist(done <-chan struct{}, set func()) {
	for {
		set()
		select {
		case <-done:
			return
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// watch calls gone when the client goes away, until stop.
func (c *client) watch(gone func()) (stop func()) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		c.lookout(gone)
	}()
	return func() {
		c.within(-1)
		<-over
		c.within(0)
	}
}

// lookout reads ahead until the client goes away, has sent much, or a deadline
// passes. What the client sends stays to be read.
func (c *client) lookout(gone func()) {
	for c.br.Buffered() < c.br.Size() {
		if _, err := c.br.Peek(c.br.Buffered() + 1); err != nil {
			if !isTimeout(err) {
				gone()
			}
			return
		}
	}
}

// within sets how long reading may take from now; 0: for ever.
func (c *client) within(d time.Duration) {
	var t time.Time
	if d != 0 {
		t = time.Now().Add(d)
	}
	_ = c.SetReadDeadline(t)
}

// say writes something small. A client that does not read is not waited for.
func (c *client) say(b []byte) error {
	_ = c.SetWriteDeadline(time.Now().Add(headTimeout))
	_, err := c.Write(b)
	_ = c.SetWriteDeadline(time.Time{})
	return err
}

// farewell says the last thing and lets it arrive: a connection that is closed
// while something is unread takes back what was said.
func (c *client) farewell(b []byte) {
	if c.say(b) != nil {
		return
	}
	closeWrite(c.Conn)
	c.within(2 * time.Second)
	_, _ = c.br.Discard(c.br.Buffered())
	var waste [4 << 10]byte
	for left := 1 << 20; left > 0; {
		n, err := c.Read(waste[:])
		if err != nil {
			return
		}
		left -= n
	}
}

func closeWrite(c net.Conn) {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		_ = h.CloseWrite()
		return
	}
	_ = c.Close()
}

// attempt is an [Attempt] that is not over.
type attempt struct {
	c   *client
	rec Attempt
}

func (c *client) begin(protocol string, t policy.Target) *attempt {
	a := &attempt{c: c, rec: Attempt{Time: time.Now(), Protocol: protocol}}
	a.to(t)
	return a
}

func (a *attempt) to(t policy.Target) {
	a.rec.Host, a.rec.Port, a.rec.Method = shorten(t.Host), t.Port, shorten(t.Method)
}

func (a *attempt) granted(g grant) {
	a.to(g.target)
	a.rec.Code = g.code()
	a.by(g.rule)
}

func (a *attempt) by(rule *policy.Value[string]) {
	a.rec.Rule, a.rec.RuleSource = "", ""
	if rule != nil {
		a.rec.Rule, a.rec.RuleSource = rule.V, rule.Source.String()
	}
}

func (a *attempt) leads(r *route) {
	a.rec.Delegated = r.delegated
	if r.addr.IsValid() {
		a.rec.Address = r.addr.Addr().String()
	}
}

// end tells how it ended; nil: as it should.
func (a *attempt) end(err error) {
	a.rec.PID, a.rec.Process = a.c.owner()
	a.tell(a.c.e, err)
}

func (a *attempt) tell(e *Engine, err error) {
	var r *refusal
	var f *failure
	switch {
	case err == nil:
		a.rec.Decision = Allowed
	case errors.As(err, &r):
		a.rec.Decision, a.rec.Code, a.rec.Reason, a.rec.Hint = Refused, r.code, r.reason, r.hint
		a.by(r.rule)
		if a.rec.Host == "" {
			a.rec.Host = r.host
		}
	case errors.As(err, &f):
		a.rec.Decision, a.rec.Code, a.rec.Reason = Failed, f.code, f.Error()
	default:
		a.rec.Decision, a.rec.Code, a.rec.Reason = Failed, CodeBroken, err.Error()
	}
	a.rec.Duration = time.Since(a.rec.Time)
	e.cfg.Attempt(a.rec)
}
