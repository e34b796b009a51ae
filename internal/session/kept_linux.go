package session

import (
	"fmt"
	"os"
	"slices"

	"carrel/internal/api"
	"carrel/internal/auditor"
	"carrel/internal/named"
	"carrel/internal/pathname"
	"carrel/internal/policy"
	"carrel/internal/supervisor"
)

// auditRun begins the audit log of a run, where one is required.
func auditRun(s *Session, id string) (err error) {
	o := s.AuditOptions(id, func(err error) { s.Note("records of the audit log are lost: %v", err) })
	required := o.Required
	if required == "" {
		return nil
	}
	if s.State == nil {
		err = fmt.Errorf("there is no state directory")
	} else {
		s.Audit, err = auditor.OpenRun(s.State.Root(), o)
	}
	if err != nil {
		return &api.Denial{Code: api.CodeAudit, Operation: "start", Subject: s.Place.Project, Rule: "audit.required", Source: required,
			Message: fmt.Sprintf("%s: the run is refused, as it cannot be written down: %v", required, err),
			Hint:    "make what is missing; no other file lifts what the operator requires"}
	}
	if err := named.PruneRuns(s.State.Root(), named.MaxRunLogs); err != nil {
		s.Note("old audit logs of runs stay: %v", err)
	}
	s.Audit.RunBegins(s.Request.Argv, o.Of, s.Policy.Backend, s.Ceilings())
	return nil
}

// pauseOf gives what reads the pause of the project; its nil is none.
func pauseOf(s *Session) func() (*api.ProjectPause, error) {
	if s.State == nil {
		return func() (*api.ProjectPause, error) { return nil, nil }
	}
	pauses, project := s.State.Pauses(), s.Place.Project
	return func() (*api.ProjectPause, error) { return pauses.Now(project) }
}

// startsHere refuses to start anything in a project that is paused. The supervisor looks
// again when it can be reached, for a pause that comes meanwhile.
func startsHere(s *Session) error {
	p, err := pauseOf(s)()
	if err == nil && p != nil {
		return supervisor.RefusePaused("start", p)
	}
	return err
}

// showsOwn refuses a workspace that belongs to a process, a client's server, where a ceiling
// shows nothing of the directory that all its calls work in.
func showsOwn(s *Session, owner int) error {
	c, at := s.CeilingNotice(), s.Place.Cwd
	shows := func(a policy.Access) bool { return a == policy.Read || a == policy.Write }
	if owner == 0 || c == nil || shows(s.Policy.Lookup(at).Access) {
		return nil
	}
	if slices.ContainsFunc(s.Policy.Rules, func(r policy.Rule) bool { return shows(r.Access) && pathname.Within(r.Path, at) }) {
		return nil
	}
	return &api.Denial{Code: api.CodeCeiling, Operation: "start", Subject: at, Rule: string(policy.DimFiles), Source: c.Source,
		Message: fmt.Sprintf("files: the working directory %q is not among the mounts that the ceiling %s allows", at, c.Source),
		Hint:    "begin in a directory that the ceiling lists"}
}

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
