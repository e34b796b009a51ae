// Package historyop is what can be asked of the history of a project: to list steps, to show one
// and what it changed as a diff; to take steps back, make them again and remove them for good,
// and how much they take. Every surface asks here.
//
// Each operation is a function of a caller and a request. It decides which steps are meant, and
// has the named workspaces of the project release the history where it changes something. It
// gives values of package stepview. What may be undone and told is decided in package
// projecthistory.
//
// It prints nothing. What it finds beside the answer, it tells the caller as a notice.
package historyop

import (
	"errors"
	"fmt"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

	"carrel/internal/api"
	"carrel/internal/history/journal"
	"carrel/internal/history/steplog"
	"carrel/internal/op"
	"carrel/internal/policy"
	"carrel/internal/projecthistory"
	"carrel/internal/show"
	"carrel/internal/stepview"
)

// Of says which history is meant, and what of it may be told.
type Of struct {
	Project string // the project that holds this directory; "" is the caller's own
	SeenBy  string // the id of a running workspace: what it shows is told, and no more; "" for no such limit
}

// Step is one step, as programs are told of it.
type Step = stepview.Step

// Mode says what becomes of paths that are not as the steps left them.
type Mode = journal.Mode

// The modes. With Abort nothing is done.
const (
	Abort    = journal.Abort
	KeepBoth = journal.KeepBoth
	Skip     = journal.Skip
	Force    = journal.Force
)

// Removed is what was removed, or would be.
type Removed = stepview.Removal

// Request is what the history of a project is opened by.
func Request(c *op.Caller, project string) (projecthistory.Request, error) {
	under, err := c.Ceilings()
	return projecthistory.Request{Cwd: c.In(project), Environ: c.Environ, Ceilings: under, Default: policy.Human, Version: c.Version}, err
}

// Open opens the history of a project and tells the caller what was found there.
func Open(c *op.Caller, of Of) (*projecthistory.History, error) {
	req, err := Request(c, of.Project)
	if err != nil {
		return nil, err
	}
	if err := op.IsDirectory(req.Cwd); err != nil {
		return nil, err
	}
	debug.SetGCPercent(50) // a step of a million paths is large, and all of it is looked at once
	h, err := projecthistory.Open(req)
	if err != nil {
		return nil, err
	}
	if of.SeenBy != "" {
		h.SeenBy(op.Sighted(c, of.SeenBy))
	}
	TellElsewhere(c, h)
	for _, n := range h.Closed {
		if err := tellClosed(c, h, n); err != nil {
			h.Close()
			return nil, err
		}
	}
	if h.Open != nil {
		c.Tell(show.OneLine(h.Redacted(h.Open).Error()))
	}
	for _, d := range h.Log.Damaged {
		c.Tell("the history is damaged: " + show.OneLine(d))
	}
	return h, nil
}

// Dir is where the history of a project is kept, whether it has begun or not.
func Dir(c *op.Caller, of Of) (string, error) {
	h, err := Open(c, of)
	if err != nil {
		return "", err
	}
	defer h.Close()
	return h.Dir, nil
}

// TellElsewhere says where a history is that is no longer looked at: history.dir was
// changed, and what is kept stays where it is.
func TellElsewhere(c *op.Caller, h *projecthistory.History) {
	if h.Elsewhere != "" {
		c.Tell(fmt.Sprintf("there are no steps in %s; an older history of this project is in %s, from when history.dir was another",
			show.OneLine(show.QuoteIf(h.Dir)), show.OneLine(show.QuoteIf(h.Elsewhere))))
	}
}

// tellClosed tells of a step that had been interrupted: of none for an undo that
// had not changed anything.
func tellClosed(c *op.Caller, h *projecthistory.History, n uint64) error {
	s := h.Log.Step(n)
	switch {
	case s == nil:
		c.Tell("an undo was interrupted before it changed anything")
	case s.Begin.Kind == journal.StepRun || s.Begin.Kind == journal.StepJob:
		c.Tell(fmt.Sprintf("step %d was interrupted; `carrel show %d` lists what it had done, `carrel undo --step %d` takes it back", n, n, n))
	default:
		c.Tell(fmt.Sprintf("the %s of %s was interrupted and is finished now", s.Begin.Kind, stepNumbers(s.Begin.Of)))
		if s.End == nil {
			return nil
		}
		for _, at := range s.End.Left {
			unnamed, err := h.Unnamed([]string{string(at)})
			if err != nil {
				return err
			}
			if !unnamed[string(at)] {
				c.Tell(show.OneLine(string(at)) + " was changed by another process meanwhile and is left as it is")
			}
		}
	}
	return nil
}

// stepNumbers names steps for a sentence.
func stepNumbers(numbers []uint64) string {
	words := make([]string, len(numbers))
	for i, n := range numbers {
		words[i] = strconv.FormatUint(n, 10)
	}
	if len(words) == 1 {
		return "step " + words[0]
	}
	return "steps " + strings.Join(words, ", ")
}

// SoFar has an open step tell what it has come to by now.
func SoFar(c *op.Caller, h *projecthistory.History, s *steplog.Step) {
	if !s.Open() {
		return
	}
	err := h.SoFar(s)
	switch {
	case err == nil:
	case s.Live:
		c.Tell(fmt.Sprintf("step %d goes on, and what it has changed so far cannot be told in full: %s", s.Number, show.OneLine(err.Error())))
	default:
		c.Tell(fmt.Sprintf("what step %d has changed cannot be told in full: %s", s.Number, show.OneLine(err.Error())))
	}
}

// newestOr gives the step of the first name, and without one the newest that changed something.
func newestOr(h *projecthistory.History, names []string) (*steplog.Step, error) {
	if len(names) > 0 {
		return Numbered(h, names[0])
	}
	for _, s := range slices.Backward(h.Log.Changes()) {
		if s.Net() {
			return s, nil
		}
	}
	return nil, fmt.Errorf("no steps in %s", show.QuoteIf(h.Project))
}

// Numbered finds a step by its number, as the caller wrote it.
func Numbered(h *projecthistory.History, name string) (*steplog.Step, error) {
	n, err := strconv.ParseUint(name, 10, 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return nil, fmt.Errorf("step %q: want the number of one; `carrel history` lists them", name)
	}
	if s := h.Log.Step(n); s != nil && err == nil {
		return s, nil
	}
	return nil, fmt.Errorf("step %s: there is none of this number in %s; `carrel history --all` lists them", name, show.QuoteIf(h.Project))
}

// PathOf is a path as the history knows it, "" for none. Whether a path that the caller may
// not know is in the history is no answer.
func PathOf(c *op.Caller, h *projecthistory.History, path string) (string, error) {
	at, err := absolute(c, path)
	if err != nil || at == "" {
		return at, err
	}
	unnamed, err := h.Unnamed([]string{at})
	if err == nil && unnamed[at] {
		err = fmt.Errorf("--path %q: %s", path, api.NewLeftOut(1).Why)
	}
	return at, err
}

// absolute is a path without links in what it lies in, "" for none.
func absolute(c *op.Caller, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	abs, err := c.Abs(path)
	if err != nil {
		return "", fmt.Errorf("finding %q: %w", path, err)
	}
	for dir := filepath.Dir(abs); dir != "/"; dir = filepath.Dir(dir) { // the path, and what it lay in, may be gone
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			return filepath.Join(real, abs[len(dir):]), nil
		}
	}
	return abs, nil
}
