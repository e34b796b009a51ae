package steps

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"carrel/internal/history"
	"carrel/internal/history/journal"
)

// common is what the lines of one run share, see [line].
type common struct {
	dir     string
	noted   func() // where the history is, before it is begun
	roots   []string
	limits  history.Limits
	ignored func(path string) bool
	granted *history.Granted                                                  // nil where no program can open unseen what was opened for writing once
	audited func(operation string, step uint64, app string, of journal.Begin) // writes a step down; nil for no log
	kin     *jobs

	making sync.Mutex // held while a history is opened, and perhaps made: by one line of a process at a time
	guard  *safeguard
	bounds bounds
	terms  terms  // the owner's
	past   ledger // what steps that are over have destroyed
}

// line is one sequence of steps with a journal of its own: that of the run, or of a job. A
// step is opened by its first change, and ends between two changes.
type line struct {
	*common
	run   journal.Begin
	jobs  *jobs                                // nil for that of a job
	named func() (argv []string, label string) // what a step is called, of a job
	app   string                               // the id of the one that it is of

	perTerm termCount // what the owner's terms count
	told    uint64    // the step of the bound that was told of last
	refused uint64    // the step in which the person said no to more

	store  *history.Store    // nil where there is no history yet
	writer *history.Writer   // nil before the first change
	closed bool              // written with the gate: nothing can be kept any more
	former []Segment         // that it has written, while its history was let go of
	kept   []history.Written // what has to be kept before anything goes on

	gate  sync.RWMutex // read by every change on its way, written between steps
	mu    sync.Mutex
	step  uint64 // the open one, 0 for none
	all   []uint64
	last  time.Time // change
	fresh bool      // something was changed in the open step
	marks marks
	label string
}

// begun makes sure that a step is open, for a change or for what is carried over.
func (l *line) begun(change bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if change {
		l.last, l.fresh = time.Now(), true
	}
	if l.step != 0 {
		return nil
	}
	if err := l.opened(); err != nil {
		return err
	}
	n, err := l.writer.Begin(l.beginning())
	if err != nil {
		return err
	}
	l.step, l.all = n, append(l.all, n)
	l.tellStep("begin", n)
	return nil
}

// beginning is what the next step says of itself; the lock is held.
func (l *line) beginning() journal.Begin {
	b := l.run
	b.Label = l.label
	if l.named != nil {
		argv, label := l.named()
		b.Command, b.Label = history.Argv(argv), label
	}
	return b
}

// opened makes sure that there is something to write to; the lock is held.
func (l *line) opened() (err error) {
	if l.writer != nil {
		return nil
	}
	if l.store == nil {
		l.making.Lock()
		defer l.making.Unlock()
		if l.store, err = history.Open(l.dir); err != nil {
			l.store = nil
			return err
		}
		l.noted()
	}
	l.store.SetLimits(l.terms.limits(l.limits))
	l.store.SetIgnored(l.ignored)
	if err = whenFree(l.store.Share); err != nil {
		return err
	}
	if l.writer, err = l.store.NewWriter(l.run.Run, l.roots); err == nil {
		l.writer.CopyGranted(l.granted)
	}
	return err
}

// split ends a step that has become too large to be kept in memory. Where changes
// are on their way, one of the next does it.
func (l *line) split() {
	l.mu.Lock()
	large := l.writer != nil && l.writer.Held() > maxStepHeld
	l.mu.Unlock()
	if !large || !l.gate.TryLock() {
		return
	}
	defer l.gate.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.turn(nil, func() {}) // an error comes again with the next change
}

// maxStepHeld is how much memory a step may take before it goes on as another one:
// some 600,000 names.
var maxStepHeld int64 = 512 << 20

// next ends the open step, if there is one, between two changes. change is
// called when nothing is on its way. What outlived the step becomes jobs.
func (l *line) next(outlived *outlived, change func()) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.turn(outlived, change)
}

// turn is next with the locks held.
func (l *line) turn(outlived *outlived, change func()) error {
	l.jobs.adopt(outlived)
	if l.step == 0 {
		change()
		return nil
	}
	label := l.label
	change()
	follow := l.beginning()
	if l.named == nil && l.label == label {
		follow.Label = ""
	}
	own, theirs := l.jobs.share(l.writer)
	was := l.step
	l.counted()
	var err error
	if l.step, err = l.writer.EndWith(0, &follow, own); l.step != was {
		l.tellStep("close", was)
		if l.fresh = false; l.step != 0 {
			l.all = append(l.all, l.step)
			l.tellStep("begin", l.step)
		}
		err = errors.Join(err, theirs.keep())
	}
	return err
}

// tellStep writes down that a step begins or is closed; the lock is held.
func (l *line) tellStep(operation string, step uint64) {
	if l.audited != nil && step != 0 {
		l.audited(operation, step, l.app, l.beginning())
	}
}

// idle is for how long nothing has been changed in the open step, 0 where that
// does not matter.
func (l *line) idle() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.step == 0 || !l.fresh || len(l.marks.open) > 0 {
		return 0
	}
	return time.Since(l.last)
}

// cut ends a burst.
func (l *line) cut(outlived *outlived) {
	_ = l.next(outlived, func() { l.last = time.Now() }) // an error comes again with the next change
	l.gate.RLock()
	defer l.gate.RUnlock()
	if l.writer != nil && !l.closed {
		_ = l.writer.Sync()
	}
}

// rest ends a burst of a job. Where that would mean to copy much for the step that
// follows, again for each burst, the step goes on: a log that is kept open.
func (l *line) rest() {
	l.gate.RLock()
	few := l.writer == nil || l.writer.WrittenBytes() <= maxCarried
	l.gate.RUnlock()
	if few {
		l.cut(nil)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = false // until the next change
}

// carry keeps files for the open step, in which nothing may happen for long.
func (l *line) carry(files []history.Written) error {
	l.gate.RLock()
	defer l.gate.RUnlock()
	err := l.begun(false)
	if err == nil {
		err = l.writer.Keep(files)
	}
	return err
}

// tally is what the open step has destroyed.
func (l *line) tally() history.Tally {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.step == 0 {
		return history.Tally{}
	}
	return l.writer.Tally()
}

// finish ends the step and the segment, when no change is on its way.
func (l *line) finish(exit int) error {
	l.gate.Lock()
	defer l.gate.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.closed = true
	if l.writer == nil {
		return nil
	}
	if l.step != 0 {
		l.counted()
	}
	l.tellStep("close", l.step)
	_, err := l.writer.End(exit, nil)
	if err = errors.Join(err, l.writer.Sync(), l.writer.Close()); err != nil {
		return fmt.Errorf("closing step %d of the history: %w", l.step, err)
	}
	return nil
}

func (l *line) segment() []Segment {
	out := l.former
	if l.writer != nil && len(l.all) > 0 {
		out = append(out, Segment{l.writer.Segment(), l.writer.Lost()})
	}
	return out
}
