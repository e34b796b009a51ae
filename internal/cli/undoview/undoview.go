// Package undoview prints what taking steps back has come to, for carrel undo and redo and for
// the rollback of carrel deny: the paths that are as they were again, those that are not, and
// what stood in the way. What is done is decided in package historyop.
package undoview

import (
	"errors"
	"fmt"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/history"
	"carrel/internal/op/historyop"
	"carrel/internal/show"
	"carrel/internal/stepview"
)

// Tell prints what was done, or would be, and gives the error that the command ends with.
// done is nil where there is nothing but an error to tell.
func Tell(env *cmdenv.Env, done *historyop.Undone, asJSON bool, failed error) error {
	if done == nil {
		return failed
	}
	var refused *historyop.RefusedError
	switch {
	case asJSON:
		if err := show.JSON(env.Out, done.Undo); err != nil {
			return errors.Join(err, failed)
		}
	case errors.As(failed, &refused):
		tellRefused(env, done, refused)
	default:
		would := ""
		if done.DryRun {
			would = "would be "
		}
		done.Print(env.Out, env.Err, done.Project, would, done.Missing)
	}
	if failed == nil && done.Missing > 0 {
		rest := "was"
		if done.DryRun {
			rest = "would be"
		}
		return &cmdenv.ExitError{Status: 1, Err: fmt.Errorf("%s could not be restored; everything else %s", show.Count(done.Missing, "path", "paths"), rest)}
	}
	return failed
}

// tellRefused tells what is in the way or could not be restored.
func tellRefused(env *cmdenv.Env, done *historyop.Undone, refused error) {
	var lost *history.UnrestorableError
	if errors.As(refused, &lost) {
		for _, x := range done.Unrestorable {
			fmt.Fprintf(env.Err, "carrel: cannot be restored: %s: %s\n", show.OneLine(stepview.Path(done.Project, string(x.Path))), show.OneLine(x.Why))
		}
	} else {
		stepview.PrintConflicts(env.Err, done.Project, done.Conflicts)
	}
	stepview.PrintLeftOut(env.Out, done.LeftOut)
}
