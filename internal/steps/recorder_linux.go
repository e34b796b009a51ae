package steps

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"carrel/internal/broker"
	"carrel/internal/histories"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/inside"
	"carrel/internal/processes"
	"carrel/internal/supervisor"

	"golang.org/x/sys/unix"
)

// Recorder tells the history of a project what the broker is about to change, and
// decides where one step ends and the next begins. A step is opened by its first
// change. It ends with the run, where somebody inside says so, and with bursts
// also when nothing has happened for a while. A job has one of its own, see
// [jobs]. A nil keeper has nowhere to keep anything.
type Recorder struct {
	dir     string
	noted   func()           // where the history is, before it is begun
	records string           // the directory with those of the project, "" for none
	total   *histories.Limit // of all projects' histories
	store   *history.Store   // nil where there is no history yet
	writer  *history.Writer  // nil before the first change
	roots   []string
	limits  history.Limits
	ignored func(path string) bool
	granted *history.Granted // nil where nobody can open unseen what was opened for writing once
	run     journal.Begin
	bursts  bool
	jobs    *jobs                                                             // nil for that of a job
	kin     *jobs                                                             // of the same run
	named   func() (argv []string, label string)                              // what a step is called, of a job
	app     string                                                            // the id of the one that it is of
	audited func(operation string, step uint64, app string, of journal.Begin) // writes a step down; nil for no log

	making  *sync.Mutex // held while a history is opened, and perhaps made: by one keeper of a process at a time
	guard   *safeguard
	bounds  bounds
	terms   *terms  // the owner's, of the run and its jobs
	owed    owed    // what they count
	told    uint64  // the step whose bound was spoken of last
	refused uint64  // the step in which somebody said no to more
	past    *ledger // of the run and its jobs

	closed bool              // written with the gate: nothing can be kept any more
	former []Segment         // that it has written, while its history was let go of
	kept   []history.Written // what has to be kept before anything goes on

	gate  sync.RWMutex // read by every change on its way, written between steps
	mu    sync.Mutex
	step  uint64 // the open one, 0 for none
	all   []uint64
	last  time.Time // change
	fresh bool      // something was changed in the open step
	open  []string  // marks that have not been ended, by their callers' names
	since uint64    // when the first of them was made, in ticks
	from  time.Time // of the allowance for marks
	used  int       // of it
	label string
	over  chan struct{}
	done  sync.WaitGroup

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

	MarksPerSecond = 20
	maxLabel       = 200 // bytes
	maxMarks       = 64  // open at once; older ones are forgotten
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
	run := k
	u := run.jobs.enter(ch)
	u.change = change
	k, c := u.keeper, &u.change
	err := k.begun(true)
	if err == nil && k.writer.Held() > 2*maxStepHeld {
		err = fmt.Errorf("the open step is too large, and cannot be ended while a change waits for an answer: %w", unix.EDQUOT)
	}
	if err == nil {
		c.Lose = func(path, why string) error { return k.guard.ask(ch, path, "undo could not bring it back: "+why) }
		err = k.writer.Before(c)
	}
	if err == nil {
		if err = k.guarded(ch, c); err != nil {
			k.writer.After(c, err)
		}
	}
	if err != nil {
		run.jobs.leave(k)
		k.split()
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

// begun makes sure that a step is open, for a change or for what is carried over.
func (k *Recorder) begun(change bool) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if change {
		k.last, k.fresh = time.Now(), true
	}
	if k.step != 0 {
		return nil
	}
	if err := k.opened(); err != nil {
		return err
	}
	n, err := k.writer.Begin(k.beginning())
	if err != nil {
		return err
	}
	k.step, k.all = n, append(k.all, n)
	k.tellStep("begin", n)
	return nil
}

// beginning is what the next step says of itself; the lock is held.
func (k *Recorder) beginning() journal.Begin {
	b := k.run
	b.Label = k.label
	if k.named != nil {
		argv, label := k.named()
		b.Command, b.Label = history.Argv(argv), label
	}
	return b
}

// opened makes sure that there is something to write to; the lock is held.
func (k *Recorder) opened() (err error) {
	if k.writer != nil {
		return nil
	}
	if k.store == nil {
		k.making.Lock()
		defer k.making.Unlock()
		if k.store, err = history.Open(k.dir); err != nil {
			k.store = nil
			return err
		}
		k.noted()
	}
	k.store.SetLimits(k.terms.limits(k.limits))
	k.store.SetIgnored(k.ignored)
	if err = whenFree(k.store.Share); err != nil {
		return err
	}
	if k.writer, err = k.store.NewWriter(k.run.Run, k.roots); err == nil {
		k.writer.CopyGranted(k.granted)
	}
	return err
}

// After tells what became of a change that [Recorder.Before] let go on.
func (k *Recorder) After(ch *broker.Change, err error) {
	if k == nil {
		return
	}
	if u, ok := ch.Memo.(*underWay); ok {
		u.change.Opens = u.change.Opens && !ch.Unopened
		u.keeper.writer.After(&u.change, err)
		k.jobs.leave(u.keeper)
		u.keeper.split()
		for _, told := range []chan struct{}{k.Changed, k.stirred} {
			select {
			case told <- struct{}{}:
			default:
			}
		}
	}
}

// maxStepHeld is how much memory a step may take before it goes on as another one:
// some 600,000 names.
var maxStepHeld int64 = 512 << 20

// split ends a step that has become too large to be kept in memory. Where changes
// are on their way, one of the next does it.
func (k *Recorder) split() {
	k.mu.Lock()
	large := k.writer != nil && k.writer.Held() > maxStepHeld
	k.mu.Unlock()
	if !large || !k.gate.TryLock() {
		return
	}
	defer k.gate.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	_ = k.turn(nil, func() {}) // an error comes again with the next change
}

// next ends the open step, if there is one, between two changes. change is
// called when nothing is on its way. What outlived the step becomes jobs.
func (k *Recorder) next(outlived *outlived, change func()) error {
	k.gate.Lock()
	defer k.gate.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.turn(outlived, change)
}

// turn is next with the locks held.
func (k *Recorder) turn(outlived *outlived, change func()) error {
	k.jobs.adopt(outlived)
	if k.step == 0 {
		change()
		return nil
	}
	label := k.label
	change()
	follow := k.beginning()
	if k.named == nil && k.label == label {
		follow.Label = ""
	}
	own, theirs := k.jobs.share(k.writer)
	was := k.step
	k.counted()
	var err error
	if k.step, err = k.writer.EndWith(0, &follow, own); k.step != was {
		k.tellStep("close", was)
		if k.fresh = false; k.step != 0 {
			k.all = append(k.all, k.step)
			k.tellStep("begin", k.step)
		}
		err = errors.Join(err, theirs.keep())
	}
	return err
}

// markLine is a program's word inside that a step begins or ends here. It is only
// that: nothing is widened by it, nothing is lost. Calls that run side by side
// are one step, which ends with the last of them.
func (k *Recorder) markLine(begin bool, caller int, m inside.Mark) error {
	if !k.mayMark() {
		return fmt.Errorf("more than %d marks in a second", MarksPerSecond)
	}
	label := m.Label[:min(len(m.Label), maxLabel)]
	k.mu.Lock()
	others := len(k.open) > 0
	var out *outlived
	if begin {
		if !others {
			k.since = processes.TicksNow()
		}
		k.open = append(k.open, m.ID[:min(len(m.ID), maxLabel)])
		k.open = k.open[max(0, len(k.open)-maxMarks):]
	} else {
		if others {
			out = &outlived{since: k.since, marker: caller}
		}
		k.ended(m)
		others = len(k.open) > 0
	}
	k.mu.Unlock()
	if others {
		return nil
	}
	return k.next(out, func() {
		if k.label = ""; begin {
			k.label = label
		}
	})
}

// ended takes one mark off; the lock is held. An end that fits none is one of the
// last.
func (k *Recorder) ended(m inside.Mark) {
	if m.All || len(k.open) == 0 {
		k.open = nil
		return
	}
	i := slices.Index(k.open, m.ID)
	if i < 0 {
		i = len(k.open) - 1
	}
	k.open = slices.Delete(k.open, i, i+1)
}

func (k *Recorder) mayMark() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if now := time.Now(); now.Sub(k.from) >= time.Second {
		k.from, k.used = now, 0
	}
	k.used++
	return k.used <= MarksPerSecond
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

// idle is for how long nothing has been changed in the open step, 0 where that
// does not matter.
func (k *Recorder) idle() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.step == 0 || !k.fresh || len(k.open) > 0 {
		return 0
	}
	return time.Since(k.last)
}

// cut ends a burst.
func (k *Recorder) cut(outlived *outlived) {
	_ = k.next(outlived, func() { k.last = time.Now() }) // an error comes again with the next change
	k.gate.RLock()
	defer k.gate.RUnlock()
	if k.writer != nil && !k.closed {
		_ = k.writer.Sync()
	}
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

// finish ends the step and the segment, when no change is on its way.
func (k *Recorder) finish(exit int) error {
	k.gate.Lock()
	defer k.gate.Unlock()
	k.mu.Lock()
	defer k.mu.Unlock()
	k.closed = true
	if k.writer == nil {
		return nil
	}
	if k.step != 0 {
		k.counted()
	}
	k.tellStep("close", k.step)
	_, err := k.writer.End(exit, nil)
	if err = errors.Join(err, k.writer.Sync(), k.writer.Close()); err != nil {
		return fmt.Errorf("closing step %d of the history: %w", k.step, err)
	}
	return nil
}
