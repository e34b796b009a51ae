package broker

import (
	"sync"
	"sync/atomic"
	"time"
)

// turn passes the right to wait for calls between the workers. A worker keeps
// it while its calls are short; when one takes longer than a watchman's round,
// the turn goes to the next.
type turn struct {
	free   chan struct{}
	over   chan struct{}
	once   sync.Once
	holder atomic.Pointer[worker]
	asleep atomic.Bool
	poke   chan struct{}
}

// States of a worker.
const (
	waiting int32 = iota
	working
	relieved // the turn has been given to another
)

// A call may take a round before another worker takes the turn, at most twice.
// Rounds get longer, up to longRound, while nobody is found at one call for a
// whole one: each look wakes threads of the runtime, which is more than most calls
// cost. idleRounds without a call put the watchman to sleep.
const (
	round      = 3 * time.Millisecond
	longRound  = 8 * round
	idleRounds = 4
)

func newTurn() *turn {
	t := &turn{free: make(chan struct{}, 1), over: make(chan struct{}), poke: make(chan struct{}, 1)}
	t.free <- struct{}{}
	return t
}

// take waits for the turn; false when there will be none.
func (t *turn) take(w *worker) bool {
	select {
	case <-t.free:
		w.state.Store(waiting)
		t.holder.Store(w)
		return true
	case <-t.over:
		return false
	}
}

func (t *turn) busy(w *worker) {
	w.calls.Add(1)
	w.state.Store(working)
	if t.asleep.Load() && t.asleep.CompareAndSwap(true, false) {
		t.poke <- struct{}{}
	}
}

// done says whether the worker still has the turn.
func (t *turn) done(w *worker) bool { return w.state.CompareAndSwap(working, waiting) }

func (t *turn) end() { t.once.Do(func() { close(t.over) }) }

// watch relieves a worker that is at one call for a whole round.
func (t *turn) watch() {
	tick := time.NewTicker(round)
	defer tick.Stop()
	var last *worker
	var calls uint64
	for idle, pause := 0, round; ; {
		select {
		case <-t.over:
			return
		case <-tick.C:
		}
		w := t.holder.Load()
		if w == nil {
			continue
		}
		n := w.calls.Load()
		switch {
		case w != last || n != calls:
			last, calls, idle = w, n, 0
			if pause < longRound {
				pause *= 2
				tick.Reset(pause)
			}
		case w.state.Load() == working:
			idle = 0
			if w.state.CompareAndSwap(working, relieved) {
				t.free <- struct{}{}
			}
			pause = round
			tick.Reset(pause)
		default:
			idle++
		}
		if idle < idleRounds {
			continue
		}
		idle = 0
		w.release()
		t.asleep.Store(true)
		// A call that came between the last look and now has poked nobody.
		if (t.holder.Load() != last || last.calls.Load() != calls) && t.asleep.CompareAndSwap(true, false) {
			continue
		}
		tick.Stop()
		select {
		case <-t.over:
			return
		case <-t.poke:
		}
		pause = round
		tick.Reset(pause)
	}
}
