package supervisor

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"carrel/internal/api"
)

// project is what this workspace has done about the pause of its project. Whether there is
// one, the state directory alone says: a caller only has it read anew.
type project struct {
	of     *Server
	turn   sync.Mutex  // held while it is followed
	paused atomic.Bool // since it was read last
	frozen bool        // for it; under turn
}

// refuses refuses an operation while the project is paused. The pause is read each
// time: the process that wrote it down may not have found this workspace.
func (j *project) refuses(op string) *api.Denial {
	s := j.of
	if s == nil || s.cfg.ProjectPaused == nil {
		return nil
	}
	p, err := s.cfg.ProjectPaused()
	switch {
	case err != nil:
		return &api.Denial{Code: api.CodeControl, Operation: bounded(op), Subject: s.cfg.Project, Rule: "project paused",
			Source: "built in", Message: bounded(op) + " is refused: " + err.Error(), Hint: "looking, and `carrel stop`, work meanwhile"}
	case p == nil:
		return nil
	}
	if !j.paused.Load() {
		go func() { _ = j.follow(context.Background()) }()
	}
	return RefusePaused(op, p)
}

// RefusePaused is what an operation in a paused project is answered.
func RefusePaused(op string, p *api.ProjectPause) *api.Denial {
	message := fmt.Sprintf("the project is paused since %s: %s is refused", p.Since.Format("2006-01-02 15:04:05"), bounded(op))
	if p.Reason != "" {
		message += " (" + bounded(p.Reason) + ")"
	}
	return &api.Denial{Code: api.CodeControl, Operation: bounded(op), Subject: p.Project,
		Rule: "project paused", Source: "set by " + p.By, Message: message,
		Hint: "the person it works for types `carrel resume --project` there; looking, and `carrel stop`, work meanwhile"}
}

// changed follows the project, and says what became of it.
func (j *project) changed(ctx context.Context, req api.Request) api.Reply {
	if err := j.follow(ctx); err != nil {
		return refusal(api.CodeNotPaused, req.Op, j.of.cfg.ID, err.Error(), "`carrel stop "+j.of.cfg.ID+"` works in any case")
	}
	return api.Reply{OK: true, Status: j.of.status()}
}

// follow stands still where the project is paused, and goes on where it is not any
// more.
func (j *project) follow(ctx context.Context) error {
	s := j.of
	if s == nil || s.cfg.ProjectPaused == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, workDeadline)
	defer cancel()
	j.turn.Lock()
	defer j.turn.Unlock()
	p, err := s.cfg.ProjectPaused()
	if err != nil {
		return err
	}
	if changed := j.paused.Swap(p != nil) != (p != nil); changed {
		j.tell(p)
	}
	switch {
	case p != nil && !j.frozen:
		err := s.Pause(ctx)
		if j.frozen = err == nil; err != nil && !errors.Is(err, errEnding) {
			return fmt.Errorf("the project is paused and requests are refused, but not every process could be frozen: %w", err)
		}
	case p == nil && j.frozen:
		j.frozen = false
		if err := s.Resume(ctx); err != nil {
			return fmt.Errorf("the project is not paused any more, but this workspace still is: %w", err)
		}
	}
	return nil
}

// tell tells of a change, and has no one act on the display meanwhile.
func (j *project) tell(p *api.ProjectPause) {
	s := j.of
	subject, detail := "project resumed", ""
	if p != nil {
		subject, detail = "project paused", p.Reason
	}
	s.hub.emit(api.Event{Kind: api.EventNote, Text: subject})
	s.cfg.audit(api.AuditRecord{Kind: api.AuditControl, Who: api.AuditWho{Kind: api.WhoSupervisor}, Operation: api.OpProject,
		Subject: subject, Decision: api.DecisionAllowed, Detail: bounded(detail)})
	s.control.turn.Lock()
	defer s.control.turn.Unlock()
	if s.cfg.Controlled == nil {
		return
	}
	if p != nil {
		s.cfg.Controlled(api.ControlPaused)
		return
	}
	s.setMode(s.control.get())
}
