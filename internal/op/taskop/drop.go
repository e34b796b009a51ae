package taskop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

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
	release, err := t.store.Lock(f.key)
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
	if _, err := os.Lstat(string(one.Path)); errors.Is(err, fs.ErrNotExist) {
		return nil
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
	if e, ok, err := rec.running(f); err != nil {
		return err
	} else if ok {
		if err := op.End(ctx, e); err != nil {
			return err
		}
	}
	if err := rec.removeTree(ctx, f); err != nil {
		return err
	}
	if _, err := rec.c.CleanUp(ctx, f.Workspace, false); err != nil && !strings.HasPrefix(err.Error(), "no workspace ") {
		rec.c.Tell(err.Error())
	}
	if err := rec.store.Remove(f.key, f.Name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
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
