package session

import "os"

// holdKept keeps carrel purge away as long as this runs.
func holdKept(s *Session) (release func()) {
	if s.State == nil {
		return func() {}
	}
	release, err := s.State.Hold(s.Place.Project)
	if err != nil {
		s.Note("what is kept of the project may be removed while it is used: %v", err)
		return func() {}
	}
	return release
}

// sweepGone removes what is kept of projects that have been gone for long. A run does not name
// other projects.
func sweepGone(s *Session) {
	if s.State == nil {
		return
	}
	n, err := s.State.Sweep()
	if n > 0 {
		s.Note("removed what was kept of %d projects whose directories have been gone for a month", n)
	}
	if err != nil {
		s.Note("removing what is kept of projects that are gone: %v", err)
	}
}

// noteKept notes the path of the project where something is kept of it, also without a
// history.
func noteKept(s *Session) {
	if s.State == nil {
		return
	}
	if _, err := os.Lstat(s.State.Project(s.Place.Project)); err == nil {
		s.NoteUse()
	}
}
