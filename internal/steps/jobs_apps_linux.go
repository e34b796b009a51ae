package steps

import (
	"errors"

	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/inside"
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

// newLine makes the keeper of a job.
func (j *jobs) newLine(begin journal.Begin) *Recorder {
	run := j.run
	return &Recorder{dir: run.dir, audited: run.audited, noted: run.noted, ignored: run.ignored, granted: run.granted, roots: run.roots, limits: run.limits, kin: j, making: run.making, past: run.past, guard: run.guard, bounds: run.bounds, terms: run.terms, run: begin}
}

// EndApp ends the job of an app of which no process is left, and gives its steps. Who asks
// for its keeper from now on gets the run's.
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

// lineOf gives the keeper that a process inside writes to.
func (j *jobs) lineOf(pid int) *Recorder {
	if j.epoch.Load() == 0 || pid <= 0 {
		return j.run
	}
	return j.keeperOf(pid)
}

// Mark begins or ends a step of the program that says so.
func (k *Recorder) Mark(begin bool, caller int, m inside.Mark) error {
	if k == nil {
		return errors.New("this run keeps no history")
	}
	return k.jobs.lineOf(caller).markLine(begin, caller, m)
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
