package egress

import (
	"context"
	"errors"
	"net/http"

	"carrel/internal/policy"
)

// origin is a connection that leads to one host and began with HTTP: each
// request has to be for that host.
type origin struct {
	grant   grant
	via     *route // nil: only requests decide whether it is reached
	opening []byte // of what the client said
}

// conversation is the plain HTTP of one client: one request after the other,
// each decided by itself.
type conversation struct {
	c   *client
	at  *policy.Target // where all requests lead; nil: each says
	far *farSide       // of the request before, nil for none
}

// serveHTTP answers requests until one ends the connection.
func (c *client) serveHTTP(o *origin) {
	h := &conversation{c: c}
	defer h.hangUp()
	if o != nil {
		h.at = &policy.Target{Host: o.grant.target.Host, Port: o.grant.target.Port}
		c.unread(o.opening)
		if o.via != nil {
			h.far = newFarSide(o.via, place{h.at.Host, h.at.Port})
		}
	}
	for {
		r, err := h.next()
		var not *refusal
		switch {
		case errors.As(err, &not):
			a := c.begin("http", policy.Target{})
			if h.at != nil {
				a.to(*h.at)
			}
			a.end(not)
			c.farewell(answer(a.rec.Host, not))
			return
		case err != nil:
			return
		case r.method == http.MethodConnect:
			c.carry("connect", r.target, voice{
				yes: func() error { return c.say([]byte("HTTP/1.1 200 Connection established\r\n\r\n")) },
				no:  func(err error) { c.farewell(answer(r.target.Host, err)) },
			})
			return
		}
		if !h.exchange(r) {
			return
		}
	}
}

// next reads a request. An error that is no refusal means that there is none.
func (h *conversation) next() (*request, error) {
	h.c.within(idleLimit)
	if _, err := h.c.br.Peek(1); err != nil {
		return nil, err
	}
	h.c.within(h.c.e.patience)
	defer h.c.within(0)
	head, err := readHead(h.c.br, maxHead)
	if err != nil {
		return nil, err
	}
	return parseRequest(head, h.at)
}

// exchange carries one request and its answer; again says that the connection
// can be used for another.
func (h *conversation) exchange(r *request) (again bool) {
	a := h.c.begin("http", r.target)
	var g grant
	err := h.c.while(func(ctx context.Context) (err error) {
		if g, err = h.decide(ctx, r); err != nil {
			return err
		}
		a.granted(g)
		return h.connect(ctx, g)
	})
	if err != nil {
		a.end(err)
		h.c.farewell(answer(r.target.Host, err))
		return false
	}
	a.leads(h.far.route)
	r.target.Host = g.target.Host
	t := &talk{h: h, r: r, far: h.far}
	u, err := h.c.e.using(g, h.far.addr.Addr(), t.cut)
	if err != nil {
		a.end(err)
		h.c.farewell(answer(r.target.Host, err))
		return false
	}
	again, err = t.run()
	h.c.e.forget(u)
	a.rec.Sent, a.rec.Received = t.sent, t.received
	a.end(h.c.e.ending(u, err))
	if t.parting {
		h.c.farewell(t.last)
	}
	return again
}

// decide decides on a request, which has to be for the host that the
// connection leads to.
func (h *conversation) decide(ctx context.Context, r *request) (grant, error) {
	if h.at != nil {
		host, err := h.c.e.canonical(r.target.Host)
		if err != nil {
			return grant{}, err
		}
		if host != h.at.Host || r.target.Port != h.at.Port {
			return grant{}, &refusal{code: CodeName, host: h.at.Host,
				reason: "the connection is to " + hostPort(h.at.Host, h.at.Port) + ", and the request names " + shorten(hostPort(r.target.Host, r.target.Port))}
		}
	}
	return h.c.e.decide(ctx, r.target)
}

// connect has the far side be where the grant leads: the one of the request
// before, if it is that and allowed for this one too, or a new one.
func (h *conversation) connect(ctx context.Context, g grant) error {
	if f := h.far; f != nil {
		if f.to == (place{g.target.Host, g.target.Port}) && f.br.Buffered() == 0 && alive(f.Conn) {
			if !f.addr.IsValid() {
				return nil
			}
			return g.address(f.addr.Addr())
		}
		h.hangUp()
	}
	r, err := h.c.e.reach(ctx, g, true)
	if err != nil {
		return err
	}
	h.far = newFarSide(r, place{g.target.Host, g.target.Port})
	return nil
}

func (h *conversation) hangUp() {
	if h.far != nil {
		h.c.e.release(h.far.Conn)
		h.far = nil
	}
}
