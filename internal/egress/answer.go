package egress

import (
	"errors"
	"syscall"
	"time"

	"carrel/internal/policy"
	"carrel/internal/synhold"
)

// arrival is a far side that was reached before its connection inside was accepted.
type arrival struct {
	grant grant
	route *route
}

// Answer answers for a connection inside to an address of the pool that is not accepted
// yet: it is once the far side is reached, and fails where that fails. What is refused, or
// put before a person, is accepted: there is something to say, or to wait for.
func (e *Engine) Answer(ends synhold.Ends) synhold.Answer {
	name, ok := e.pool.name(ends.To.Addr())
	if !ok || !e.enter() {
		return synhold.Accepted
	}
	defer e.running.Done()
	t := policy.Target{Host: name, Port: ends.To.Port()}
	if !e.rules.Load().Decide(t).Allowed() || e.conns.Load() >= e.most {
		return synhold.Accepted
	}
	a := attempt{rec: Attempt{Time: time.Now(), Protocol: "tcp"}}
	a.to(t)
	g, err := e.decide(e.ctx, t)
	if err != nil {
		return synhold.Accepted
	}
	a.granted(g)
	e.conns.Add(1)
	r, err := e.reach(e.ctx, g, false)
	e.conns.Add(-1)
	var not *refusal
	switch {
	case err == nil:
		e.arrived.Put(ends, arrival{g, r}, func(a arrival) { e.release(a.route.Conn) })
		return synhold.Accepted
	case errors.As(err, &not):
		return synhold.Accepted
	}
	if e.cfg.Owner != nil {
		a.rec.PID, a.rec.Process = e.cfg.Owner(ends.To, ends.From)
	}
	a.tell(e, err)
	if errors.Is(err, syscall.ECONNREFUSED) {
		return synhold.Refused
	}
	return synhold.Unreachable
}
