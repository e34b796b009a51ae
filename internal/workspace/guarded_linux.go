package workspace

import (
	"fmt"
	"time"

	"carrel/internal/broker"
	"carrel/internal/history"
)

// window is how long what a step destroyed still counts after it: where a step
// ends is up to the command, and must not begin its bounds anew.
const window = 10 * time.Minute

// ledger is what the steps of a run that are over have destroyed lately.
type ledger []entry

type entry struct {
	at    time.Time
	tally history.Tally
}

// add takes what a step has destroyed; what comes within a second is one entry.
func (l *ledger) add(t history.Tally, now time.Time) {
	*l = l.lately(now)
	if n := len(*l); n > 0 && now.Sub((*l)[n-1].at) < time.Second {
		(*l)[n-1].tally = (*l)[n-1].tally.Plus(t)
		return
	}
	if t != (history.Tally{}) {
		*l = append(*l, entry{now, t})
	}
}

func (l ledger) lately(now time.Time) ledger {
	for len(l) > 0 && now.Sub(l[0].at) > window {
		l = l[1:]
	}
	return l
}

func (l ledger) sum(now time.Time) (t history.Tally) {
	for _, e := range l.lately(now) {
		t = t.Plus(e.tally)
	}
	return t
}

// guarded holds a change to the bounds of its run. The lock of the gate is held.
func (k *keeper) guarded(ch *broker.Change, c *history.Change) error {
	if at, why := k.bounds.alwaysAsked(ch); at != "" {
		if err := k.guard.ask(ch, at, "safeguards.always_ask: "+why); err != nil {
			return err
		}
	}
	if !c.Destroys {
		return nil
	}
	k.mu.Lock()
	why := k.bounds.passed(k.writer.Tally().Plus(k.past.sum(time.Now())))
	first, refused, step := k.told != k.step, k.refused == k.step, k.step
	if why != "" {
		k.told = k.step
	}
	k.mu.Unlock()
	switch {
	case why == "":
		return nil
	case refused:
		return &heldError{ch.Path, why + ", and no more was allowed in this step"}
	case !first:
		return nil // the step has been spoken of
	case !k.bounds.ask:
		k.guard.tell(fmt.Sprintf("step %d: %s", step, why))
		return nil
	}
	err := k.guard.ask(ch, ch.Path, why)
	if err != nil {
		k.mu.Lock()
		k.refused = step
		k.mu.Unlock()
	}
	return err
}

// counted takes over what a step that ends has destroyed. What somebody was told
// of, or allowed, begins anew; the lock is held.
func (k *keeper) counted() {
	if k.told == k.step && k.refused != k.step {
		k.past = nil
		return
	}
	k.past.add(k.writer.Tally(), time.Now())
}
