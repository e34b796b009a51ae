package steps

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"carrel/internal/broker"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/processes"
)

// jobs are what was started in a step of a run and is still there when the step
// ends: servers, watchers, daemons. What each changes from then on is kept in
// steps of its own, in a journal of its own, so that the steps of the run can be
// taken back without it.
//
// Nothing is widened or lost by being one or not being one: it moves a boundary.
type jobs struct {
	run   *Recorder
	stage int           // the first process of the workspace, seen from outside
	epoch atomic.Uint32 // another one when jobs have begun; 0: there never was one

	added chan struct{} // has one where a job was added since it was emptied

	mu       sync.Mutex
	list     []*Job
	callers  map[int]caller  // by process or thread
	open     int             // of their directories
	apps     map[uint64]*Job // by label
	lent     map[uint64]*Job // by the labels of host commands: the job that they belong to
	sessions map[int]*Job    // that only a job's processes are in
	groups   map[int]*Job
	ended    []Segment
	err      error
}

// Job is one of them.
type Job struct {
	processes.Process // the one that it is called after
	argv              []string
	line              *line
	label             uint64 // of an app; 0 for what has outlived a step
	whole             bool   // all that it does is one step
}

// caller is who has made changes since there are jobs, or may. A number that is
// another's by now has another start.
type caller struct {
	start uint64
	job   *Job // nil: of the run itself
	dir   int  // its directory in /proc, which means nobody else; 0 where it is not open
}

// outlived says what of the processes that are there at the end of a step has
// outlived it.
type outlived struct {
	since  uint64 // it was started then or later, in ticks
	marker int    // and neither says that the step is over nor has started who does
	burst  bool   // or: it is in the background
}

// Bounds of one run.
const (
	maxJobs        = 32 // at once; what comes then is counted to the newest
	maxCallers     = 16384
	maxOpenCallers = 256      // whose directories are open
	maxCarried     = 16 << 20 // bytes that are copied for the next step of a job when a burst of it ends
)

func newJobs(run *Recorder, stage int) *jobs {
	return &jobs{run: run, stage: stage, callers: make(map[int]caller), added: make(chan struct{}, 1)}
}

// enter gives the line that a change belongs to, until leave is called. Jobs
// begin and end while nobody is in between, and a step of the run ends then: what
// is about to be changed belongs to one of both sides.
func (j *jobs) enter(ch *broker.Change) *underWay {
	j.run.gate.RLock()
	l := &j.run.line
	if j.epoch.Load() != 0 {
		if l = j.lineOfChange(ch); l != &j.run.line {
			if l.gate.RLock(); l.closed { // its app has ended meanwhile
				l.gate.RUnlock()
				l = &j.run.line
			}
		}
	}
	u := &underWay{line: l}
	ch.Memo = u
	return u
}

// underWay is what is known of a change until its outcome is.
type underWay struct {
	line   *line
	change history.Change
}

func (j *jobs) leave(l *line) {
	if l != &j.run.line {
		l.gate.RUnlock()
	}
	j.run.gate.RUnlock()
}

// stepInto gives the step that a change goes into, 0 before it has come that far.
func stepInto(ch *broker.Change) uint64 {
	u, ok := ch.Memo.(*underWay)
	if !ok {
		return 0
	}
	u.line.mu.Lock()
	defer u.line.mu.Unlock()
	return u.line.step
}

// appOf gives the id of the app that a change is made by, "" for none.
func appOf(ch *broker.Change) string {
	if u, ok := ch.Memo.(*underWay); ok {
		return u.line.app
	}
	return ""
}

// adopt makes jobs of what has outlived a step. No change of the run is on its way.
func (j *jobs) adopt(o *outlived) {
	if j == nil || o == nil {
		return
	}
	if j.take(processes.Below(j.stage), o) == 1 {
		j.run.done.Go(j.watch)
	}
}

// take does it for the processes of a moment, and gives the new epoch, 0 for none.
func (j *jobs) take(inside processes.Tree, o *outlived) uint32 {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.forget(func(_ int, c caller) bool { return c.job == nil })
	first, others := j.survivors(inside, o)
	if len(first) == 0 {
		return 0
	}
	shared := make(map[int]bool) // sessions and groups
	for _, p := range others {
		shared[p.Session], shared[p.Group] = true, true
	}
	together := make(map[int]*Job)
	for _, p := range first {
		one := together[p.Group]
		if one == nil {
			one = together[p.Session]
		}
		if one == nil {
			one = j.room(p)
		}
		j.callers[p.PID] = caller{start: p.Start, job: one}
		for _, number := range []int{p.Group, p.Session} {
			if !shared[number] {
				together[number] = one
			}
		}
	}
	j.claim(inside)
	return j.epoch.Add(1)
}

// survivors gives the processes that jobs begin with, and those that are in none
// and below none.
func (j *jobs) survivors(inside processes.Tree, o *outlived) (first, others []processes.Process) {
	command := inside.Command(j.stage)
	own := inside.Line(o.marker, j.stage)
	own[command.PID], own[j.stage] = true, true
	in := make(map[int]bool)
	for _, p := range inside.Elders(j.stage) {
		switch {
		case p.Gone:
		case in[p.Parent] && !own[p.PID]:
			in[p.PID] = true
		case !own[p.PID] && j.jobOf(inside.Look, p) != nil: // already
		case !own[p.PID] && o.has(p, command):
			in[p.PID] = true
			first = append(first, p)
		default:
			others = append(others, p)
		}
	}
	return first, others
}

// has says whether a process has outlived the step. Of a burst nobody says when
// it began, and much may be at work that is part of what a person or an agent
// does all the time: what is in the foreground, or in one process group with the
// command, is no job.
func (o *outlived) has(p, command processes.Process) bool {
	if o.burst {
		return p.Group != command.Group && p.Group != p.Front
	}
	return p.Start >= o.since
}

// room makes a job, or gives the newest where there are too many.
func (j *jobs) room(p processes.Process) *Job {
	count, newest := 0, (*Job)(nil)
	for _, one := range j.list {
		if one.label == 0 {
			count, newest = count+1, one
		}
	}
	if count >= maxJobs {
		return newest
	}
	one := &Job{Process: p, argv: processes.Argv(p.PID)}
	one.line = j.newLine(journal.Begin{Kind: journal.StepJob, Run: j.run.run.Run, Open: j.run.run.Open})
	one.line.named = one.name
	j.add(one)
	return one
}

// add is called with mu held.
func (j *jobs) add(one *Job) {
	j.list = append(j.list, one)
	select {
	case j.added <- struct{}{}:
	default:
	}
}

// name is what the next step of a job is called: after what its first process
// runs by now.
func (one *Job) name() ([]string, string) {
	if p, ok := processes.Read(one.PID); ok && p.Start == one.Start {
		if argv := processes.Argv(one.PID); argv != nil {
			one.argv = argv
		}
	}
	label := "job: " + strings.Join(one.argv, " ")
	return one.argv, label[:min(len(label), maxLabel)]
}

// busy says whether anything runs inside that was started in the last minutes, is
// no job, and not the command itself. Where nothing can be seen the answer is no.
func (j *jobs) busy() bool {
	inside := processes.Below(j.stage)
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range inside {
		if p.IsTool(j.stage) && j.jobOf(inside.Look, p) == nil {
			return true
		}
	}
	return false
}

// watch ends the bursts of jobs, and jobs that are gone, until the run is over. It sleeps
// while there are none.
func (j *jobs) watch() {
	for eye := time.Tick(burstEye); ; {
		if !j.some() {
			select {
			case <-j.run.over:
				return
			case <-j.added:
			}
		}
		select {
		case <-j.run.over:
			return
		case <-eye:
		}
		j.refresh()
		j.mu.Lock()
		list := slices.Clone(j.list)
		j.mu.Unlock()
		for _, one := range list {
			switch idle := one.line.idle(); {
			case one.whole || idle < quiet:
			case one.label == 0 || idle >= patience || !j.busyApp(one):
				one.line.rest()
			}
		}
	}
}

// refresh looks who belongs to which job while their parents can still be seen,
// and ends the jobs of which no process is left.
func (j *jobs) refresh() {
	if j.mu.Lock(); len(j.list) == len(j.apps) { // nobody whose processes could be forgotten
		j.forget(func(_ int, c caller) bool { return c.dir > 0 && !c.alive() })
		j.mu.Unlock()
		return
	}
	j.mu.Unlock()
	epoch := j.epoch.Load()
	inside := processes.Below(j.stage)
	if _, seen := inside[j.stage]; !seen {
		return
	}
	if !j.run.gate.TryLock() { // whoever is asked whether a change may be made is not waited for
		return
	}
	gone := j.gone(inside, epoch)
	j.run.gate.Unlock()
	for _, one := range gone {
		_, _ = j.finish(one, 0) // an error comes again at the end
	}
}

func (j *jobs) some() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return len(j.list) > 0
}

// gone takes the jobs from the list of which no process is left.
func (j *jobs) gone(inside processes.Tree, epoch uint32) []*Job {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.epoch.Load() != epoch {
		return nil // who was not there yet has not gone
	}
	callers, alive := make(map[int]caller), make(map[*Job]bool)
	for pid, p := range inside {
		if p.Gone {
			continue
		}
		if one := j.jobOf(inside.Look, p); one != nil {
			callers[pid], alive[one] = caller{start: p.Start, job: one}, true
		}
	}
	j.forget(func(int, caller) bool { return true })
	j.callers = callers
	j.claim(inside)
	var gone []*Job
	j.list = slices.DeleteFunc(j.list, func(one *Job) bool {
		if alive[one] || one.label != 0 { // an app's end is told by whoever has started it
			return false
		}
		gone = append(gone, one)
		return true
	})
	return gone
}

// beside is what the open steps of all but one line have destroyed.
func (j *jobs) beside(l *line) (t history.Tally) {
	if j.epoch.Load() == 0 {
		return t
	}
	j.mu.Lock()
	list := slices.Clone(j.list)
	j.mu.Unlock()
	if l != &j.run.line {
		t = j.run.tally()
	}
	for _, one := range list {
		if one.line != l {
			t = t.Plus(one.line.tally())
		}
	}
	return t
}

// finish closes what a job has written, and gives its steps.
func (j *jobs) finish(one *Job, exit int) ([]uint64, error) {
	err := one.line.finish(exit)
	if one.line.store != nil {
		one.line.store.Close()
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.err = errors.Join(j.err, err)
	j.ended = append(j.ended, one.line.segment()...)
	return one.line.all, err
}

// close ends all jobs, when nobody watches them any more.
func (j *jobs) close() error {
	list := j.list
	j.list = nil
	for _, one := range list {
		_, _ = j.finish(one, 0)
	}
	j.forget(func(int, caller) bool { return true })
	return j.err
}
