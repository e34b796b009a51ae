package history

import (
	"carrel/internal/history/steplog"
	"carrel/internal/history/store"
	"carrel/internal/history/undo"
	"carrel/internal/history/writer"
)

// Store is the history of one project: a [store.Store], with who writes to it and who takes
// steps back.
type Store struct{ *store.Store }

// Open opens the history in a directory, and makes it where there is none.
func Open(dir string) (*Store, error) { return wrap(store.Open(dir)) }

// OpenToRead is Open also where nothing can be written to: then steps can be read, and not
// taken back.
func OpenToRead(dir string) (*Store, error) { return wrap(store.OpenToRead(dir)) }

func wrap(s *store.Store, err error) (*Store, error) {
	if err != nil {
		return nil, err
	}
	return &Store{s}, nil
}

type (
	// Writer tells a history what a run changes, step by step.
	Writer = writer.Writer
	// Written is a file that a program can write to without being seen.
	Written = writer.Written
	// Tally is what a step has done so far to what was there before it.
	Tally = writer.Tally
)

// SoFar looks at what an open step has come to by now, so that it can be told like one that is
// closed. Nothing is written. The step must not be used for an undo afterwards.
func SoFar(l *Log, st *steplog.Step) error { return writer.SoFar(l, st) }

// EstimateAt is the estimate of the history in a directory, which is not opened for that and
// need not be of this version.
func EstimateAt(dir string) (Size, error) { return store.EstimateAt(dir) }

// NewWriter begins a segment. roots are the places whose changes are told, canonical; run
// names the run.
func (s *Store) NewWriter(run string, roots []string) (*writer.Writer, error) {
	return writer.New(s.Store, run, roots)
}

// Recover closes the steps whose writers were killed: what they left is looked at now. An
// undo that was interrupted is finished, if all that it changes is in the roots. It says
// which steps it closed; what it cannot close stays as it is, and the error says why. It does
// nothing while a writer is open.
func (s *Store) Recover(roots []string) (closed []uint64, err error) {
	return undo.Recover(s.Store, roots)
}

// RecoverAndSurvey gives with what Recover does the steps as they are afterwards. Where
// nothing was to be done, which is most often, they are read once. failed is the error of
// Recover.
func (s *Store) RecoverAndSurvey(roots []string) (l *Log, closed []uint64, failed, err error) {
	return undo.RecoverAndSurvey(s.Store, roots)
}

// Preview says what a request would do, and what is in its way, also with the error of what
// it is not allowed to do. Nothing is changed.
func (s *Store) Preview(l *Log, req undo.Request) (*undo.Preview, error) {
	return undo.PreviewOf(s.Store, l, req)
}

// Undo does what a request says, or nothing: an error that comes in the middle takes back
// what was done. Each step is taken back by a step of its own.
func (s *Store) Undo(l *Log, req undo.Request) (*undo.Preview, error) {
	return undo.Do(s.Store, l, req)
}
