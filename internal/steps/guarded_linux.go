package steps

import (
	"fmt"
	"sync"
	"time"

	"carrel/internal/broker"
	"carrel/internal/history"
)

// window is how long what a step destroyed still counts after it: where a step
// ends is up to the command, and must not begin its bounds anew.
const window = 10 * time.Minute

// ledger is what the steps of a run and its jobs that are over have destroyed
// lately.
type ledger struct {
	mu   sync.Mutex
	list []entry
}

type entry struct {
	at    time.Time
	tally history.Tally
}

// add takes what a step has destroyed; what comes within a second is one entry.
func (l *ledger) add(t history.Tally, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(now)
	if n := len(l.list); n > 0 && now.Sub(l.list[n-1].at) < time.Second {
		l.list[n-1].tally = l.list[n-1].tally.Plus(t)
		return
	}
	if t != (history.Tally{}) {
		l.list = append(l.list, entry{now, t})
	}
}

// drop forgets what no longer counts; the lock is held.
func (l *ledger) drop(now time.Time) {
	for len(l.list) > 0 && now.Sub(l.list[0].at) > window {
		l.list = l.list[1:]
	}
}

func (l *ledger) sum(now time.Time) (t history.Tally) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop(now)
	for _, e := range l.list {
		t = t.Plus(e.tally)
	}
	return t
}

func (l *ledger) clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.list = nil
}

// guarded holds a change to the bounds of its run. The lock of the gate is held.
func (l *line) guarded(ch *broker.Change, c *history.Change) error {
	if err := l.termed(ch); err != nil {
		return err
	}
	if at, why := l.bounds.alwaysAsked(ch); at != "" {
		if err := l.guard.ask(ch, at, "safeguards.always_ask: "+why); err != nil {
			return err
		}
	}
	if !c.Destroys {
		return nil
	}
	others := l.kin.beside(l)
	l.mu.Lock()
	why := l.bounds.passed(l.writer.Tally().Plus(others).Plus(l.past.sum(time.Now())))
	first, refused, step := l.told != l.step, l.refused == l.step, l.step
	if why != "" {
		l.told = l.step
	}
	l.mu.Unlock()
	switch {
	case why == "":
		return nil
	case refused:
		return &heldError{path: ch.Path, why: why + ", and no more was allowed in this step"}
	case !first:
		return nil // the step has been spoken of
	case !l.bounds.ask:
		l.guard.tell(fmt.Sprintf("step %d: %s; nothing was stopped", step, why))
		return nil
	}
	err := l.guard.ask(ch, ch.Path, why)
	if err != nil {
		l.mu.Lock()
		l.refused = step
		l.mu.Unlock()
	}
	return err
}

// counted takes over what a step that ends has destroyed. What somebody was told
// of, or allowed, begins anew; the lock is held.
func (l *line) counted() {
	if l.told == l.step && l.refused != l.step {
		l.past.clear()
		return
	}
	l.past.add(l.writer.Tally(), time.Now())
}
