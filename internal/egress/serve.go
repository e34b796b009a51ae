package egress

import (
	"errors"
	"net"
	"time"

	"carrel/internal/policy"
)

// ServeProxy answers on the proxy's listener until it or the engine is closed:
// HTTP CONNECT, absolute-form HTTP and SOCKS5, told apart by their first byte.
// It closes the listener.
func (e *Engine) ServeProxy(l net.Listener) error { return e.serve(l, (*client).proxy) }

// serve hands each connection to a goroutine.
func (e *Engine) serve(l net.Listener, handle func(*client)) error {
	if !e.hold(l) {
		return nil
	}
	defer e.release(l)
	for pause := time.Millisecond; ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			pause = time.Millisecond
			e.start(conn, handle)
		case closedErr(err):
			return nil
		default: // out of descriptors, or a connection that ended before we took it
			time.Sleep(pause)
			pause = min(2*pause, time.Second)
		}
	}
}

func (e *Engine) start(conn net.Conn, handle func(*client)) {
	count := &e.conns
	if e.conns.Load() >= e.most {
		if count, handle = &e.refusing, (*client).busy; e.refusing.Load() >= maxRefusing {
			reset(conn)
			return
		}
	}
	if !e.enter() {
		reset(conn)
		return
	}
	count.Add(1)
	go func() {
		defer e.running.Done()
		defer count.Add(-1)
		if e.hold(conn) {
			defer e.release(conn)
			handle(e.newClient(conn))
		}
	}()
}

// proxy serves one connection to the proxy's address.
func (c *client) proxy() {
	c.within(idleLimit)
	first, err := c.br.Peek(1)
	if err != nil {
		return
	}
	c.within(c.e.patience)
	switch first[0] {
	case 5:
		c.socks5()
	case 4:
		c.begin("socks4", policy.Target{}).end(notCarried("SOCKS4 is not spoken here: use SOCKS5 or HTTP"))
		c.farewell([]byte{0, 91, 0, 0, 0, 0, 0, 0})
	case recordHandshake:
		c.begin("connect", policy.Target{}).end(notCarried("the proxy is http://, not https://"))
		c.farewell(tlsAlert)
	default:
		c.serveHTTP(nil)
	}
}

// busy refuses a connection that is one too many, in its own words.
func (c *client) busy() {
	r := &refusal{code: CodeBusy, reason: "too many connections are open in this workspace", hint: "close some, or try again"}
	c.begin("tcp", policy.Target{}).end(r)
	c.within(2 * time.Second)
	first, err := c.br.Peek(1)
	switch {
	case err != nil:
	case first[0] == 5:
		c.farewell([]byte{5, 255})
	case first[0] == recordHandshake:
		c.farewell(tlsAlert)
	default:
		c.farewell(answer("", r))
	}
}

// refuseInKind says no in the words of what the client said first, on a
// connection that has no proxy's words. One that says nothing is closed.
func (c *client) refuseInKind(host string, err error) {
	c.within(2 * time.Second)
	first, peek := c.br.Peek(1)
	kind := more
	for peek == nil && kind == more {
		if kind = look(first); kind == more {
			first, peek = c.br.Peek(len(first) + 1)
			first = first[:max(len(first), c.br.Buffered())]
		}
	}
	switch kind {
	case plainHTTP:
		c.farewell(answer(host, err))
	case hello:
		c.farewell(tlsAlert)
	default:
		reset(c.Conn)
	}
}

// gone tells whether err says that the client gave up.
func gone(err error) bool {
	var f *failure
	return errors.As(err, &f) && f.code == CodeGone
}
