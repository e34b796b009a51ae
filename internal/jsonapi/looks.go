package jsonapi

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"carrel/internal/op/historyop"
)

// maxAffected bounds the paths of one event.
const maxAffected = 1000

// maxLooks bounds the steps that are looked at by one call.
const maxLooks = 200

// maxRest bounds the time between two looks. It is as long as the last one took, so that
// no more than half of the time goes into them while commands end one after another.
const maxRest = 100 * time.Millisecond

// looks finds what steps of commands changed. Each look reads the whole history: of many
// commands that end at once, those that wait share one.
type looks struct {
	mu      sync.Mutex
	waiting []*look
	busy    bool // someone looks, and goes on until nothing waits
}

// finder says by step what steps changed.
type finder func(steps []uint64) map[uint64][]json.RawMessage

// look is one question and, once done is closed, its answer by step.
type look struct {
	steps []uint64
	done  chan struct{}
	paths map[uint64][]json.RawMessage
}

// paths are what steps changed. A step that was taken back meanwhile, or is told of no
// more, has nothing to tell.
func (l *looks) paths(find finder, steps []uint64) (all []json.RawMessage) {
	q := &look{steps: steps, done: make(chan struct{})}
	l.mu.Lock()
	l.waiting = append(l.waiting, q)
	if !l.busy {
		l.busy = true
		go l.answer(find) // its callers wait for it
	}
	l.mu.Unlock()
	<-q.done
	for _, number := range steps {
		all = append(all, q.paths[number]...)
	}
	return all
}

// answer looks for those that wait, as many at a time as fit.
func (l *looks) answer(find finder) {
	for {
		l.mu.Lock()
		count, some := 0, []uint64(nil)
		for count < len(l.waiting) && (count == 0 || len(some)+len(l.waiting[count].steps) <= maxLooks) {
			some = append(some, l.waiting[count].steps...)
			count++
		}
		now := l.waiting[:count:count]
		l.waiting = l.waiting[count:]
		if l.busy = count > 0; !l.busy {
			l.waiting = nil
		}
		l.mu.Unlock()
		if count == 0 {
			return
		}
		began := time.Now()
		found := find(some)
		rest := min(time.Since(began), maxRest)
		for _, q := range now {
			q.paths = found
			close(q.done)
		}
		time.Sleep(rest)
	}
}

// affected asks for what steps changed: for all at once, and where that fails, as one of
// them is gone, for each by itself. The workspace, which did this itself, may have ended and
// is not asked.
func (n *session) affected(steps []uint64) map[uint64][]json.RawMessage {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(n.ctx), stopTime) // also when the session is ending
	defer cancel()
	out := map[uint64][]json.RawMessage{}
	if len(steps) > 1 {
		if list, err := n.steps().shown(ctx, historyop.Of{}, steps...); err == nil {
			for _, one := range list {
				out[one.Step] = pathsOf(one)
			}
			return out
		}
	}
	for _, number := range steps {
		if list, err := n.steps().shown(ctx, historyop.Of{}, number); err == nil && len(list) == 1 {
			out[number] = pathsOf(list[0])
		}
	}
	return out
}
