package steps

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"carrel/internal/api"
	"carrel/internal/broker"
	"carrel/internal/histories"
	"carrel/internal/inside"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// Recorder tells the history of a project what the broker is about to change, and
// decides where one step ends and the next begins. A step is opened by its first
// change. It ends with the run, where somebody inside says so, and with bursts
// also when nothing has happened for a while. A job has one of its own, see
// [jobs]. A nil one has nowhere to keep anything.
type Recorder struct {
	line                     // of the run itself
	records string           // the directory with those of the project, "" for none
	total   *histories.Limit // of all projects' histories
	over    chan struct{}
	done    sync.WaitGroup

	trimmed []string // what there is to tell of older steps that went

	// Each has one where something was changed since it was emptied.
	Changed, stirred chan struct{}
}

// Steps of an interactive agent end when nothing has been changed for quiet and
// nothing runs that was started meanwhile; after patience whatever still runs is
// a job in the background.
const (
	quiet    = 2 * time.Second
	patience = 15 * time.Second
	burstEye = 500 * time.Millisecond
)

// Before keeps what a change is about to destroy. Without an error the change is
// on its way until after is called.
func (k *Recorder) Before(ch *broker.Change) error {
	if k == nil {
		return nil
	}
	change, ok := historyChange(ch)
	if !ok {
		return nil
	}
	u := k.jobs.enter(ch)
	u.change = change
	l, c := u.line, &u.change
	err := l.begun(true)
	if err == nil && l.writer.Held() > 2*maxStepHeld {
		err = fmt.Errorf("the open step is too large, and cannot be ended while a change waits for an answer: %w", unix.EDQUOT)
	}
	if err == nil {
		c.Lose = func(path, why string) error { return k.guard.ask(ch, path, "undo could not bring it back: "+why) }
		err = l.writer.Before(c)
	}
	if err == nil {
		if err = l.guarded(ch, c); err != nil {
			l.writer.After(c, err)
		}
	}
	if err != nil {
		k.jobs.leave(l)
		l.split()
	}
	return err
}

// AnswersTo tells who is asked before something is lost for good.
func (k *Recorder) AnswersTo(desk *supervisor.Server) {
	if k != nil {
		k.guard.answersTo(desk)
	}
}

// Notes are what there is to tell at the end.
func (k *Recorder) Notes() []string {
	if k == nil {
		return nil
	}
	k.guard.mu.Lock()
	defer k.guard.mu.Unlock()
	return append(k.guard.notes, k.trimmed...)
}

// After tells what became of a change that [Recorder.Before] let go on.
func (k *Recorder) After(ch *broker.Change, err error) {
	if k == nil {
		return
	}
	if u, ok := ch.Memo.(*underWay); ok {
		u.change.Opens = u.change.Opens && !ch.Unopened
		u.line.writer.After(&u.change, err)
		k.jobs.leave(u.line)
		u.line.split()
		for _, told := range []chan struct{}{k.Changed, k.stirred} {
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}
}

// watch ends steps in which nothing happens any more. It sleeps while there is none.
func (k *Recorder) watch() {
	for {
		select {
		case <-k.over:
			return
		case <-k.stirred:
		}
		for eye := time.Tick(burstEye); changing(k); {
			select {
			case <-k.over:
				return
			case <-eye:
			}
			if idle := k.idle(); idle >= patience || idle >= quiet && !k.jobs.busy() {
				k.cut(&outlived{burst: true})
			}
		}
	}
}

// changing says whether something was changed in the open step.
func changing(k *Recorder) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.step != 0 && k.fresh
}

// Close ends the steps of the run and of its jobs.
func (k *Recorder) Close(exit int) error {
	if k == nil {
		return nil
	}
	close(k.over)
	k.guard.end()
	k.done.Wait()
	err := errors.Join(k.jobs.close(), k.finish(exit))
	if err == nil && k.writer != nil {
		err = k.trim()
	}
	if k.store != nil {
		k.store.Close()
	}
	if k.writer != nil { // and so has made the history larger
		k.trimmed = append(k.trimmed, k.total.Hold()...)
	}
	return err
}

// Segments are what a run and its jobs have written, when all are closed.
func (k *Recorder) Segments() []Segment {
	if k == nil {
		return nil
	}
	return append(k.segment(), k.jobs.ended...)
}

// Marker is the program that says where a step begins or ends: by its number, or by the label of
// its command, where it is in a machine.
type Marker struct {
	PID   int
	Label uint64
}

// Mark begins or ends a step of the program that says so.
func (k *Recorder) Mark(begin bool, by Marker, m inside.Mark) error {
	if k == nil {
		return errors.New("this run keeps no history")
	}
	return k.jobs.lineOf(by).markLine(begin, by.PID, m)
}

// SetTerms takes the owner's terms, for all that is changed from now on.
func (k *Recorder) SetTerms(t *api.Terms) { k.terms.now.Store(t) }

// Interrupt answers no to whatever is asked until flush has returned.
func (k *Recorder) Interrupt(flush func()) { k.guard.interrupt(flush) }

// Deny tells refuse of a change that was held and not allowed.
func (k *Recorder) Deny(ch *broker.Change, err error, refuse broker.Refused) {
	if k == nil {
		return
	}
	var held *heldError
	if errors.As(err, &held) && held.owner {
		refuse(ch, broker.Verdict{Rule: ruleHeld + " (" + held.why + ")", Source: "the workspace's owner", Hint: "whoever has started the workspace answers, or raises its threshold"})
		return
	}
	if errors.As(err, &held) {
		refuse(ch, broker.Verdict{Rule: ruleHeld + " (" + held.why + ")", Source: "default", Hint: "`carrel approvals --follow` while it runs, and approve"})
	}
}
