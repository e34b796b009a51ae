package taskop

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"carrel/internal/api"
	"carrel/internal/op"
	"carrel/internal/task"
)

// Drop ends a task and removes its workspace, its worktrees and its branches. Work that is in no
// other branch, or in no commit, is only thrown away with force.
func (t *Tasks) Drop(ctx context.Context, name string, force bool) error {
	f, err := t.find(ctx, name)
	if err != nil {
		return err
	}
	release, err := t.hold(f)
	if err != nil {
		return err
	}
	defer release()
	if !force {
		if err := t.isSaved(ctx, f); err != nil {
			return err
		}
	}
	return t.remove(ctx, f)
}

// hold keeps others from changing the tasks of a repository, and looks at one anew: another command may
// have changed or ended it meanwhile.
func (rec *records) hold(f *found) (release func(), err error) {
	if release, err = rec.store.Lock(f.key); err != nil {
		return nil, err
	}
	one, err := rec.store.Get(f.key, f.Name)
	if err == nil {
		f.Task = one
		return release, nil
	}
	release()
	if errors.Is(err, task.ErrNone) {
		err = none(f.Name)
	}
	return nil, err
}

// isSaved refuses to throw away what is only in this task.
func (rec *records) isSaved(ctx context.Context, f *found) error {
	one := &f.Tree
	head, err := rec.git.Commit(ctx, repository(one), "refs/heads/"+f.Branch())
	if err != nil {
		return nil // there is nothing
	}
	n, err := rec.git.Count(ctx, repository(one), rec.without(ctx, one), head)
	if err != nil {
		return err
	}
	if n > 0 {
		return notSaved(f, fmt.Sprintf("task %s: in no other branch: %d of its commits", f.Name, n))
	}
	if f.Making || f.there() != nil {
		return nil // no agent has worked there, or nothing is there
	}
	if n, err := rec.lonely(ctx, f); err != nil || n > 0 {
		return cmp.Or(err, notSaved(f, fmt.Sprintf("task %s: on no branch: %d commits that its worktree is on", f.Name, n)))
	}
	b, err := rec.look(ctx, string(one.Common), string(one.Path))
	if err != nil {
		return err
	}
	changed, gone, err := unsaved(ctx, b.entry, string(one.Path))
	b.close()
	if err != nil {
		return err
	}
	if n := len(changed) + len(gone); n > 0 {
		return notSaved(f, fmt.Sprintf("task %s: in no commit: %d of its changed files", f.Name, n))
	}
	return nil
}

func notSaved(f *found, message string) error {
	return &api.Denial{Code: api.CodeUnsaved, Operation: "task drop", Subject: f.Name, Message: message,
		Rule: "work is not lost by accident", Source: "built in",
		Hint: "`carrel task diff " + f.Name + "` shows it, `carrel task merge " + f.Name + "` takes it over; --force throws it away"}
}

// remove takes away all that there is of a task; what is not there is no mistake. The record goes
// last, so that a removal that was broken off can be gone on with.
func (rec *records) remove(ctx context.Context, f *found) error {
	if err := rec.end(ctx, f); err != nil {
		return err
	}
	if err := rec.removeTree(ctx, f); err != nil {
		return err
	}
	for range 50 { // one whose start was broken off comes up after that, for a moment
		_, err := rec.c.CleanUp(ctx, f.Workspace, false)
		if err == nil || strings.HasPrefix(err.Error(), "no workspace ") {
			break
		}
		rec.c.Tell(err.Error())
		if err := rec.end(ctx, f); err != nil {
			return err
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err := rec.store.Remove(f.key, f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// end ends the workspace of a task, where it runs.
func (rec *records) end(ctx context.Context, f *found) error {
	e, ok, err := rec.running(f)
	if err == nil && ok {
		err = op.End(ctx, e)
	}
	return err
}

// removeTree removes the worktree and the branch.
func (rec *records) removeTree(ctx context.Context, f *found) error {
	one := &f.Tree
	if err := task.RemoveTree(string(one.Path)); err != nil {
		return err
	}
	if _, err := os.Stat(string(one.Common)); errors.Is(err, fs.ErrNotExist) {
		return nil // the repository has gone, and its branches with it
	}
	if err := rec.git.ForgetTree(ctx, repository(one), string(one.Path)); err != nil {
		return err
	}
	head, err := rec.git.Commit(ctx, repository(one), "refs/heads/"+f.Branch())
	if err != nil {
		return nil // it is not there
	}
	return rec.git.RemoveBranch(ctx, repository(one), f.Branch(), head)
}

// checkout is what git knows of a task's worktree.
func (rec *records) checkout(ctx context.Context, f *found) (c task.Checkout, err error) {
	trees, err := rec.git.Trees(ctx, repository(&f.Tree))
	for _, one := range trees {
		if one.Path == string(f.Tree.Path) {
			return one, err
		}
	}
	return c, err
}

// lonely counts commits that the worktree is on, and no branch is: its end would lose them.
func (rec *records) lonely(ctx context.Context, f *found) (int, error) {
	c, err := rec.checkout(ctx, f)
	if err != nil || c.Head == "" || c.Branch != "" {
		return 0, err
	}
	return rec.git.Lonely(ctx, repository(&f.Tree), c.Head)
}

// wentOn ends a task's workspace and reports whether its branch has moved on from a commit meanwhile.
func (rec *records) wentOn(ctx context.Context, f *found, from string) (bool, error) {
	if err := rec.end(ctx, f); err != nil {
		return false, err
	}
	head, err := rec.git.Commit(ctx, repository(&f.Tree), "refs/heads/"+f.Branch())
	if err != nil || head != from {
		return err == nil, nil // a branch that has gone has nothing to lose
	}
	n, err := rec.lonely(ctx, f)
	return n > 0, err
}

// onBranch refuses to take a task's branch over while its worktree is elsewhere: the work may be there.
func (rec *records) onBranch(ctx context.Context, f *found) error {
	c, err := rec.checkout(ctx, f)
	if err != nil || c.Head == "" || c.Branch == f.Branch() {
		return err
	}
	at := "branch " + c.Branch
	if c.Branch == "" {
		at = "no branch"
	}
	return &api.Denial{Code: api.CodeUnsaved, Operation: "task merge", Subject: f.Name,
		Message: fmt.Sprintf("the worktree of task %s is on %s, at %.12s, and not on %s", f.Name, at, c.Head, f.Branch()),
		Hint: "have its agent bring the work to that branch; `carrel task run " + f.Name + " -- git switch " + f.Branch() +
			"` goes back to it"}
}
