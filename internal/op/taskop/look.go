package taskop

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/task"
)

// lookEvery is how often the tasks that are waited for are looked at.
const lookEvery = 200 * time.Millisecond

// tell says what a task is now.
func (rec *records) tell(ctx context.Context, f *found) (*api.Task, error) {
	one := &f.Tree
	a := &api.Task{Name: f.Name, Branch: f.Branch(), Into: one.Into, Base: one.Base, Path: one.Path, Workspace: f.Workspace,
		Agent: f.Agent, App: f.App, Parent: f.Parent, Created: f.Created, State: api.TaskStopped}
	if head, err := rec.git.Commit(ctx, repository(one), "refs/heads/"+f.Branch()); err == nil {
		a.Head = head
		if a.Commits, err = rec.git.Count(ctx, repository(one), rec.without(ctx, one), head); err != nil {
			return nil, err
		}
	}
	return a, rec.state(ctx, f, a)
}

// without is the commit that a task's own are counted from: its branch's, else its base.
func (rec *records) without(ctx context.Context, one *task.Tree) string {
	if one.Into != "" {
		if id, err := rec.git.Commit(ctx, repository(one), "refs/heads/"+one.Into); err == nil {
			return id
		}
	}
	return one.Base
}

// state asks the workspace how the task stands.
func (rec *records) state(ctx context.Context, f *found, a *api.Task) error {
	e, ok, err := rec.running(f)
	if err != nil || !ok {
		return err
	}
	r, err := e.Ask(ctx, api.Request{Op: api.OpStatus})
	if err != nil {
		if !e.Alive() {
			return nil
		}
		return err
	}
	apps, err := e.Apps(ctx)
	if err != nil {
		return err
	}
	a.Pending = r.Status.Pending
	var agent *api.App
	if i := slices.IndexFunc(apps, func(one api.App) bool { return f.App != "" && one.ID == f.App }); i >= 0 {
		agent = &apps[i]
	}
	a.State = stateOf(r.Status, agent)
	if agent != nil && !agent.Running {
		a.Exit = &agent.Exit
	}
	return nil
}

// stateOf says how a task stands by what its workspace and its agent say; agent is nil where there
// is none.
func stateOf(s *api.WorkspaceStatus, agent *api.App) string {
	switch {
	case s.State != api.StateRunning, s.Control != nil && s.Control.Mode != api.ControlActive:
		return api.TaskPaused
	case agent != nil && !agent.Running && agent.Exit == 0:
		return api.TaskDone
	case agent != nil && !agent.Running:
		return api.TaskFailed
	case s.Pending > 0:
		return api.TaskWaiting
	case s.AgentState != "":
		return s.AgentState
	}
	return api.TaskRunning
}

// Status tells of one task.
func (t *Tasks) Status(ctx context.Context, name string) (*api.Task, error) {
	f, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	return t.tell(ctx, f)
}

// List tells of the tasks of the caller's repository, or of all. With sizes each says how much it
// has changed.
func (t *Tasks) List(ctx context.Context, everywhere, sizes bool) ([]api.Task, error) {
	all, err := t.all(ctx, everywhere)
	if err != nil {
		return nil, err
	}
	out := []api.Task{}
	for _, f := range all {
		a, err := t.tell(ctx, f)
		if err != nil {
			return nil, err
		}
		out = append(out, *a)
	}
	if sizes {
		return out, t.sizes(ctx, all, out)
	}
	return out, nil
}

// sizes measures the tasks' changes, from one workspace for each repository.
func (t *Tasks) sizes(ctx context.Context, all []*found, out []api.Task) error {
	for from := 0; from < len(all); {
		to := from
		places := []string{string(all[from].Tree.Common)}
		for ; to < len(all) && all[to].key == all[from].key; to++ {
			places = append(places, string(all[to].Tree.Path))
		}
		b, err := t.look(ctx, places...)
		if err != nil {
			return err
		}
		for i := from; i < to && err == nil; i++ {
			out[i].Diff, err = t.size(ctx, b, all[i])
		}
		b.close()
		if err != nil {
			return err
		}
		from = to
	}
	return nil
}

// size compares a task's working tree with the commit at which it parted from its target.
func (t *Tasks) size(ctx context.Context, b *bench, f *found) (*api.TaskDiff, error) {
	one := &f.Tree
	since, err := t.since(ctx, f, one)
	if err != nil {
		return nil, err
	}
	said, err := scriptOf(ctx, b.entry, "", compare, since, string(one.Path), "--numstat", "-z")
	if err == nil && said.status != 0 {
		err = said.problem("comparing task " + f.Name)
	}
	if err != nil {
		return nil, err
	}
	d := parseNumbers(said.out)
	changed, gone, err := unsaved(ctx, b.entry, string(one.Path))
	d.Unsaved = len(changed)+len(gone) > 0
	return d, err
}

// since is the commit at which a tree of a task parted from what it goes into.
func (rec *records) since(ctx context.Context, f *found, one *task.Tree) (string, error) {
	head, err := rec.git.Commit(ctx, repository(one), "refs/heads/"+f.Branch())
	if err != nil {
		return "", fmt.Errorf("task %s: %w", f.Name, err)
	}
	return rec.git.MergeBase(ctx, repository(one), head, rec.without(ctx, one))
}

// parseNumbers adds up what git diff --numstat -z prints: two numbers and a path, or two empty
// fields more where a file was renamed. A binary file has dashes.
func parseNumbers(out string) *api.TaskDiff {
	d := new(api.TaskDiff)
	for record := range strings.SplitSeq(out, "\x00") {
		added, rest, ok := strings.Cut(record, "\t")
		removed, _, ok2 := strings.Cut(rest, "\t")
		if !ok || !ok2 {
			continue
		}
		n, err := strconv.Atoi(added)
		m, err2 := strconv.Atoi(removed)
		if err != nil && added != "-" || err2 != nil && removed != "-" {
			continue // a path that looks like numbers
		}
		d.Files++
		d.Added, d.Removed = d.Added+n, d.Removed+m
	}
	return d
}

// Diff gives what a task has changed since it parted from its target, or only a summary of it
// for stat. What is in no commit is part of it.
func (t *Tasks) Diff(ctx context.Context, name string, stat bool) (string, error) {
	f, err := t.find(ctx, name)
	if err != nil {
		return "", err
	}
	one := &f.Tree
	since, err := t.since(ctx, f, one)
	if err != nil {
		return "", err
	}
	b, err := t.look(ctx, string(one.Common), string(one.Path))
	if err != nil {
		return "", err
	}
	defer b.close()
	args := []string{since, string(one.Path)}
	if stat {
		args = append(args, "--stat")
	}
	said, err := scriptOf(ctx, b.entry, "", compare, args...)
	if err == nil && said.status != 0 {
		err = said.problem("comparing task " + f.Name)
	}
	if err != nil {
		return "", err
	}
	return said.out, nil
}

// How waiting for tasks may end beside being there.
var (
	ErrWaitTime  = errors.New("the time is over")
	ErrWaitNone  = errors.New("there is no such task")
	ErrWaitEnded = errors.New("its agent has ended")
)

// WaitRequest is what is waited for.
type WaitRequest struct {
	Names  []string
	States []string      // one of them; none is done
	Any    bool          // one task is enough
	For    time.Duration // 0 is without end
}

// Wait waits until tasks are in one of some states, and tells of them. Where they cannot come to it any more, as
// an agent has failed or a workspace has stopped, the error is ErrWaitEnded.
func (t *Tasks) Wait(ctx context.Context, r *WaitRequest) ([]api.Task, error) {
	states := r.States
	if len(states) == 0 {
		states = []string{api.TaskDone}
	}
	limited, cancel := ctx, context.CancelFunc(func() {})
	if r.For > 0 {
		limited, cancel = context.WithTimeout(ctx, r.For)
	}
	defer cancel()
	for {
		var all []api.Task
		there, ended := 0, 0
		for _, name := range sorted(slices.Clone(r.Names)) {
			a, err := t.Status(ctx, name)
			if err != nil {
				return nil, errors.Join(ErrWaitNone, err)
			}
			all = append(all, *a)
			switch {
			case slices.Contains(states, a.State):
				there++
			case a.State == api.TaskFailed, a.State == api.TaskStopped, a.State == api.TaskDone && a.Exit != nil:
				ended++
			}
		}
		switch {
		case there == len(all), r.Any && there > 0:
			return all, nil
		case ended == len(all), !r.Any && ended > 0:
			return all, ErrWaitEnded
		}
		select {
		case <-limited.Done():
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			return all, ErrWaitTime
		case <-time.After(lookEvery):
		}
	}
}
