package xfilter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Buffers of one direction: as small as a quiet program needs, and larger as
// soon as one was full.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
)

// conn is one client's connection. What a request is decided by is touched by
// the goroutine that reads requests alone, unless a comment says otherwise.
type conn struct {
	filter *Filter
	inside net.Conn
	client Client // its ids are set before requests are read
	root   uint32
	order  order
	facts  *facts

	nested   map[uint32]bool // windows of this client in those of others
	requests requests
	answers  answers

	holds atomic.Pointer[string] // what it has that ends when the workspace is not active any more

	grabUntil time.Time     // of grabs, under its lock
	grabLeft  time.Duration // of grabs, under its lock

	mu      sync.Mutex
	outside net.Conn
	ended   bool
	told    map[string]*tally
	failure error
}

// tally counts what was refused since it was last told.
type tally struct {
	at time.Time
	n  int
}

// carry lets the client in and copies until one side ends.
func (c *conn) carry(ctx context.Context) error {
	c.inside.SetDeadline(time.Now().Add(offerTime))
	o, err := readOffer(c.inside)
	c.order = o.order
	if errors.Is(err, errOffer) {
		c.turnAway(err.Error())
	}
	if err != nil {
		return err
	}
	if !o.shows(c.filter.cfg.Cookie) {
		c.turnAway("Authorization required: the cookie is not this display's")
		return errors.New("a client without this display's cookie")
	}
	answer, err := c.connect(ctx, o.order)
	c.inside.SetDeadline(time.Now().Add(offerTime))
	if err != nil {
		c.turnAway("the display could not be reached")
		return fmt.Errorf("connect to the X server: %w", err)
	}
	if _, err := c.inside.Write(answer); err != nil {
		return nil // it has left
	}
	c.inside.SetDeadline(time.Time{})
	return c.copy()
}

// turnAway writes a refusal that Xlib shows.
func (c *conn) turnAway(reason string) {
	c.inside.Write(refusal(c.order, reason)) // whoever left does not hear it
}

// connect is the setup with the real server, in the client's byte order.
func (c *conn) connect(ctx context.Context, o order) (answer []byte, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	outside, cookie, err := c.filter.cfg.Dial(ctx)
	if err != nil {
		return nil, err
	}
	if !c.attach(outside) {
		outside.Close()
		return nil, net.ErrClosed
	}
	outside.SetDeadline(time.Now().Add(patience))
	mine := offer{order: o, name: cookieName, data: cookie}
	if _, err := outside.Write(mine.request()); err != nil {
		return nil, err
	}
	w, answer, err := readWelcome(outside, o)
	if err != nil {
		return nil, err
	}
	if c.facts, err = c.filter.know(ctx); err != nil {
		return nil, err
	}
	outside.SetDeadline(time.Time{})
	c.filter.admit(c, w)
	return answer, nil
}

// attach notes the server's end, unless the connection was closed meanwhile.
func (c *conn) attach(outside net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended {
		return false
	}
	c.outside = outside
	return true
}

// copy carries both directions.
func (c *conn) copy() error {
	c.requests = requests{order: c.order, rule: c.rule, decide: c.decide, bigOp: c.facts.bigOp}
	back := make(chan struct{})
	go func() {
		defer close(back)
		c.fromServer()
		c.close()
	}()
	err := c.fromClient()
	if err == nil { // it has left: what it has sent is still carried out
		if half, ok := c.outside.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
			c.outside.SetReadDeadline(time.Now().Add(endTime))
			<-back
		}
	}
	c.close()
	<-back
	c.tellRest()
	c.mu.Lock()
	defer c.mu.Unlock()
	return errors.Join(err, c.failure)
}

// fromClient carries requests until the client leaves, which is no error.
func (c *conn) fromClient() error {
	buf := make([]byte, smallBuffer)
	have := 0
	for {
		n, err := c.inside.Read(buf[have:])
		have += n
		used, wrong := c.requests.pass(buf[:have])
		if used > 0 {
			if _, err := c.outside.Write(buf[:used]); err != nil {
				return nil // the server, or this connection, has ended
			}
		}
		switch {
		case wrong != nil:
			return wrong
		case err != nil, c.broken() != nil:
			return nil
		}
		full := have == len(buf)
		have = copy(buf, buf[used:have])
		if full && len(buf) < largeBuffer {
			buf = append(buf[:have], make([]byte, largeBuffer-have)...)
		}
	}
}

// fromServer carries messages until one side ends. A client that is gone is read
// for, so that the server is never held up by it.
func (c *conn) fromServer() {
	m := messages{order: c.order, look: c.message}
	buf := make([]byte, smallBuffer)
	have, gone := 0, false
	for {
		n, err := c.outside.Read(buf[have:])
		have += n
		kept, used := m.pass(buf[:have])
		if kept > 0 && !gone {
			_, wrong := c.inside.Write(buf[:kept])
			gone = wrong != nil
		}
		if err != nil {
			return
		}
		full := have == len(buf)
		have = copy(buf, buf[used:have])
		if full && len(buf) < largeBuffer {
			buf = append(buf[:have], make([]byte, largeBuffer-have)...)
		}
	}
}

// rule gives what a request is decided by.
func (c *conn) rule(major, minor byte) *rule {
	if major < 128 {
		return coreRules[major]
	}
	e := c.facts.ext[major-128]
	if e == nil {
		return hidden
	}
	return e.rule(minor)
}

// decide asks a rule and changes the request accordingly.
func (c *conn) decide(l *rule, r request) {
	v := refuse
	if r.size >= l.least {
		v = l.check(c, r)
	}
	switch v {
	case pass:
		return
	case quieten:
		c.expect(answer{seq: c.requests.seq, quiet: true})
		return
	case shorten:
		c.expect(answer{seq: c.requests.seq, list: true})
		return
	case refuse:
		minor := r.minor()
		if r.major() < 128 {
			minor = 0
		}
		c.expect(answer{seq: c.requests.seq, major: r.major(), minor: minor})
		r.setMajor(opNone)
	case ignore:
		r.setMajor(opNoOp)
	}
	c.tell(l.name)
}

func (c *conn) expect(n answer) {
	if err := c.answers.expect(n); err != nil {
		c.mu.Lock()
		c.failure = err
		c.mu.Unlock()
		c.close()
	}
}

// message decides what becomes of one that the server sends.
func (c *conn) message(m []byte) fate {
	if m[0] > msgReply {
		if c.filter.active.Load() {
			return keep
		}
		return c.heard(m)
	}
	a, ok := c.answers.take(c.order.u16(m[2:]))
	switch {
	case !ok:
	case a.list && m[0] == msgReply:
		return list
	case a.list:
	case a.quiet && m[0] == msgReply && !c.filter.active.Load():
		return blank
	case !a.quiet && m[0] == msgError && m[1] == badRequest:
		m[1] = badAccess
		c.order.put32(m[4:], 0)
		c.order.put16(m[8:], uint16(a.minor))
		m[10] = a.major
	}
	return keep
}

// owns says whether a resource is this client's.
func (c *conn) owns(id uint32) bool { return c.client.Owns(id) }

// unlessActive lets pass while the workspace is active.
func (c *conn) unlessActive(otherwise verdict) verdict {
	if c.filter.active.Load() {
		return pass
	}
	return otherwise
}

var othersInput = "a grab or an ear on another client's window"

// hold lets pass, while the workspace is active, what has to end with that. The
// order matters: SetActive looks at what is held after it has changed the mode.
func (c *conn) hold() verdict {
	if !c.filter.active.Load() {
		return refuse
	}
	c.holds.Store(&othersInput)
	return c.unlessActive(refuse)
}

// grabServer is the same for the whole server. It is let pass in silence at
// other times, as toolkits do it in passing.
func (c *conn) grabServer() verdict {
	if !c.filter.active.Load() {
		return ignore
	}
	c.filter.grabs.begin(c)
	if !c.filter.active.Load() {
		c.filter.grabs.end(c)
		return ignore
	}
	return pass
}

func (c *conn) ungrabServer() { c.filter.grabs.end(c) }

// end disconnects the client for something. It may be called by anybody, and
// does not wait.
func (c *conn) end(what string) {
	c.close()
	go c.filter.cfg.Refused(Refusal{Client: c.client, What: what, Times: 1, Ended: true})
}

func (c *conn) broken() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// close ends both directions. It may be called by anybody, more than once.
func (c *conn) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
	c.inside.Close()
	if c.outside != nil {
		c.outside.Close()
	}
}

// tell counts a refusal and tells it unless the same was told within a second.
func (c *conn) tell(what string) {
	c.mu.Lock()
	if c.told == nil {
		c.told = make(map[string]*tally)
	}
	t := c.told[what]
	if t == nil {
		t = &tally{}
		c.told[what] = t
	}
	t.n++
	n := t.n
	now := time.Now()
	quiet := now.Sub(t.at) < time.Second
	if !quiet {
		t.at, t.n = now, 0
	}
	c.mu.Unlock()
	if !quiet {
		c.filter.cfg.Refused(Refusal{Client: c.client, What: what, Times: n})
	}
}

// tellRest tells at the end what has been counted and not told.
func (c *conn) tellRest() {
	c.mu.Lock()
	rest := c.told
	c.told = nil
	c.mu.Unlock()
	for what, t := range rest {
		if t.n > 0 {
			c.filter.cfg.Refused(Refusal{Client: c.client, What: what, Times: t.n})
		}
	}
}
