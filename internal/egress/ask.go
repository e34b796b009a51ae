package egress

import (
	"context"
	"errors"
	"sync"

	"carrel/internal/policy"
)

// asks holds the questions that wait for a person, one for a host and port,
// and the answers that last.
type asks struct {
	ctx context.Context // the engine's
	put func(context.Context, policy.Target) Answer

	mu      sync.Mutex
	granted map[place]bool
	open    map[place]*question
}

// place is what a question is about: methods and paths are not asked for.
type place struct {
	host string
	port uint16
}

type question struct {
	done    chan struct{}
	answer  Answer // once done is closed
	waiting int
	drop    context.CancelFunc
}

var errAsking = errors.New("the program gave up before anybody answered")

// ask waits for the answer to t. The error tells that ctx ended first, or that
// too many questions wait.
func (a *asks) ask(ctx context.Context, t policy.Target) (bool, error) {
	p := place{t.Host, t.Port}
	q, err := a.join(p, t)
	if q == nil {
		return err == nil, err
	}
	defer a.leave(p, q)
	select {
	case <-q.done:
		return q.answer != No, nil
	case <-ctx.Done():
		return false, &failure{code: CodeGone, err: errAsking}
	}
}

// join finds or opens the question about p; with neither question nor error
// it was granted before.
func (a *asks) join(p place, t policy.Target) (*question, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.granted[p] {
		return nil, nil
	}
	q := a.open[p]
	if q == nil {
		if len(a.open) >= maxQuestions {
			return nil, &refusal{code: CodeBusy, host: t.Host, reason: "too many other hosts wait for an answer"}
		}
		ctx, drop := context.WithTimeout(a.ctx, askLimit)
		q = &question{done: make(chan struct{}), drop: drop}
		a.open[p] = q
		go a.pose(ctx, p, q, policy.Target{Host: t.Host, Port: t.Port})
	}
	q.waiting++
	return q, nil
}

// pose asks, and gives the answer to all who wait.
func (a *asks) pose(ctx context.Context, p place, q *question, t policy.Target) {
	answer := a.put(ctx, t)
	if ctx.Err() != nil {
		answer = No
	}
	q.drop()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[p] == q {
		delete(a.open, p)
	}
	if answer == Always {
		a.granted[p] = true
	}
	q.answer = answer
	close(q.done)
}

// leave takes one waiter away; a question that nobody waits for is withdrawn.
func (a *asks) leave(p place, q *question) {
	a.mu.Lock()
	defer a.mu.Unlock()
	q.waiting--
	if q.waiting > 0 {
		return
	}
	q.drop()
	if a.open[p] == q {
		delete(a.open, p)
	}
}
