package steps

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"carrel/internal/api"
	"carrel/internal/changelog"
	"carrel/internal/config"
	"carrel/internal/histories"
	"carrel/internal/history"
	"carrel/internal/history/journal"
	"carrel/internal/policy"
)

// Options are what the steps of one run need.
type Options struct {
	Dir     string        // where the project's history is, or will be with the first change
	Stage   int           // the first process of the workspace, seen from outside
	Roots   []string      // their changes are kept
	Run     journal.Begin // what each step says of its run
	Bursts  bool          // a step ends when nothing has happened for a while
	Granted bool          // what was opened for writing once may be opened again unseen

	Safeguards config.Safeguards
	Scope      policy.Scope // what places in the safeguards are relative to
	Ignore     []string     // patterns of what the user does not want kept
	Limits     history.Limits
	Total      *histories.Limit // of all projects' histories; nil for none
	Records    string           // the directory with the project's records, "" for none

	Begun       func()               // is called when a history is begun
	Used        func()               // is called when one is there already
	Interrupted func(steps []uint64) // is told which steps an earlier run left open
	Note        func(format string, args ...any)
	Audit       func(operation string, step uint64, app string, of journal.Begin) // writes a step down; nil for none
}

// Open opens the history of a project for one run.
func Open(o Options) (*Recorder, error) {
	limits, err := newBounds(&o.Safeguards, o.Scope)
	if err != nil {
		return nil, fmt.Errorf("safeguards: %w", err)
	}
	var ignored func(path string) bool
	if len(o.Ignore) > 0 {
		all, err := policy.NewIgnored(o.Roots, o.Ignore)
		if err != nil {
			return nil, fmt.Errorf("history.ignore: %w", err)
		}
		ignored = all.Match
	}
	var store *history.Store
	if _, err := os.Lstat(o.Dir); err == nil {
		if store, err = o.shared(); err != nil {
			return nil, changelog.NotKept(err)
		}
		o.Used()
	}
	c := &common{dir: o.Dir, noted: o.Begun, roots: o.Roots, limits: o.Limits, ignored: ignored, audited: o.Audit,
		guard: newSafeguard(limits.within), bounds: limits}
	if o.Granted {
		c.granted = new(history.Granted)
	}
	k := &Recorder{line: line{common: c, run: o.Run, store: store}, records: o.Records, total: o.Total,
		over: make(chan struct{}), Changed: make(chan struct{}, 1), stirred: make(chan struct{}, 1)}
	k.jobs = newJobs(k, o.Stage)
	k.kin = k.jobs
	if o.Bursts {
		k.done.Go(k.watch)
	}
	return k, nil
}

// shared opens a history that is there already.
func (o *Options) shared() (*history.Store, error) {
	store, err := history.Open(o.Dir)
	var other *history.FormatError
	if errors.As(err, &other) {
		return nil, &api.Denial{Code: api.CodeOtherVersion, Operation: "start", Subject: other.Dir, Rule: "history of " + strings.TrimSpace(other.Known()), Source: strings.TrimSpace(other.Found),
			Message: other.Error(), Hint: "move that directory away to begin a new history, or use the version that wrote it"}
	}
	if err != nil {
		return nil, err
	}
	if err = o.closeUnfinished(store); err == nil {
		err = whenFree(store.Share)
	}
	if err != nil {
		store.Close()
		return nil, err
	}
	return store, nil
}

// closeUnfinished closes what a killed run left open, before more is written: what
// comes now would be taken for its own.
func (o *Options) closeUnfinished(store *history.Store) error {
	unfinished, err := store.Unfinished()
	if err != nil || !unfinished {
		return err
	}
	closed, err := store.Recover(o.Roots)
	if errors.Is(err, history.ErrBusy) {
		return nil // another run is at work, or an undo, which finds it too
	}
	o.Interrupted(closed)
	for _, n := range closed {
		o.Note("step %d of an earlier run was interrupted; `carrel undo --step %d` takes it back", n, n)
	}
	if err != nil {
		o.Note("%v", err) // undo says it again; what is done now is kept all the same
	}
	return nil
}

// RunOf is how the steps of one command, or of one workspace that stays, begin: with its id and its
// command line. open says that there are no walls.
func RunOf(id string, argv []string, open bool) journal.Begin {
	return journal.Begin{Kind: journal.StepRun, Run: id, Command: history.Argv(argv), Open: open}
}
