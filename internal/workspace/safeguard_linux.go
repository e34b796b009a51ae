package workspace

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
}

// answerTime is how long a held change waits for a person.
const answerTime = 5 * time.Minute

// deskTime is how long one waits for the desk of a workspace that just begins.
const deskTime = 10 * time.Second

// ruleHeld is the rule of a change that is held.
const ruleHeld = "safeguard: it is asked for first"

// heldError is a change that nobody allowed.
type heldError struct{ path, why string }

func (e *heldError) Error() string { return fmt.Sprintf("%q: %s", e.path, e.why) }

// Unwrap is what the program gets.
func (e *heldError) Unwrap() error { return unix.EACCES }

func newSafeguard(within time.Duration) *safeguard {
	g := &safeguard{ready: make(chan struct{}), deadline: within}
	g.ended, g.end = context.WithCancel(context.Background())
	return g
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
	select {
	case <-g.ready:
	case <-g.ended.Done():
	case <-time.After(deskTime):
	}
	granted := false
	resume := func() {}
	ch.Wait(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		if !g.desk.Paused() {
			if g.desk.Pause(g.ended) != nil {
				return
			}
			resume = func() { _ = g.desk.Resume(context.Background()) }
		}
		granted = g.desk.Ask(g.ended, api.Approval{
			Operation: ch.Op, Subject: path, Rule: ruleHeld, Source: "safeguards", Reason: why, Step: stepInto(ch), App: appOf(ch),
			Hint: "approve to let it happen, deny to refuse it, `deny --rollback` to take the whole step back",
		}, time.Now().Add(g.deadline))
	})
	resume() // when the change counts as under way again: nothing comes between
	if granted {
		return nil
	}
	return &heldError{path, why}
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

// told makes a denial of what was not allowed.
func (g *safeguard) told(ch *broker.Change, err error, refuse broker.Refused) {
	var held *heldError
	if errors.As(err, &held) {
		refuse(ch, broker.Verdict{Rule: ruleHeld + " (" + held.why + ")", Source: "default", Hint: "`carrel approvals --follow` while it runs, and approve"})
	}
}
