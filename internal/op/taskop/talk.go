package taskop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/supervisor"
)

// Send types a text into the terminal of a task's agent, and Enter.
func (t *Tasks) Send(ctx context.Context, name, text string) error {
	f, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf("there is nothing to send to task %s", name)
	}
	e, err := t.mustRun(f)
	if err != nil {
		return err
	}
	app, err := f.app()
	if err != nil {
		return err
	}
	// Before the agent says so itself: who waits from now on waits for what comes of this.
	if _, err := e.Ask(ctx, api.Request{Op: api.OpAgentState, Mode: api.TaskWorking}); err != nil {
		return err
	}
	if _, err := e.Ask(ctx, api.Request{Op: api.OpTerminalSend, App: app, Input: &api.Input{Text: text}}); err != nil {
		return err
	}
	// Programs at a terminal take what comes at once for pasted, with its line's end.
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(enterAfter):
	}
	_, err = e.Ask(ctx, api.Request{Op: api.OpTerminalSend, App: app, Input: &api.Input{Keys: []string{"Enter"}}})
	return err
}

// enterAfter is how long the key Enter stays behind a text that was typed.
const enterAfter = 150 * time.Millisecond

// Capture gives the last lines of the terminal of a task's agent.
func (t *Tasks) Capture(ctx context.Context, name string, lines int) ([]string, error) {
	f, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	e, err := t.mustRun(f)
	if err != nil {
		return nil, err
	}
	app, err := f.app()
	if err != nil {
		return nil, err
	}
	r, err := e.Ask(ctx, api.Request{Op: api.OpTerminalRead, App: app, Full: true})
	if err != nil {
		return nil, err
	}
	all := append(r.Screen.Scrollback, r.Screen.Lines...)
	for len(all) > 0 && strings.TrimSpace(all[len(all)-1]) == "" {
		all = all[:len(all)-1]
	}
	return all[max(0, len(all)-lines):], nil
}

// Open starts a task's workspace and its agent where they do not run, and tells which terminal
// is the agent's. An agent that has ended is started anew, without the prompt it once had.
func (t *Tasks) Open(ctx context.Context, name string) (e supervisor.Entry, a *api.Task, err error) {
	f, err := t.find(ctx, name)
	if err != nil {
		return e, nil, err
	}
	release, err := t.store.Lock(f.key)
	if err != nil {
		return e, nil, err
	}
	defer release()
	if e, err = t.start(ctx, f); err != nil {
		return e, nil, err
	}
	runs, err := runsIn(ctx, e, f.App)
	if err == nil && !runs {
		err = t.startAgent(ctx, f, e)
	}
	if err != nil {
		return e, nil, err
	}
	a, err = t.tell(ctx, f)
	return e, a, err
}

// Close ends a task's workspace, with its agent; all else of it stays.
func (t *Tasks) Close(ctx context.Context, name string) error {
	f, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	e, running, err := t.running(f)
	if err != nil || !running {
		return err
	}
	return op.End(ctx, e)
}

// runsIn says whether an app of a workspace runs.
func runsIn(ctx context.Context, e supervisor.Entry, app string) (bool, error) {
	apps, err := e.Apps(ctx)
	if err != nil {
		return false, err
	}
	for _, one := range apps {
		if one.ID == app && app != "" {
			return one.Running, nil
		}
	}
	return false, nil
}

// Entry finds the running workspace of a task, for a command in it.
func (t *Tasks) Entry(ctx context.Context, name string) (supervisor.Entry, error) {
	f, err := t.find(ctx, name)
	if err != nil {
		return supervisor.Entry{}, err
	}
	return t.mustRun(f)
}

// Rename gives a task another name, and its branch; the worktree and the workspace keep theirs.
func (t *Tasks) Rename(ctx context.Context, from, to string) (*api.Task, error) {
	f, err := t.find(ctx, from)
	if err != nil {
		return nil, err
	}
	release, err := t.store.Lock(f.key)
	if err != nil {
		return nil, err
	}
	defer release()
	if _, running, err := t.running(f); err != nil || running {
		if err == nil {
			err = fmt.Errorf("task %s runs, and its workspace may write to its branch by that name alone\n"+
				"hint: `carrel stop %s` ends it", from, f.Workspace)
		}
		return nil, err
	}
	if _, err := t.store.Get(f.key, to); err == nil {
		return nil, &api.Denial{Code: api.CodeExists, Operation: "task rename", Subject: to,
			Message: fmt.Sprintf("there is a task %q already", to)}
	}
	renamed := *f.Task
	renamed.Name = to
	if err := t.store.Save(f.key, &renamed); err != nil { // two records for a moment, and never none
		return nil, err
	}
	if err := t.git.RenameBranch(ctx, repository(&f.Tree), f.Branch(), renamed.Branch()); err != nil {
		return nil, errors.Join(err, t.store.Remove(f.key, to))
	}
	if err := t.store.Remove(f.key, from); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	return t.tell(ctx, &found{&renamed, f.key})
}

// Run runs a command in a task's workspace, in its worktree.
func (t *Tasks) Run(ctx context.Context, name string, argv []string) (*Ran, error) {
	if len(argv) == 0 {
		return nil, errors.New("no command given")
	}
	f, err := t.find(ctx, name)
	if err != nil {
		return nil, err
	}
	e, err := t.mustRun(f)
	if err != nil {
		return nil, err
	}
	said, err := in(ctx, e, string(f.Tree.Path), argv...)
	if err != nil {
		return nil, err
	}
	return &Ran{Stdout: api.Text(said.out), Stderr: api.Text(said.err), Exit: said.status}, nil
}
