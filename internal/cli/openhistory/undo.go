package openhistory

import (
	"errors"
	"fmt"
	"io"
	"os"

	"carrel/internal/cli/cmdenv"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"

	"golang.org/x/term"
)

// Undo is how steps are taken back.
type Undo struct {
	By     projecthistory.Request // decides which paths may be changed
	DryRun bool
	JSON   bool
}

// TakeBack does what is asked for, or says what it would do.
func TakeBack(env *cmdenv.Env, h *projecthistory.History, u Undo, req history.Request) error {
	if u.DryRun {
		v, err := h.Preview(u.By, req)
		if v != nil && v.Refused != nil && !env.ForProgram {
			err = errors.Join(tellRefused(env, h, u, v, v.Refused, "would be "), err)
		} else if v != nil {
			err = errors.Join(tellUndo(env, h, u, v, "would be "), err)
		}
		return err
	}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		req.Progress = func(done, all int) { progress(env.Err, done, all) }
	}
	v, err := h.Undo(u.By, req)
	if v != nil && err != nil {
		err = tellRefused(env, h, u, v, err, "")
	}
	if errors.Is(err, history.ErrBusy) {
		return fmt.Errorf("%w: `carrel ps` lists it, `carrel stop` ends it", err)
	}
	if err != nil {
		return err
	}
	return tellUndo(env, h, u, v, "")
}

// tellRefused tells what is in the way or could not be restored, so that nothing is
// done, and gives the error to end with.
func tellRefused(env *cmdenv.Env, h *projecthistory.History, u Undo, v *history.Preview, refused error, would string) error {
	nothing := "nothing was changed"
	if would != "" {
		nothing = "nothing would be changed"
	}
	var conflict *history.ConflictError
	var lost *history.UnrestorableError
	switch {
	case errors.As(refused, &conflict):
		j := stepview.UndoOf(h, u.DryRun, v, conflict.Conflicts)
		if u.JSON {
			if err := show.JSON(env.Out, j); err != nil {
				return err
			}
		} else {
			stepview.PrintConflicts(env.Err, h, j.Conflicts)
			stepview.PrintLeftOut(env.Out, j.LeftOut)
		}
		return fmt.Errorf("%s: %s not as the steps left them\nhint: --keep-both keeps both, --skip-conflicts leaves them, --force replaces them", nothing, show.Count(len(conflict.Conflicts), "path is", "paths are"))
	case errors.As(refused, &lost):
		return refuseLoss(env, h, u, v, lost, nothing)
	}
	return refused
}

// refuseLoss tells what could not be restored.
func refuseLoss(
	env *cmdenv.Env, h *projecthistory.History, u Undo, v *history.Preview, lost *history.UnrestorableError, nothing string,
) error {
	j := stepview.UndoOf(h, u.DryRun, v, nil)
	if u.JSON {
		if err := show.JSON(env.Out, j); err != nil {
			return err
		}
	} else {
		for _, x := range j.Unrestorable {
			fmt.Fprintf(env.Err, "carrel: cannot be restored: %s: %s\n", show.OneLine(stepview.Path(h, string(x.Path))), show.OneLine(x.Why))
		}
		stepview.PrintLeftOut(env.Out, j.LeftOut)
	}
	return fmt.Errorf("%s: %s not be restored\nhint: --skip-conflicts restores everything else", nothing, show.Count(len(lost.Paths), "path can", "paths can"))
}

// progress rewrites one line of a terminal while many paths are restored.
func progress(to io.Writer, done, all int) {
	if all > 1000 && (done%500 == 0 || done == all) {
		fmt.Fprintf(to, "\rcarrel: %d of %d", done, all)
		if done == all {
			fmt.Fprint(to, "\r\x1b[K")
		}
	}
}

// tellUndo tells what was done, or would be.
func tellUndo(env *cmdenv.Env, h *projecthistory.History, u Undo, v *history.Preview, would string) error {
	j := stepview.UndoOf(h, u.DryRun, v, v.Conflicts)
	missing := 0
	for _, x := range j.Unrestorable {
		if x.Why != journal.Ignored {
			missing++
		}
	}
	j.Done = !u.DryRun && missing == 0
	if u.JSON {
		return errors.Join(show.JSON(env.Out, j), incomplete(env, u, missing))
	}
	j.Print(env.Out, env.Err, h, would, missing)
	return incomplete(env, u, missing)
}

// incomplete is the error of an undo, or of its dry run, that could not bring some paths back.
// Another surface reads that from the answer.
func incomplete(env *cmdenv.Env, u Undo, missing int) error {
	if missing == 0 || env.ForProgram {
		return nil
	}
	rest := "was"
	if u.DryRun {
		rest = "would be"
	}
	return &cmdenv.ExitError{Status: 1, Err: fmt.Errorf("%s could not be restored; everything else %s", show.Count(missing, "path", "paths"), rest)}
}
