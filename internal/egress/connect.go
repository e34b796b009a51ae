package egress

import (
	"context"
	"errors"
	"strings"

	"carrel/internal/policy"
	"carrel/internal/synhold"
)

// voice is how a protocol says yes and no to a connection. A protocol without
// words has neither: its client is connected already.
type voice struct {
	yes func() error
	no  func(error)
}

// carry takes a connection to a target: decided, reached, answered, copied.
func (c *client) carry(protocol string, t policy.Target, v voice) {
	a := c.begin(protocol, t)
	var g grant
	var r *route
	err := c.while(func(ctx context.Context) (err error) {
		if was, ok := c.e.arrived.Take(synhold.EndsOf(c.Conn)); ok {
			g, r = was.grant, was.route
			a.granted(g)
		} else {
			if g, err = c.e.decide(ctx, t); err != nil {
				return err
			}
			a.granted(g)
			if r, err = c.e.reach(ctx, g, false); err != nil {
				return err
			}
		}
		if err = g.still(c.e.rules.Load(), r.addr.Addr()); err != nil { // the rules changed meanwhile
			c.e.release(r.Conn)
		}
		return err
	})
	var not *refusal
	switch {
	case errors.As(err, &not) && not.plainOnly():
		c.plainOnly(a, g, not, v)
	case err != nil:
		a.end(err)
		v.no(err)
	default:
		a.leads(r)
		if err := v.yes(); err != nil {
			c.e.release(r.Conn)
			a.end(&failure{code: CodeGone, err: err})
			return
		}
		c.tunnel(a, g, r)
	}
}

// plainOnly tells whether requests in plain HTTP might be let through where a
// connection of which nothing is known is not.
func (r *refusal) plainOnly() bool {
	return r.code == CodeMethod || r.code == CodeDenied && r.rule != nil && strings.Contains(r.rule.V, "http://")
}

// plainOnly carries a connection whose rules list nothing but plain HTTP
// requests: yes has to be said before they are seen.
func (c *client) plainOnly(a *attempt, g grant, not *refusal, v voice) {
	if err := v.yes(); err != nil {
		a.end(&failure{code: CodeGone, err: err})
		return
	}
	c.within(c.e.patience)
	if _, err := c.br.Peek(1); err != nil {
		a.end(not)
		return
	}
	o, err := c.opening()
	switch {
	case err != nil:
		a.end(&failure{code: CodeGone, err: err})
	case o.kind == plainHTTP:
		c.serveHTTP(&origin{grant: g, opening: o.text})
	default:
		a.end(not)
		if o.kind == hello {
			c.farewell(tlsAlert)
			return
		}
		reset(c.Conn)
	}
}
