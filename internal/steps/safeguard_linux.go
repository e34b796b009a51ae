package steps

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// safeguard holds a change that undo could not bring back until a person has
// answered: the workspace is frozen meanwhile. No answer is no.
type safeguard struct {
	mu       sync.Mutex
	desk     *supervisor.Server
	ready    chan struct{} // closed when desk is known
	deadline time.Duration
	notes    []string
	ended    context.Context
	end      context.CancelFunc

	interrupting sync.Mutex // held by interrupt
	round        atomic.Pointer[round]
}

// round is all that is asked between two interrupts.
type round struct {
	context.Context // ends with the next interrupt
	end             context.CancelFunc
	arrived         chan struct{} // closed when the signal of that interrupt is there
}

// AnswerTime is how long a held change waits for a person.
const AnswerTime = 5 * time.Minute

// deskTime is how long one waits for the desk of a workspace that just begins.
const deskTime = 10 * time.Second

// ruleHeld is the rule of a change that is held.
const ruleHeld = "safeguard: it is asked for first"

// heldError is a change that nobody allowed.
type heldError struct {
	path, why string
	owner     bool // it was the owner's to allow, by terms of its own
}

func (e *heldError) Error() string { return fmt.Sprintf("%q: %s", e.path, e.why) }

// Unwrap is what the program gets.
func (e *heldError) Unwrap() error { return unix.EACCES }

func newSafeguard(within time.Duration) *safeguard {
	g := &safeguard{ready: make(chan struct{}), deadline: within}
	g.ended, g.end = context.WithCancel(context.Background())
	g.newRound()
	return g
}

func (g *safeguard) newRound() {
	r := &round{arrived: make(chan struct{})}
	r.Context, r.end = context.WithCancel(g.ended)
	g.round.Store(r)
}

// interrupt answers no to whatever is asked until flush has returned: until then a signal
// for those who ask is on its way, and a workspace that stands still would not take it.
func (g *safeguard) interrupt(flush func()) {
	g.interrupting.Lock()
	defer g.interrupting.Unlock()
	r := g.round.Load()
	r.end()
	flush()
	g.newRound()
	close(r.arrived)
}

// answersTo tells who is asked.
func (g *safeguard) answersTo(desk *supervisor.Server) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.desk = desk
	close(g.ready)
}

// ask freezes the workspace and waits for a person; one question at a time. Where
// it cannot be frozen the answer is no: what was decided would be old by then.
func (g *safeguard) ask(ch *broker.Change, path, why string) error {
	a := api.Approval{Subject: path, Reason: why, Hint: "approve to let it happen, deny to refuse it, `deny --rollback` to take the whole step back"}
	if g.granted(ch, question{Approval: a, within: g.deadline}) {
		return nil
	}
	return &heldError{path: path, why: why}
}

// question is what is asked. Of many changes that wait for the same answer only one asks:
// answered says what came of it, settle takes the answer in; both are nil where each asks.
type question struct {
	api.Approval
	within   time.Duration
	answered func() (yes, known bool)
	settle   func(yes bool)
}

// granted asks a question, and says whether the answer is yes.
func (g *safeguard) granted(ch *broker.Change, q question) bool {
	round := g.round.Load()
	select {
	case <-g.ready:
	case <-round.Done():
	case <-time.After(deskTime):
	}
	granted := false
	resume := func() {}
	ch.Wait(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if q.answered != nil {
			if yes, known := q.answered(); known {
				granted = yes
				return
			}
			defer func() { q.settle(granted) }()
		}
		if !g.desk.Paused() {
			if round.Err() != nil || g.desk.Pause(round) != nil {
				return
			}
			resume = func() { _ = g.desk.Resume(context.Background()) }
		}
		q.Operation, q.Rule, q.Source, q.Step, q.App = ch.Op, ruleHeld, "safeguards", stepInto(ch), appOf(ch)
		granted = g.desk.Ask(round, q.Approval, time.Now().Add(q.within))
	})
	resume() // when the change counts as under way again: nothing comes between
	if !granted && round.Err() != nil {
		select { // who is refused takes the signal first
		case <-round.arrived:
		case <-g.ended.Done():
		}
	}
	return granted
}

// tell notes something and tells whoever follows.
func (g *safeguard) tell(text string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.notes) < maxNotes {
		g.notes = append(g.notes, "safeguard: "+text)
	}
	g.desk.Emit(api.Event{Kind: api.EventNote, Text: "safeguard: " + text})
}

// maxNotes bounds what one run is told at its end.
const maxNotes = 20
