package undo

import (
	"errors"
	"fmt"

	"carrel/internal/history/store"
	"carrel/internal/history/writer"
)

// Recover closes the steps whose writers were killed: what they left is looked at
// now. An undo that was interrupted is finished, if all that it changes is in the
// roots. It says which steps it closed; what it cannot close stays as it is, and
// the error says why. It does nothing while a writer is open.
func Recover(s *store.Store, roots []string) (closed []uint64, err error) {
	l, err := s.Survey()
	if err != nil {
		return nil, err
	}
	closed, _, err = recoverSeen(s, l, roots)
	return closed, err
}

// RecoverAndSurvey gives with what Recover does the steps as they are afterwards. Where
// nothing was to be done, which is most often, they are read once. failed is the error
// of Recover.
func RecoverAndSurvey(s *store.Store, roots []string) (l *store.Log, closed []uint64, failed, err error) {
	if l, err = s.Survey(); err != nil {
		return nil, nil, nil, err
	}
	closed, tried, failed := recoverSeen(s, l, roots)
	if tried {
		l, err = s.Survey()
	}
	return l, closed, failed, err
}

// recoverSeen is Recover with the steps as they were a moment ago; tried says that they
// may be others now.
func recoverSeen(s *store.Store, l *store.Log, roots []string) (closed []uint64, tried bool, err error) {
	if len(l.Interrupted()) == 0 {
		if unfinished, err := s.Unfinished(); err != nil || !unfinished {
			return nil, false, err
		}
	}
	if err := s.LockExclusive(); err != nil {
		if errors.Is(err, store.ErrBusy) && len(l.Interrupted()) == 0 {
			return nil, false, nil
		}
		return nil, true, err
	}
	defer s.Unlock()
	if l, err = s.Read(); err != nil { // another process may have done it in between
		return nil, true, err
	}
	defer func() {
		if err == nil {
			err = s.CloseSegments(l) // no writer is open: we are alone
		}
	}()
	seen := make(map[uint64]bool)
	for {
		st := l.NextInterrupted(seen)
		if st == nil {
			return closed, true, err
		}
		seen[st.Number] = true
		var e error
		if st.Undoes() {
			var more []uint64
			more, e = goOn(s, l, st, roots)
			closed = append(closed, more...)
		} else if e = writer.CloseStep(s, st, l, roots); e == nil {
			closed = append(closed, st.Number)
		}
		if e != nil {
			err = errors.Join(err, fmt.Errorf("step %d was interrupted and cannot be closed: %w", st.Number, e))
		}
		if l, e = s.Read(); e != nil {
			return closed, true, errors.Join(err, e)
		}
	}
}
