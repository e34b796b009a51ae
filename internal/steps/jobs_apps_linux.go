package steps

import (
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/processes"
)

// The apps of a workspace that stays are jobs from their first moment: what each
// starts has its label (see package sandbox), and its changes are steps of its own.

// StartApp makes a job of what is about to be started with a label. whole: all of it is one
// step. There is none where no history is kept.
func (k *Recorder) StartApp(id string, label uint64, argv []string, name string, whole bool) *Job {
	if k == nil {
		return nil
	}
	j := k.jobs
	run := j.run
	one := &Job{argv: argv, label: label, whole: whole}
	kind := journal.StepJob
	if whole {
		kind = journal.StepRun
	}
	one.line = j.newLine(journal.Begin{Kind: kind, Run: run.run.Run, Command: history.Argv(argv), Open: run.run.Open})
	one.line.app = id
	one.line.label = name[:min(len(name), maxLabel)]
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.apps == nil {
		j.apps = make(map[uint64]*Job)
	}
	j.apps[label] = one
	j.add(one)
	if j.epoch.Add(1) == 1 {
		run.done.Go(j.watch)
	}
	return one
}

// newLine makes the line of a job.
func (j *jobs) newLine(begin journal.Begin) *line { return &line{common: j.run.common, run: begin} }

// EndApp ends the job of an app of which no process is left, and gives its steps. Who asks
// for its line from now on gets the run's.
func (k *Recorder) EndApp(one *Job, exit int) ([]uint64, error) {
	if one == nil {
		return nil, nil
	}
	j := k.jobs
	j.mu.Lock()
	_, there := j.apps[one.label]
	delete(j.apps, one.label)
	for i := range j.list {
		if j.list[i] == one {
			j.list = append(j.list[:i:i], j.list[i+1:]...)
			break
		}
	}
	j.forget(func(_ int, c caller) bool { return c.job == one })
	j.mu.Unlock()
	if !there {
		return nil, nil
	}
	return j.finish(one, exit)
}

// Steps are the numbers of what a job has written so far.
func (one *Job) Steps() []uint64 {
	if one == nil {
		return nil
	}
	one.line.mu.Lock()
	defer one.line.mu.Unlock()
	return append([]uint64(nil), one.line.all...)
}

// lineOf gives the line that a program inside writes to.
func (j *jobs) lineOf(by Marker) *line {
	switch {
	case j.epoch.Load() == 0:
	case by.Label != 0:
		return j.lineOfLabel(by.Label)
	case by.PID > 0:
		return j.lineOfThread(by.PID)
	}
	return &j.run.line
}

// busyApp says whether an app runs a tool: something that was started in the last
// minutes and is not the app itself.
func (j *jobs) busyApp(one *Job) bool {
	for _, p := range processes.Labelled(j.stage, one.label) {
		if p.IsTool(j.stage) {
			return true
		}
	}
	return false
}

// Lend makes the changes of what has a label those of a process inside.
func (k *Recorder) Lend(label uint64, caller int) {
	if k == nil {
		return
	}
	j := k.jobs
	if j.epoch.Load() == 0 || caller <= 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	c, known := j.callers[caller]
	if !known || !c.alive() {
		c = j.recall(caller, c)
	}
	if c.job == nil {
		return
	}
	if j.lent == nil {
		j.lent = make(map[uint64]*Job)
	}
	j.lent[label] = c.job
}

// GiveBack ends that.
func (k *Recorder) GiveBack(label uint64) {
	if k == nil {
		return
	}
	j := k.jobs
	j.mu.Lock()
	defer j.mu.Unlock()
	delete(j.lent, label)
}
