package historyop

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/op"
	"carrel/internal/policy"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"
)

// UndoRequest asks for steps to be taken back, or to be made again.
type UndoRequest struct {
	Of
	Redo     bool     // the newest undos are what is taken back
	Count    int      // how many, the newest first; 0 where it is not said, which is one
	Word     string   // Count as the caller wrote it, for an error; "" without
	Step     string   // this one; "" for none. Not with Count or To
	To       string   // all after this one; "" for none
	Paths    []string // only these paths and what is in them
	Write    []string // places outside the project that the steps were allowed to change
	Mode     Mode
	DryRun   bool // do nothing
	Strict   bool // a dry run fails where the undo would
	Progress func(done, all int)
}

// Undone is what an undo did, or would do.
type Undone struct {
	stepview.Undo
	Project string
	Missing int // paths that could not be brought back, or could not be
}

// Undo takes steps back. Where nothing is done, as paths are not as the steps left them or
// cannot be restored, there are an answer and an error.
func Undo(c *op.Caller, in UndoRequest) (*Undone, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	if !in.DryRun {
		if err := c.MayChange(in.Project, in.SeenBy); err != nil {
			return nil, err
		}
		release, err := c.Release(in.Project, "carrel "+in.operation())
		if err != nil {
			return nil, err
		}
		defer release()
	}
	by, err := Request(c, in.Project)
	if err != nil {
		return nil, err
	}
	flag := policy.Source{Layer: policy.LayerCommandLine, Text: "--write"}
	for _, place := range in.Write {
		by.Flags.Files = append(by.Flags.Files, policy.FileRequest{Place: place, Access: policy.Write, Source: flag})
	}
	h, err := Open(c, in.Of)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	req := history.Request{Redo: in.Redo, Mode: in.Mode, Progress: in.Progress}
	for _, p := range in.Paths {
		at, err := PathOf(c, h, p)
		if err != nil {
			return nil, err
		}
		req.Paths = append(req.Paths, at)
	}
	if req.Steps, err = in.steps(h, req); err != nil {
		return nil, err
	}
	return undoSteps(h, by, req, in)
}

func (in *UndoRequest) operation() string {
	if in.Redo {
		return "redo"
	}
	return "undo"
}

func (in *UndoRequest) check() error {
	words := append([]string{in.Step, in.To}, in.Paths...)
	if err := op.NoZeroBytes(in.operation(), append(words, in.Write...)...); err != nil {
		return err
	}
	if in.To != "" && in.Step != "" {
		return errors.New("--to and --step: want one of them only")
	}
	if in.Count != 0 && (in.To != "" || in.Step != "") {
		return errors.New("a number of steps and --to or --step: want one of them")
	}
	return nil
}

// Count reads how many steps are meant. A number that is too large means all.
func Count(word string, redo bool) (int, error) {
	n, err := strconv.Atoi(word)
	if errors.Is(err, strconv.ErrRange) && n > 0 {
		return math.MaxInt, nil
	}
	switch {
	case err == nil && n >= 1:
		return n, nil
	case redo:
		return 0, fmt.Errorf("%q: want how many undos, 1 or more", word)
	}
	return 0, fmt.Errorf("%q: want how many steps, 1 or more; --step takes one by its number", word)
}

// steps finds out which steps are meant, newest first.
func (in *UndoRequest) steps(h *projecthistory.History, req history.Request) ([]uint64, error) {
	if in.Step != "" {
		s, err := Numbered(h, in.Step)
		if err != nil {
			return nil, err
		}
		return []uint64{s.Number}, nil
	}
	n, after := max(1, in.Count), uint64(0)
	asked := cmp.Or(in.Word, strconv.Itoa(n))
	if in.To != "" {
		s, err := Numbered(h, in.To)
		if err != nil {
			return nil, err
		}
		after, n, asked = s.Number, len(h.Log.Steps), "all after step "+in.To
	}
	candidates := h.Log.Changes()
	if req.Redo {
		candidates = slices.DeleteFunc(slices.Clone(h.Log.Steps), func(s *steplog.Step) bool {
			return s.Begin.Kind != journal.StepUndo || s.UndoneBy != 0
		})
	}
	var out []uint64
	var last *steplog.Step // that was chosen
	found, paths := 0, slices.Clone(req.Paths)
	for _, s := range slices.Backward(h.Log.Steps) {
		one := last != nil && h.Log.OneUndo(s, last)
		switch {
		case found == n && !one || s.Number <= after || !slices.Contains(candidates, s):
		case s.Open() || !req.Redo && (h.Log.Undone(s) || !s.Net()):
		case req.Paths != nil && !slices.ContainsFunc(paths, s.Touches):
		default:
			out, last = append(out, s.Number), s
			if !one {
				found++
			}
		}
		if found < n && s.Number > after {
			paths = steplog.WithFormer(paths, s)
		}
	}
	if found == 0 || found < n && in.To == "" {
		return nil, tooFew(h, req, found, asked)
	}
	return out, nil
}

// tooFew says that there are not as many steps as were asked for.
func tooFew(h *projecthistory.History, req history.Request, found int, asked string) error {
	what := "undone"
	if req.Redo {
		what = "made again"
	}
	which := ""
	if len(req.Paths) > 0 {
		var words []string
		for _, p := range req.Paths {
			words = append(words, stepview.Path(h.Project, p))
		}
		which = " that changed " + strings.Join(words, " or ")
	}
	hint := ""
	if at := h.Left(); at != "" {
		hint = "\nhint: there are steps of " + show.QuoteIf(at) +
			", which is not there any more; if that is this project, move it back to undo them"
	}
	return fmt.Errorf("%s%s can be %s in %s, asked for %s; `carrel history --all` lists all%s",
		show.Count(found, "step", "steps"), which, what, show.QuoteIf(h.Project), asked, hint)
}

// undoSteps does what is asked for, or says what it would do.
func undoSteps(h *projecthistory.History, by projecthistory.Request, req history.Request, in UndoRequest) (*Undone, error) {
	if in.DryRun {
		v, err := h.Preview(by, req)
		if v == nil {
			return nil, err
		}
		if v.Refused != nil && in.Strict {
			out, refused := refusedUndo(h, true, v, v.Refused)
			return out, errors.Join(refused, err)
		}
		return undone(h, true, v), err
	}
	v, err := h.Undo(by, req)
	if err == nil {
		return undone(h, false, v), nil
	}
	var out *Undone
	if v != nil {
		out, err = refusedUndo(h, false, v, err)
	}
	return out, busy(err)
}

// undone tells what was done, or would be.
func undone(h *projecthistory.History, dry bool, v *history.Preview) *Undone {
	out := &Undone{Undo: stepview.UndoOf(h, dry, v, v.Conflicts), Project: h.Project}
	for _, x := range out.Unrestorable {
		if x.Why != journal.Ignored {
			out.Missing++
		}
	}
	out.Done = !dry && out.Missing == 0
	return out
}

// A RefusedError says that nothing was done, or would be, and why.
type RefusedError struct {
	text string
	err  error
}

func (e *RefusedError) Error() string { return e.text }

// Unwrap gives a [*history.ConflictError] or a [*history.UnrestorableError].
func (e *RefusedError) Unwrap() error { return e.err }

// refusedUndo tells what is in the way or could not be restored, so that nothing is done,
// and gives the error to end with.
func refusedUndo(h *projecthistory.History, dry bool, v *history.Preview, why error) (*Undone, error) {
	nothing := "nothing was changed"
	if dry {
		nothing = "nothing would be changed"
	}
	var conflict *history.ConflictError
	var lost *history.UnrestorableError
	switch {
	case errors.As(why, &conflict):
		text := nothing + ": " + show.Count(len(conflict.Conflicts), "path is", "paths are") + " not as the steps left them\n" +
			"hint: --keep-both keeps both, --skip-conflicts leaves them, --force replaces them"
		return &Undone{Undo: stepview.UndoOf(h, dry, v, conflict.Conflicts), Project: h.Project}, &RefusedError{text, conflict}
	case errors.As(why, &lost):
		text := nothing + ": " + show.Count(len(lost.Paths), "path can", "paths can") + " not be restored\n" +
			"hint: --skip-conflicts restores everything else"
		return &Undone{Undo: stepview.UndoOf(h, dry, v, nil), Project: h.Project}, &RefusedError{text, lost}
	}
	return nil, why
}

// busy says what to do where a run is in the way.
func busy(err error) error {
	if errors.Is(err, history.ErrBusy) {
		return fmt.Errorf("%w: `carrel ps` lists it, `carrel stop` ends it", err)
	}
	return err
}
