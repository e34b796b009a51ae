// Package taskop has the operations on tasks: several agents work side by side, each in a
// worktree of git, on a branch of its own, in a workspace of its own; see package task.
//
// Whatever reads the files of a working tree runs behind walls: a checkout, a comparison, a
// merge. For the last two a workspace is started that ends with the operation. It is no
// task's, so that nothing an agent left running has a hand in what a person is shown. A merge
// is a step of the target's history, and one undo takes it back.
package taskop

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/supervisor"
	"carrel/internal/task"
)

// Tasks are those of a caller.
type Tasks struct{ *records }

// records are what is known of them, and what all operations do with one.
type records struct {
	c     *op.Caller
	git   *task.Git
	store *task.Store
	by    *Coordinator // the workspace that asks; nil for a person
}

// Operator is what can be asked about tasks, outside and inside a coordinator's workspace.
type Operator interface {
	New(context.Context, *NewRequest) (*api.Task, error)
	Status(ctx context.Context, name string) (*api.Task, error)
	List(ctx context.Context, everywhere, sizes bool) ([]api.Task, error)
	Diff(ctx context.Context, name string, stat bool) (string, error)
	Wait(context.Context, *WaitRequest) ([]api.Task, error)
	Capture(ctx context.Context, name string, lines int) ([]string, error)
	Send(ctx context.Context, name, text string) error
	Merge(context.Context, *MergeRequest) (*Merged, error)
	Close(ctx context.Context, name string) error
	Drop(ctx context.Context, name string, force bool) error
}

// Open finds git and the records.
func Open(c *op.Caller) (*Tasks, error) {
	git, err := task.FindGit(c.Getenv)
	if err != nil {
		return nil, err
	}
	return &Tasks{&records{c: c, git: git, store: task.OpenStore(c.State())}}, nil
}

// found is a task with where its record is.
type found struct {
	*task.Task
	key string
}

// repository is a directory in which git finds the repository of a tree.
func repository(t *task.Tree) string { return string(t.Common) }

// find gives the task that a name means: of the caller's repository, else of any.
func (rec *records) find(ctx context.Context, name string) (*found, error) {
	if err := task.CheckName(name); err != nil {
		return nil, err
	}
	if where, err := rec.here(ctx); err == nil {
		key := task.Key(where.Common)
		one, err := rec.store.Get(key, name)
		if err == nil {
			return rec.mine(&found{one, key})
		}
		if !errors.Is(err, task.ErrNone) {
			return nil, err
		}
	}
	keys, err := rec.store.Keys()
	if err != nil {
		return nil, err
	}
	var all []*found
	for _, key := range keys {
		if one, err := rec.store.Get(key, name); err == nil {
			all = append(all, &found{one, key})
		}
	}
	switch len(all) {
	case 0:
		return nil, none(name)
	case 1:
		return rec.mine(all[0])
	}
	var places []string
	for _, f := range all {
		places = append(places, string(f.Tree.Repository))
	}
	return nil, fmt.Errorf("task %q is in several repositories: %s\nhint: go into the one that you mean", name, strings.Join(places, ", "))
}

// none says that there is no task of a name.
func none(name string) error {
	return &api.Denial{Code: api.CodeNoTask, Operation: "task", Subject: name, Message: fmt.Sprintf("no task %q", name),
		Hint: "`carrel task list` names them"}
}

// mine refuses an agent what it has not asked for itself, as if it were not there.
func (rec *records) mine(f *found) (*found, error) {
	if rec.by != nil && f.Parent != rec.by.Workspace {
		return nil, none(f.Name)
	}
	return f, nil
}

// here is where the caller is in a repository.
func (rec *records) here(ctx context.Context) (*task.Place, error) { return rec.at(ctx, rec.c.Dir) }

func (rec *records) at(ctx context.Context, dir string) (*task.Place, error) {
	dir, err := rec.c.Abs(dir)
	if err != nil {
		return nil, err
	}
	return rec.git.Where(ctx, dir)
}

// running finds the workspace of a task, if it runs.
func (rec *records) running(f *found) (supervisor.Entry, bool, error) {
	return rec.c.WholeName(f.Workspace)
}

// mustRun is running for what needs it.
func (rec *records) mustRun(f *found) (supervisor.Entry, error) {
	e, ok, err := rec.running(f)
	if err == nil && !ok {
		err = &api.Denial{Code: api.CodeNotRunning, Operation: "task", Subject: f.Name,
			Message: fmt.Sprintf("the workspace of task %s does not run", f.Name),
			Hint:    "`carrel task open " + f.Name + "` starts it, and its agent"}
	}
	return e, err
}

// app gives the terminal in which a task's agent works.
func (f *found) app() (string, error) {
	if f.App == "" {
		return "", &api.Denial{Code: api.CodeNoApp, Operation: "task", Subject: f.Name, Message: fmt.Sprintf("task %s has no agent", f.Name),
			Hint: "`carrel terminal start " + f.Workspace + "` makes a terminal there"}
	}
	return f.App, nil
}

// all gives the tasks of the caller's repository, or of all repositories.
func (rec *records) all(ctx context.Context, everywhere bool) ([]*found, error) {
	var keys []string
	if everywhere {
		list, err := rec.store.Keys()
		if err != nil {
			return nil, err
		}
		keys = list
	} else {
		where, err := rec.here(ctx)
		if err != nil {
			return nil, err
		}
		keys = []string{task.Key(where.Common)}
	}
	var all []*found
	for _, key := range keys {
		list, broken, err := rec.store.List(key)
		if err != nil {
			return nil, err
		}
		for _, why := range broken {
			rec.c.Tell(why.Error())
		}
		for _, one := range list {
			if f, err := rec.mine(&found{one, key}); err == nil {
				all = append(all, f)
			}
		}
	}
	return all, nil
}

// dataHome is where data of programs is kept that a person uses.
func (rec *records) dataHome() string {
	if dir := rec.c.Getenv("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Clean(dir)
	}
	return filepath.Join(rec.c.Getenv("HOME"), ".local/share")
}

// texts are words as they are kept.
func texts(words []string) []api.Text {
	var out []api.Text
	for _, w := range words {
		out = append(out, api.Text(w))
	}
	return out
}

func words(list []api.Text) []string {
	var out []string
	for _, w := range list {
		out = append(out, string(w))
	}
	return out
}

// sorted gives names in one order, each once.
func sorted(names []string) []string {
	slices.Sort(names)
	return slices.Compact(names)
}
